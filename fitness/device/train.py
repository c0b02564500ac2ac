"""Many calls at once by this process's own clock, so that the events of a worker need not be believed."""

from __future__ import annotations

import math
import secrets
import time

from ..evaluation import Status
from ..session import Failed
from .exam import Exam, Variant
from .session import DeviceSession, Train

_TRAIN_S = 2e-3
_MOST_CALLS = 200
_REPLAYS = 3
_DOUBT_S = 0.5  # of further replays before claim and clock are said to disagree
_SLACK_S = 3e-6
_CLAIM = 0.6  # caches are flushed for the events and not for the graph, so a true claim is rarely below 1


def prepare_train(session: DeviceSession, exam: Exam, call_s: float) -> Train:
    """Has a train of calls captured, if it can be, before anybody waits for the device: that takes memory and time.

    Args:
        session: The kernel's; it has the exam's pool, and room for it.
        exam: What the calls compute.
        call_s: What one takes, roughly.

    Raises:
        Failed: The process is gone.
    """
    calls = min(session.room[exam.name], _MOST_CALLS, max(4, math.ceil(_TRAIN_S / call_s)))
    axes, variants = dict(exam.pool.workload.axes), _unseen(exam, calls)
    request = {"command": "train", "name": exam.name, "axes": axes, "variants": variants}
    return Train(calls, bool(session.process.request(request)[0].get("captured")))


def seconds_of_train(session: DeviceSession, exam: Exam, claimed_s: float) -> float | None:
    """Takes the time of many calls at once, and compares it with what events claim that one takes.

    A busy machine makes a replay of the calls late now and then; what is claimed too low is so in every one. What is to
    be judged is kept for `DeviceSession.judge_kept`.

    Returns:
        Seconds a call, of calls that no graph holds; None where one holds them and the clock agrees.

    Raises:
        Failed: The clock does not agree, or a call computes something of another form.
    """
    train = session.trains[exam.name]
    seen_s, replays, is_last, doubtful_until = math.inf, 0, False, time.monotonic() + _DOUBT_S
    while not is_last:
        index, replays, variants = secrets.randbelow(train.calls), replays + 1, _unseen(exam, train.calls)
        if not train.captured or replays >= _REPLAYS:  # a graph repeats what it holds; others may leave out any of it
            question, instance = exam.train_question(replays, _REPLAYS)
            variants[index] = question.message(exam.name, False)
        session.process.request({"command": "replay", "name": exam.name, "variants": variants})
        took_s, _ = session.process.round_trip({"command": "go", "name": exam.name})
        replay_s = (took_s - session.round_trip_s) / train.calls  # it may be short: each call has inputs of its own
        seen_s, agrees = min(seen_s, replay_s), claimed_s >= _CLAIM * replay_s - _SLACK_S
        is_last = replays >= _REPLAYS and (agrees or not train.captured or time.monotonic() >= doubtful_until)
        if is_last or not train.captured:
            label = f"{exam.pool.workload.name}, a call of a train"
            session.keep_outputs(dict(exam.pool.workload.axes), index, instance, label, train=exam.name)
    if not train.captured:
        session.flags.add("not_capturable")
        return seen_s
    if not agrees:
        text = f"events claim {claimed_s * 1e6:.1f} µs a call, the parent's clock says {seen_s * 1e6:.1f} µs"
        raise Failed(Status.SUSPECT, text, session.max_rel_error)
    return None


def _unseen(exam: Exam, calls: int) -> list[dict[str, object]]:
    """Returns inputs for as many calls, which no call has seen."""
    return [Variant.draw(exam.pool).message(exam.name, False) for _ in range(calls)]
