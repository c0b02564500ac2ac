"""Checking and timing on a GPU: the worker runs, this process judges."""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .ahead import python_reads
from .check import Case, Findings, Instance, expect
from .compare import judge, same_bits
from .device_process import Arrays, DeviceProcess
from .errors import TargetUnavailable
from .evaluation import JSON, Status
from .pool import Pool
from .sandbox import Cell, Limits, Sandbox
from .series import Precision, Series
from .session import Artifact, Failed
from .statistics import FloatArray
from .task import Task

_WORKER = Path(__file__).resolve().parent / "workers" / "device.py"
_BLOCK_S = 2e-3
_TRAIN_BYTES = 1 << 29
_TRAIN_S = 2e-3
_REPLAYS = 3


@dataclass
class DeviceSession:
    """One candidate in its worker.

    Attributes:
        folder: Its scratch folder: compile caches, nothing of the project.
    """

    process: DeviceProcess
    task: Task
    folder: tempfile.TemporaryDirectory[str]
    max_rel_error: float = 0.0
    flags: set[str] = field(default_factory=set)

    def load(self, artifact: Artifact, kind: str) -> None:
        """Loads the artifact.

        Raises:
            Failed: It cannot be loaded.
        """
        path = Path(self.folder.name) / artifact.path.name
        path.write_bytes(artifact.path.read_bytes())
        outputs = [{"name": n, "dtype": s.dtype, "shape": list(s.shape)} for n, s in self.task.outputs.items()]
        message = {"command": "load", "path": str(_inside(self.process, path)), "entry_point": artifact.entry_point}
        self.process.request({**message, "kind": kind, "outputs": outputs, "axes": list(self.task.axes)})

    def call(self, axes: Mapping[str, int], inputs: Arrays, repeats: int = 1) -> list[Arrays]:
        """Runs the kernel on equal inputs; returns the outputs of every turn.

        Raises:
            Failed: An output is not of the declared form, or something was overwritten.
        """
        facts, arrays = self.process.request({"command": "call", "axes": dict(axes), "repeats": repeats}, inputs)
        self._check_forms(facts, axes, repeats)
        if facts.get("tampered") or facts.get("aliased"):
            raise Failed(Status.TAMPERED, "; ".join(facts.get("tampered") or ["an output is an input"]))
        return [self.outputs_of(arrays, turn, axes) for turn in range(repeats)]

    def outputs_of(self, arrays: Arrays, turn: int, axes: Mapping[str, int]) -> Arrays:
        """Returns the outputs of one call, by name.

        Raises:
            Failed: One is missing or of another form.
        """
        found = {}
        for name, spec in self.task.outputs.items():
            array = arrays.get(f"{name}@{turn}")
            if array is None:
                raise Failed(Status.WRONG_SHAPE, f"there is no output {name}")
            if array.dtype != np.dtype(spec.dtype) or array.shape != spec.extent(axes):
                text = f"output {name} is {array.dtype} {array.shape}, not {spec.dtype} {spec.extent(axes)}"
                raise Failed(Status.WRONG_SHAPE, text)
            found[name] = array
        return found

    def _check_forms(self, facts: JSON, axes: Mapping[str, int], repeats: int) -> None:
        forms = facts.get("forms", [])
        if len(forms) != repeats * len(self.task.outputs):
            raise Failed(Status.WRONG_SHAPE, f"{len(forms) // repeats} outputs instead of {len(self.task.outputs)}")
        for form, (name, spec) in zip(forms, list(self.task.outputs.items()) * repeats, strict=True):
            if not form.get("plain"):
                raise Failed(Status.TAMPERED, f"output {name} is no plain tensor but {form.get('type')}")
            if form.get("dtype") != spec.dtype or tuple(form.get("shape", ())) != spec.extent(axes):
                text = f"output {name} is {form.get('dtype')} {tuple(form.get('shape', ()))}"
                raise Failed(Status.WRONG_SHAPE, f"{text}, not {spec.dtype} {spec.extent(axes)}")

    def judged(self, outputs: Arrays, instance: Instance, label: str) -> None:
        """Judges one call's outputs.

        Raises:
            Failed: An element is outside its tolerance.
        """
        verdict = judge(outputs, instance.expected, instance.tolerance)
        if not verdict.is_right:
            raise Failed(Status.WRONG_VALUE, f"{label}: {verdict.reason}", verdict.max_rel_error)
        self.max_rel_error = max(self.max_rel_error, verdict.max_rel_error)

    def close(self) -> None:
        """Ends the worker and removes its folder."""
        self.process.close()
        self.folder.cleanup()

    def __enter__(self) -> DeviceSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _inside(process: DeviceProcess, path: Path) -> Path:
    """Returns how the worker sees a file of its scratch folder."""
    return Path(".") / path.name


def start_device(
    sandbox: Sandbox, task: Task, environment: Mapping[str, str], devices: Sequence[Path], timeout_s: float
) -> DeviceSession:
    """Starts a worker: torch is imported and the device awake, and no candidate is loaded.

    Args:
        sandbox: Confines it.
        task: What its candidate will compute.
        environment: Variables of the target.
        devices: Device files and folders of the driver that it must reach.
        timeout_s: Wall clock of everything that the worker will do.

    Raises:
        TargetUnavailable: It does not come up.
    """
    folder = tempfile.TemporaryDirectory(prefix="kernelwright-", ignore_cleanup_errors=True)
    Path(folder.name).chmod(0o777)
    home = "/scratch" if sandbox.mechanism == "bubblewrap" else folder.name
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "TRITON_CACHE_DIR": f"{home}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{home}/inductor",
        "TRITON_DEFAULT_FP_FUSION": "1",
        **environment,
    }
    ours, theirs = os.pipe(), os.pipe()  # commands to the worker, answers from it
    cell = Cell((*python_reads(), *devices), Path(folder.name), variables)
    limits = Limits(timeout_s, int(16 * timeout_s), 0, file_bytes=1 << 30, processes=4096, descriptors=4096)
    command = (sys.executable, "-I", "-B", str(_WORKER))
    try:
        confined = sandbox.start(cell, limits, {}, command, channel=(ours[0], theirs[1]))
    finally:
        os.close(ours[0])
        os.close(theirs[1])
    process = DeviceProcess(confined, theirs[0], ours[1])
    try:
        process.receive()
    except Failed as failure:
        process.close()
        folder.cleanup()
        raise TargetUnavailable(f"the device worker does not come up: {failure.log.splitlines()[-1:]}") from failure
    process.deadline = time.monotonic() + timeout_s
    return DeviceSession(process, task, folder)


def check_on_device(session: DeviceSession, task: Task, cases: Sequence[Case]) -> Findings:
    """Judges a loaded kernel on all cases: equal inputs twice, then other data of the same sizes.

    Raises:
        Failed: The kernel is not right.
    """
    for index in np.random.default_rng(secrets.randbits(64)).permutation(len(cases)):
        case = cases[index]
        label, axes, (first, second) = case.workload.name, case.workload.axes, case.instances[:2]
        before, after = session.call(axes, dict(first.inputs), repeats=2)
        session.judged(before, first, label)
        if not same_bits(before, after):
            if task.repeatable or not judge(after, first.expected, first.tolerance).is_right:
                raise Failed(Status.UNREPEATABLE, f"{label}: two calls on equal inputs give different results")
        session.judged(session.call(axes, dict(second.inputs))[0], second, label)
    return Findings(session.max_rel_error, session.flags)


class DeviceStopwatch:
    """Measures pairs of two loaded workers on one device, block by block in alternating order."""

    def __init__(self, task: Task, sides: tuple[DeviceSession, DeviceSession], precision: Precision, flush: bool) -> None:
        """Takes two loaded sessions; the first is the candidate."""
        self._task, self._sides, self._precision, self._flush = task, sides, precision, flush
        self.failed_side = 0

    def measure(self, pool: Pool, deadline: float, rng: np.random.Generator) -> Series:
        """Warms up, then takes blocks until the interval is narrow enough or a cap is reached.

        Raises:
            Failed: One of the two, `failed_side`, did something that ends it.
        """
        calls = [3, 3]
        for side in (0, 1):
            self._block(side, pool, 3)
            alone_s = float(np.median(self._block(side, pool, 3)))
            calls[side] = int(np.clip(math.ceil(_BLOCK_S / max(alone_s, 1e-6)), 3, 20))
        taken: list[tuple[float, float]] = []
        while True:
            order = (0, 1) if len(taken) % 2 == 0 else (1, 0)
            medians = {side: float(np.median(self._block(side, pool, calls[side]))) for side in order}
            taken.append((medians[0], medians[1]))
            if len(taken) < self._precision.min_pairs:
                continue
            series = self._series(pool, taken, calls[0])
            late = time.monotonic() >= deadline or len(taken) >= self._precision.max_pairs
            if late or self._precise(series, rng):
                self._bound(pool, float(np.median(series.wall_s[0])))
                return series

    def _series(self, pool: Pool, taken: Sequence[tuple[float, float]], calls: int) -> Series:
        wall: FloatArray = np.array(taken, dtype=np.float64).T
        return Series(pool.workload.name, wall, wall, calls, 0)

    def _precise(self, series: Series, rng: np.random.Generator) -> bool:
        from .statistics import ratio_interval

        middle, (low, high) = ratio_interval([series.ratios], rng)
        return max(high - middle, middle - low) <= self._precision.target * middle

    def _block(self, side: int, pool: Pool, calls: int) -> FloatArray:
        """Times ``calls`` calls on data that no call has seen; returns seconds, one a call."""
        self.failed_side = side
        session, entry = self._sides[side], pool.entries[secrets.randbelow(len(pool.entries))]
        scales = [float(np.float32(0.5 + 1.5 * secrets.randbits(24) / 2**24)) for _ in range(calls)]
        judged = sorted({secrets.randbelow(calls), secrets.randbelow(calls)})
        message = {"command": "time", "axes": dict(pool.workload.axes), "scales": scales, "judged": judged}
        facts, arrays = session.process.request({**message, "flush": self._flush}, dict(entry.inputs))
        if facts.get("tampered"):
            raise Failed(Status.TAMPERED, "; ".join(map(str, facts["tampered"])))
        for index in judged:
            self._judge(session, pool, entry, scales[index], session.outputs_of(arrays, index, pool.workload.axes))
        times = np.asarray(facts.get("times_us"), dtype=np.float64)
        if times.shape != (calls,) or not np.isfinite(times).all() or (times <= 0).any():
            raise Failed(Status.SUSPECT, "its times are no times")
        seconds: FloatArray = times * 1e-6
        return seconds

    def _judge(self, session: DeviceSession, pool: Pool, entry: Instance, scale: float, outputs: Arrays) -> None:
        inputs = {
            name: array * array.dtype.type(scale) if np.issubdtype(array.dtype, np.floating) else array
            for name, array in entry.inputs.items()
        }
        expected, tolerance = expect(self._task, pool.workload, inputs)
        session.judged(outputs, Instance(inputs, expected, tolerance), f"{pool.workload.name}, a timed call")

    def _bound(self, pool: Pool, claimed_s: float) -> None:
        """Compares what the events claim with this process's own clock around a graph of many calls.

        Raises:
            Failed: The graph takes longer than its calls claim to take, or computes something else.
        """
        self.failed_side = 0
        session, entry = self._sides[0], pool.entries[secrets.randbelow(len(pool.entries))]
        footprint = sum(array.nbytes for array in entry.inputs.values()) + 1
        calls = int(np.clip(math.ceil(_TRAIN_S / claimed_s), 4, max(4, min(200, _TRAIN_BYTES // footprint))))
        message = {"command": "train", "axes": dict(pool.workload.axes), "calls": calls}
        facts, _ = session.process.request(message, dict(entry.inputs))
        if not facts.get("captured"):
            session.flags.add("not_capturable")
            return
        best_s, scale = math.inf, 1.0
        for _ in range(_REPLAYS):
            scale = float(np.float32(0.5 + secrets.randbits(24) / 2**24))
            session.process.request({"command": "replay", "scale": scale})
            start = time.perf_counter()
            session.process.request({"command": "go"})
            best_s = min(best_s, time.perf_counter() - start)
        index = secrets.randbelow(calls)
        _, arrays = session.process.request({"command": "outputs", "index": index})
        factor = scale * (1.0 + index / 1024)
        self._judge(session, pool, entry, factor, session.outputs_of(arrays, 0, pool.workload.axes))
        if claimed_s < 0.6 * best_s / calls - 3e-6:
            text = f"events claim {claimed_s * 1e6:.1f} us a call, the parent's clock says {best_s / calls * 1e6:.1f} us"
            raise Failed(Status.SUSPECT, text, session.max_rel_error)


def peaks_of(session: DeviceSession) -> tuple[float, float]:
    """Returns measured peak bandwidth (bytes/s) and arithmetic (flops/s, of the fastest precision)."""
    answer, _ = session.process.request({"command": "peaks"})
    peaks: dict[str, Any] = answer["peaks"]
    return float(peaks["bytes_per_s"]), max(float(v) for k, v in peaks.items() if k.startswith("flops_per_s"))
