"""The time stage on a GPU: the worker runs, this process judges."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..check import Instance
from ..errors import MachineError
from ..evaluation import Status
from ..series import Precision, Series
from ..session import Failed
from ..statistics import FloatArray
from .conditions import Conditions
from .exam import Exam, Question, Variant
from .profiler import launches
from .sample import Sample
from .session import WHOLE, DeviceSession, told_tampering
from .train import prepare_train, seconds_of_train

_BLOCK_S = 2e-3
_FEWEST_CALLS, _MOST_CALLS = 3, 40  # of a block
_WARM_UP_S = 0.03
_JUDGED_BLOCKS = 2
_LEAST_S = 1e-9  # of a call
_PLACES = 8  # for inputs of timed calls, and one more for outputs: else one place would be in all of a process's times
_LEAD, _MOST_LEAD = 16, 64  # of launching before the device, in holds of the worker: 1.2 and 4.9 ms on an H200


def rehearse(session: DeviceSession, exams: Sequence[Exam], flush: bool) -> None:
    """Shows a loaded kernel the timed sizes before it is timed: uploads data, lets it compile and tune, takes memory.

    Args:
        session: The kernel's.
        exams: The timed sizes.
        flush: Whether caches are flushed before each call.

    Raises:
        Failed: The kernel is not right.
    """
    if session.trains.keys() == {exam.name for exam in exams}:
        session.drop_kept()  # of a contest that the other side ended
        return  # it has seen these, and no others since
    if session.trains:
        session.process.request({"command": "forget"})
        session.trains.clear()
    session.make_room(exams)
    for exam in exams:
        for index, entry in enumerate(exam.pool.entries):
            kept = {"name": f"{exam.name}/{index}", "steady": sorted(exam.steady), "twice_bytes": session.twice_bytes}
            session.process.request({"command": "pool", **kept}, {**entry.inputs, "factors@": exam.factors})
        start = time.monotonic()
        timed_block(session, exam, 2, flush)
        middle = time.monotonic()
        block = timed_block(session, exam, 2, flush, question=session.next_question(exam))
        session.compile_s += max(0.0, 2 * middle - start - time.monotonic())
        block.keep(session, exam, WHOLE)
        session.trains[exam.name] = prepare_train(session, exam, block.call_s)
    session.judge_kept()


def profiled(session: DeviceSession, exam: Exam) -> tuple[str, ...]:
    """Returns a sentence on one call at a timed size, as torch's profiler saw it.

    Raises:
        Failed: The process is gone.
    """
    variant = Variant.draw(exam.pool).message(exam.name, False)
    request = {"command": "profile", "axes": dict(exam.pool.workload.axes), "variant": variant}
    return launches(session.process.request(request)[0].get("rows"))


@dataclass(frozen=True)
class Block:
    """Timed calls, one after another.

    Attributes:
        seconds: ``(calls,)`` of each call.
        judged: Index of a call to what returns what must come out: its outputs are still on the device.
        late: How many had ended before the next was launched.
    """

    seconds: FloatArray
    judged: Mapping[int, Callable[[], Instance]]
    late: int = 0

    @property
    def call_s(self) -> float:
        """What a call takes: the mean of the middle half, as calls have several modes, of which a median takes one."""
        cut = len(self.seconds) // 4
        return float(np.sort(self.seconds)[cut : len(self.seconds) - cut].mean())

    def keep(self, session: DeviceSession, exam: Exam, sample: Sample | None = None) -> None:
        """Brings outputs, to be judged once there is time; a sample that is drawn now, if none is given.

        Raises:
            Failed: They do not come.
        """
        workload = exam.pool.workload
        for index, instance in self.judged.items():
            session.keep_outputs(dict(workload.axes), index, instance, f"{workload.name}, a timed call", sample)


def timed_block(
    session: DeviceSession,
    exam: Exam,
    calls: int,
    flush: bool,
    *,
    lead: int = _LEAD,
    question: Question | None = None,
) -> Block:
    """Times ``calls`` calls on data that no call has seen; one of them, nobody knows which, may be a question.

    The device starts on them when launching them has got ahead by ``lead`` holds (`HOLD_CYCLES` of the worker).

    Raises:
        Failed: The worker says something impossible, or was tampered with.
    """
    judged: dict[int, Callable[[], Instance]] = {}
    variants = [Variant.draw(exam.pool) for _ in range(calls)]
    if question is not None:
        index = secrets.randbelow(calls)
        variants[index], judged[index] = question
    messages = [variant.message(exam.name, index in judged) for index, variant in enumerate(variants)]
    axes = dict(exam.pool.workload.axes)
    start = time.monotonic()
    places = min(_PLACES, session.room[exam.name])
    request = {"command": "time", "axes": axes, "variants": messages, "places": places, "lead": lead, "flush": flush}
    facts, _ = session.process.request(request)
    limit_s = 2 * (time.monotonic() - start)  # no call takes longer than all, up to the pace of two clocks
    if tampered := told_tampering(facts):
        raise Failed(Status.TAMPERED, tampered)
    session.check_forms(facts, [axes] * len(judged))
    told = facts.get("times_us")
    times_s = 1e-6 * np.array([each for each in told if isinstance(each, float)] if isinstance(told, list) else [])
    if times_s.shape != (calls,) or not ((times_s >= _LEAST_S) & (times_s <= limit_s)).all():
        raise Failed(Status.SUSPECT, "its times are no times", session.max_rel_error)
    late = facts.get("late")
    return Block(times_s, judged, late if isinstance(late, int) else 0)


def judged_pairs(surely: int) -> Iterator[int]:
    """Yields the numbers of pairs that are judged: of those that are ``surely`` taken, and one each time they double.

    Who is noisy, so that more of them are taken, must not know that nobody looks any more.
    """
    surely = max(1, surely)
    yield from sorted({secrets.randbelow(surely) for _ in range(_JUDGED_BLOCKS)})
    while True:
        yield surely + secrets.randbelow(surely)
        surely *= 2


class DeviceStopwatch:
    """Measures pairs of two loaded workers on one device, block by block in alternating order.

    Attributes:
        failed_side: Which of the two was at work last.
        seen: What the device was like beside each pair.
        repeated: Pairs that were taken again: because of that, or of launches that were late.
    """

    def __init__(
        self,
        sides: tuple[DeviceSession, DeviceSession],
        precision: Precision,
        flush: bool,
        look: Callable[[], Conditions | None] = lambda: None,
    ) -> None:
        """Takes two loaded sessions, the candidate first; ``look`` tells what the device is like."""
        self._sides, self._precision, self._flush, self._look = sides, precision, flush, look
        self.failed_side, self.repeated = 0, 0
        self._lead, self._most_calls = _LEAD, _MOST_CALLS
        self.seen: list[Conditions] = []

    def measure(self, exam: Exam, limit_s: float, rng: np.random.Generator) -> Series:
        """Warms up, then takes blocks until the interval is narrow enough or a cap is reached.

        Both have rehearsed the exam. What is to be judged is kept for `DeviceSession.judge_kept`.

        Raises:
            Failed: One of the two, `failed_side`, did something that ends it.
            MachineError: The device is disturbed all the time.
        """
        calls = self._warm_up(exam)
        deadline = time.monotonic() + limit_s
        upcoming = judged_pairs(self._precision.min_pairs)
        judged = next(upcoming)
        taken: list[tuple[float, float]] = []
        with ThreadPoolExecutor(1) as eyes:  # the driver takes longer to answer, when others use it, than a block
            while True:
                looking, pair = eyes.submit(self._look), len(taken)
                questions: list[Question | None] = [None, None]
                if pair == judged:
                    judged = next(upcoming)  # not this one, if it is taken again: few questions are prepared
                    drawn = exam.drawn_question() if pair >= self._precision.min_pairs else None
                    questions = [drawn or session.next_question(exam) for session in self._sides]
                order = (0, 1) if pair % 2 == 0 else (1, 0)
                blocks = {side: self._block(side, exam, calls[side], questions[side]) for side in order}
                if self._is_disturbed(looking.result()) or self._waited_for_launching(*blocks.values()):
                    self.repeated += 1
                    continue
                taken.append((blocks[0].call_s, blocks[1].call_s))
                if len(taken) < self._precision.min_pairs:
                    continue
                wall: FloatArray = np.array(taken, dtype=np.float64).T
                series = Series(exam.pool.workload.name, wall, None, len(blocks[0].seconds), self.repeated)
                late = time.monotonic() >= deadline or len(taken) >= self._precision.max_pairs
                if late or series.is_precise(self._precision.target, rng):
                    wall = wall * self._charges(exam, wall)
                    return replace(series, wall_s=wall)

    def _is_disturbed(self, now: Conditions | None) -> bool:
        """Whether a pair is worth nothing during which the device was like this."""
        if now is None:
            return False
        self.seen.append(now)
        if now.disturbance and sum(bool(each.disturbance) for each in self.seen) > self._precision.max_pairs:
            raise MachineError(f"nothing can be timed on the GPU: {now.disturbance}")
        return bool(now.disturbance)

    def _waited_for_launching(self, *blocks: Block) -> bool:
        """Whether a device waited for the launching of many calls; then the next blocks of both sides prevent it.

        They get more of a lead, and when that is long, fewer calls. There is an end to both, or who waits for the
        device itself, or whose worker lies, would have everybody wait.
        """
        if all(4 * block.late <= len(block.seconds) for block in blocks):
            return False
        fewer = max(len(block.seconds) for block in blocks) // 2
        if self._lead < _MOST_LEAD:
            self._lead *= 2
        elif fewer >= _FEWEST_CALLS:
            self._most_calls = fewer
        else:
            return False
        return True

    def _warm_up(self, exam: Exam) -> list[int]:
        """Calls both until clocks have settled; returns the calls of a block of each."""
        calls, turn, until = [2, 2], 0, time.monotonic() + _WARM_UP_S
        while True:
            for side in (0, 1):
                question = self._sides[side].next_question(exam) if turn == 0 else None
                block = self._block(side, exam, calls[side], question)
                if turn > 1:  # who has slept launches late, and so does who makes as many calls for the first time
                    self._waited_for_launching(block)
                wanted = math.ceil(_BLOCK_S / block.seconds.min())  # by the shortest: what was launched late is longer
                calls[side] = min(max(wanted, _FEWEST_CALLS), _MOST_CALLS)
            turn += 1
            if time.monotonic() >= until:
                return calls

    def _block(self, side: int, exam: Exam, calls: int, question: Question | None) -> Block:
        self.failed_side = side
        calls = min(calls, self._most_calls)
        block = timed_block(self._sides[side], exam, calls, self._flush, lead=self._lead, question=question)
        block.keep(self._sides[side], exam)
        return block

    def _charges(self, exam: Exam, wall: FloatArray) -> FloatArray:
        """Returns the factors by which the events of both sides claim too little; 1 where they are believed.

        Calls that a graph holds cost the host nothing: their events must agree with this process's clock. Calls of a
        candidate that no graph holds are timed by that clock, with what they cost the host, so that refusing to be
        captured gains nothing; then the other side's are, too, if no graph holds them either.

        Returns:
            ``(2, 1)`` factors, the candidate's first.

        Raises:
            Failed: One of the two takes longer than its calls claim to take, or computes something else.
        """
        factors, claimed_s = [1.0, 1.0], np.median(wall, axis=1)
        for side in (0, 1):
            self.failed_side = side
            seen_s = seconds_of_train(self._sides[side], exam, float(claimed_s[side]))
            if seen_s is None:
                break
            factors[side] = max(1.0, seen_s / float(claimed_s[side]))
        return np.array(factors)[:, None]
