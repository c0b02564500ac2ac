"""The time stage: two kernels, each in a process of its own, measured in pairs by a clock that neither can reach."""

from __future__ import annotations

import ctypes
import math
import os
import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arena import copy_outputs, place, plan_of, sources_of, table_bytes
from .check import expect
from .compare import judge, same_bits
from .evaluation import Status
from .native import FINE, NOT_PINNED, Draw, Judged, Plan, Sample, Timing, driver
from .plausibility import check_idleness
from .pool import Pool
from .processor import last_level_cache_bytes
from .sandbox import Sandbox
from .series import Series
from .session import Failed, Session
from .settings import Settings
from .statistics import FloatArray
from .task import Task, Workload

_TRIP_S = 200e-6
_USUAL_OVERHEAD_NS = 10_000.0
_USUAL_IDLE_NS = 4_000.0
_SETS_BYTES = 1 << 24
_MOST_SETS = 512


def arena_bytes(task: Task, workloads: Sequence[Workload]) -> int:
    """Returns the memory that timing any of ``workloads`` needs, on each side."""
    largest = 0
    for workload in workloads:
        plan = plan_of(task, workload)
        plan.sets = _most_sets(plan)
        largest = max(largest, place([plan], table_bytes(task, _MOST_SETS))[1])
    return largest


class Stopwatch:
    """Measures pairs of two loaded sessions.

    Attributes:
        failed_side: Whose turn it was when something failed: 0 or 1.
    """

    def __init__(
        self, sandbox: Sandbox, task: Task, sides: tuple[Session, Session], settings: Settings, threads: int
    ) -> None:
        self._driver = driver(sandbox.compiler)
        self._task, self._sides, self._threads = task, sides, threads
        self._precision = settings.precision
        processors = sorted(os.sched_getaffinity(0))
        self._processors = (ctypes.c_int32 * len(processors))(*processors)
        self._pinned = secrets.choice(processors) if threads == 1 else NOT_PINNED
        self._flush = np.zeros(2 * last_level_cache_bytes() if settings.cache_regime == "cold" else 0, dtype=np.uint8)
        self._taken: list[tuple[Plan, Pool, Draw, NDArray[np.uint8]]] = []
        self._max_rel_error = 0.0
        self.failed_side = 0

    def load(self) -> None:
        """Loads both artifacts and, for kernels of one thread, puts both processes on the driver's own processor.

        Raises:
            Failed: One of the two, `failed_side`, cannot be loaded.
        """
        for index, session in enumerate(self._sides):
            self.failed_side = index
            session.load()
            if self._pinned != NOT_PINNED:
                self._driver.kw_pin(session.side.process, self._pinned)

    def measure(self, pool: Pool, budget_s: float, rng: np.random.Generator) -> Series:
        """Warms up, then takes pairs until the interval is narrow enough or a cap is reached.

        Args:
            pool: Inputs of the workload.
            budget_s: No new pair after this time; what other processes took of it does not count.
            rng: Decides the resamples of the interval.

        Raises:
            Failed: One of the two, `failed_side`, did something that ends it.
            MachineError: The machine is too busy.
        """
        plan, origin = pool.plan(), table_bytes(self._task, _MOST_SETS)
        place([plan], origin)
        alone_s = [self._warm_up(index, plan, pool) for index in (0, 1)]
        plan.sets = _sets(plan, min(alone_s))
        place([plan], origin)
        trips = [max(1, math.ceil(self._precision.sample_s / (plan.sets * each))) for each in alone_s]
        deadline = time.monotonic() + budget_s
        blocks: list[FloatArray] = []
        repeated, taken, was_suspected = 0, 0, False
        while True:
            wanted = self._precision.min_pairs if not blocks else max(4, self._precision.min_pairs // 2)
            wanted = min(wanted, self._precision.max_pairs - taken)
            block, again, deadline = self._block(plan, pool, trips, wanted, deadline)
            blocks.append(block)
            net, cpu, idle, wall = np.concatenate(blocks, axis=2)
            repeated, taken = repeated + again, net.shape[1]
            try:
                check_idleness(idle[0], wall[0], trips[0])
            except Failed:  # a machine can interrupt a few samples in a row; who works ahead does so again
                if was_suspected:
                    raise
                was_suspected, repeated, taken, blocks = True, repeated + taken, 0, []
                deadline = time.monotonic() + budget_s
                continue
            calls = plan.sets * np.array([[trips[0]], [trips[1]]])
            series = Series(pool.workload.name, net / calls, cpu / calls, trips[0] * plan.sets, repeated)
            if (
                taken >= self._precision.max_pairs
                or time.monotonic() >= deadline
                or series.is_precise(self._precision.target, rng)
            ):
                return series

    def _warm_up(self, index: int, plan: Plan, pool: Pool) -> float:
        """Two judged calls on the same data; returns the time of the second in s."""
        self.failed_side = index
        session, entry = self._sides[index], pool.entries[0]
        side, sources = ctypes.byref(session.side), sources_of(self._task, [entry.inputs])
        outputs = []
        for _ in range(2):
            draw = Draw(key=secrets.randbits(64))
            self._driver.kw_fill(side, ctypes.byref(plan), 0, sources, draw)
            self._driver.kw_call(side, ctypes.byref(plan), 0, 0)
            sample = session.call(1)
            outputs.append(copy_outputs(self._task, pool.workload, plan, session.arena))
            outcome = self._driver.kw_inspect(side, ctypes.byref(plan), 0, sources, draw)
            if outcome != FINE:
                raise session.failure(outcome)
        self._judge(pool, outputs[0], entry.expected, entry.tolerance, index)
        if not same_bits(*outputs):
            right = judge(outputs[1], entry.expected, entry.tolerance)
            if self._task.repeatable or not right.is_right:
                text = f"{pool.workload.name}: two calls on equal inputs give different results"
                raise Failed(Status.UNREPEATABLE, text, right.max_rel_error)
        return max(self._net_ns(sample) - _USUAL_OVERHEAD_NS, 500.0) * 1e-9

    def _net_ns(self, sample: Sample) -> float:
        """Time of a sample without what others took: the wait for a processor is known to the nanosecond.

        Never less than the CPU time of all threads of the kernel, so that one cannot work while another waits.
        """
        net_ns = sample.wall_ns - sample.delay_ns if self._threads == 1 else sample.wall_ns
        return float(max(net_ns, sample.cpu_ns if self._threads == 1 else 0))

    def _judge(self, pool: Pool, outputs: Any, expected: Any, tolerance: Any, index: int) -> None:
        verdict = judge(outputs, expected, tolerance)
        if not verdict.is_right:
            text = f"{pool.workload.name}, a timed call: {verdict.reason}"
            raise Failed(Status.WRONG_VALUE, text, verdict.max_rel_error)
        if index == 0:
            self._max_rel_error = max(self._max_rel_error, verdict.max_rel_error)

    def _block(
        self, plan: Plan, pool: Pool, trips: list[int], pairs: int, deadline: float
    ) -> tuple[FloatArray, int, float]:
        """Takes pairs; returns their `_seconds`, how many trips were taken again, and the new deadline."""
        samples = [(Sample * pairs)(), (Sample * pairs)()]
        output_bytes = sum(each.bytes for each in plan.buffer[: plan.buffers] if each.is_output)
        judged, copies = self._choose(plan, trips[0], pairs, output_bytes)
        timing = Timing(
            plan=ctypes.pointer(plan),
            sources=ctypes.cast(pool.sources, ctypes.POINTER(ctypes.c_void_p)),
            entries=len(pool.entries),
            pairs=pairs,
            trips=(ctypes.c_uint32 * 2)(*trips),
            seed=secrets.randbits(64),
            deadline_ns=int(deadline * 1e9),
            disagreement=0.03 if self._threads == 1 else 0.0,
            judged=judged,
            judged_count=len(judged),
            pinned=self._pinned,
            processors=self._processors,
            processor_count=len(self._processors),
        )
        timing.samples[0], timing.samples[1] = samples
        if self._flush.size:
            timing.flush, timing.flush_bytes = self._flush.ctypes.data, self._flush.size
        first, second = (ctypes.byref(session.side) for session in self._sides)
        outcome = self._driver.kw_pairs(ctypes.byref(timing), first, second)
        self.failed_side, self._pinned = timing.failed_side, timing.pinned
        if outcome != FINE:
            raise self._sides[timing.failed_side].failure(outcome)
        self.failed_side = 0
        self._taken += [(plan, pool, slot.draw, copy) for slot, copy in zip(judged, copies, strict=True) if slot.taken]
        return self._seconds(timing, samples, trips), timing.repeated, timing.deadline_ns * 1e-9

    def _seconds(self, timing: Timing, samples: list[Any], trips: list[int]) -> FloatArray:
        """Returns ``(4, 2, pairs)``: what samples took net, their CPU time, that of idling before, their wall time."""
        taken = [side[: timing.pairs] for side in samples]
        per_sample = np.array([[trips[0]], [trips[1]]])
        net, cpu, idle, wall = np.array(
            [[[self._net_ns(s), s.cpu_ns, s.idle_ns, s.wall_ns] for s in side] for side in taken], dtype=np.float64
        ).transpose(2, 0, 1)
        # What a round trip costs is measured on both sides; a kernel that drags it out gains nothing by it.
        net = net - min(timing.overhead_ns) * per_sample
        if self._threads == 1:  # all on one processor: more CPU time than net time belongs to the round trips
            net = net + _work_ahead_ns(idle, per_sample)
            cpu = np.minimum(cpu, net)
        return 1e-9 * np.array([np.maximum(net, 1.0), cpu, idle, wall])

    def _choose(self, plan: Plan, trips: int, pairs: int, output_bytes: int) -> tuple[Any, list[NDArray[np.uint8]]]:
        """Picks the calls that are judged: the last, and some that nobody can foresee."""
        chosen = {(pairs - 1, trips - 1, plan.sets - 1)}
        while len(chosen) < min(max(2, self._precision.judged_calls), pairs * trips * plan.sets):
            chosen.add((secrets.randbelow(pairs), secrets.randbelow(trips), secrets.randbelow(plan.sets)))
        judged = (Judged * len(chosen))()
        copies = [np.empty(max(1, output_bytes), dtype=np.uint8) for _ in chosen]
        for slot, (pair, trip, index), copy in zip(judged, sorted(chosen), copies, strict=True):
            slot.pair, slot.trip, slot.set, slot.outputs = pair, trip, index, copy.ctypes.data
        return judged, copies

    def judge(self) -> float:
        """Judges the copies that were taken of timed calls; returns the largest error.

        Nothing runs while it does, so that it need not be alone.

        Raises:
            Failed: One is wrong.
        """
        for plan, pool, draw, copy in self._taken:
            inputs = pool.inputs(self._driver, plan, draw)
            expected, tolerance = expect(self._task, pool.workload, inputs)
            outputs, at = {}, 0
            for name, spec in self._task.outputs.items():
                shape = spec.extent(pool.workload.axes)
                size = int(np.prod(shape, dtype=np.int64)) * np.dtype(spec.dtype).itemsize
                outputs[name] = copy[at : at + size].view(spec.dtype).reshape(shape)
                at += size
            self._judge(pool, outputs, expected, tolerance, 0)
        self._taken.clear()
        return self._max_rel_error


def _work_ahead_ns(idle_ns: FloatArray, trips: NDArray[np.int64]) -> FloatArray:
    """What each side computed between its calls beyond what one of the two usually needs to fall asleep.

    A little of it is no reason to refuse a kernel; but it is a part of its work.

    Args:
        idle_ns: ``(2, pairs)`` of each sample.
        trips: ``(2, 1)`` of a sample.

    Returns:
        ``(2, pairs)`` ns.
    """
    per_trip = idle_ns / trips
    extra = per_trip - np.median(per_trip, axis=1).min()
    return np.where(extra > _USUAL_IDLE_NS, extra * trips, 0.0)


def _most_sets(plan: Plan) -> int:
    return max(1, min(_MOST_SETS, _SETS_BYTES // int(plan.stride[0] + plan.stride[1])))


def _sets(plan: Plan, call_s: float) -> int:
    return max(1, min(_most_sets(plan), math.ceil(_TRIP_S / call_s)))
