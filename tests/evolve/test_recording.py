from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evolve import Journal, JournalMiss, JournalUnwritable, RecordedClient, RecordedEvaluations
from fitness import MachineError
from llm import Message, Request, ScriptedClient
from toy_search import Inline, Pooled, ToyEvaluator, kernel


def request(seed: int) -> Request:
    return Request((Message("user", "write a kernel"),), seed=seed)


def test_a_completion_is_asked_for_once(tmp_path: Path) -> None:
    client = ScriptedClient(["first", "second"])
    with Journal(tmp_path / "journal.jsonl") as journal:
        recorded = RecordedClient(client, journal)
        texts = [recorded.complete(request(seed)).text for seed in (1, 2, 1)]

    assert ["first", "second", "first"] == texts
    assert 2 == len(client.requests)


def test_a_completion_comes_back_without_the_model(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        first = RecordedClient(ScriptedClient(["text"]), journal).complete(request(1))
    with Journal(tmp_path / "journal.jsonl", strict=True) as journal:
        again = RecordedClient(ScriptedClient(["another"]), journal).complete(request(1))

    assert first == again


def test_an_evaluation_is_made_once(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    with Journal(tmp_path / "journal.jsonl") as journal:
        doors = RecordedEvaluations(evaluator, Inline(), journal)
        verdicts = [doors.submit(kernel(bits)).result().latency_us for bits in ("01", "11", "01")]

    assert [2.0, 1.0, 2.0] == verdicts
    assert ["01", "11"] == evaluator.asked


def test_equal_kernels_in_flight_share_one_evaluation(tmp_path: Path) -> None:
    evaluator = ToyEvaluator(jitter_s=0.2)
    with Journal(tmp_path / "journal.jsonl") as journal, Pooled(4) as executor:
        doors = RecordedEvaluations(evaluator, executor, journal)
        futures = [doors.submit(kernel("0110")) for _ in range(5)]
        results = [future.result() for future in futures]

    assert ["0110"] == evaluator.asked
    assert 1 == len({result.latency_us for result in results})


def test_many_threads_may_submit(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    with Journal(tmp_path / "journal.jsonl") as journal, Pooled(4) as executor, ThreadPoolExecutor(8) as threads:
        doors = RecordedEvaluations(evaluator, executor, journal)
        kernels = [kernel(f"{i % 16:04b}") for i in range(200)]
        results = [future.result() for future in threads.map(doors.submit, kernels)]

    assert [each.digest for each in kernels] == [result.kernel for result in results]
    assert 16 == len(evaluator.asked)


def test_calibration_duel_and_verification_are_recorded(tmp_path: Path) -> None:
    for strict in (False, True):
        evaluator = ToyEvaluator()
        with Journal(tmp_path / "journal.jsonl", strict=strict) as journal:
            doors = RecordedEvaluations(evaluator, Inline(), journal)

            assert 0.01 == doors.calibration().noise_floor
            assert doors.duel(kernel("11"), kernel("00")).won
            assert 1.0 == doors.verify(kernel("11")).latency_us
            assert strict == (not evaluator.asked)


def test_a_broken_machine_is_not_recorded(tmp_path: Path) -> None:
    class Broken(ToyEvaluator):
        def evaluate(self, *args: Any, **more: Any) -> Any:
            raise MachineError("the disk is on fire")

    with Journal(tmp_path / "journal.jsonl") as journal:
        future = RecordedEvaluations(Broken(), Inline(), journal).submit(kernel("01"))

        with pytest.raises(MachineError, match="on fire"):
            future.result()
        assert 1.0 == RecordedEvaluations(ToyEvaluator(), Inline(), journal).submit(kernel("11")).result().latency_us


def test_an_executor_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    class Closed(Inline):
        def submit(self, job: Any, *args: Any) -> Future[Any]:
            if job.__name__ == "evaluate":
                raise RuntimeError("closed")
            return super().submit(job, *args)

    with Journal(tmp_path / "journal.jsonl") as journal:
        doors = RecordedEvaluations(ToyEvaluator(), Closed(), journal)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="closed"):
                doors.submit(kernel("01"))


def test_a_strict_journal_without_the_answer_says_so(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.jsonl").close()
    with Journal(tmp_path / "journal.jsonl", strict=True) as journal, pytest.raises(JournalMiss, match="evaluation"):
        RecordedEvaluations(ToyEvaluator(), Inline(), journal).submit(kernel("01"))


def test_a_verdict_that_cannot_be_kept_is_not_given(tmp_path: Path) -> None:
    release = threading.Event()

    class Waiting(ToyEvaluator):
        def evaluate(self, *args: Any, **more: Any) -> Any:
            release.wait(5)
            return super().evaluate(*args, **more)

    with Pooled(1) as executor:
        with Journal(tmp_path / "journal.jsonl") as journal:
            doors = RecordedEvaluations(Waiting(), executor, journal)
            doors.calibration()
            future = doors.submit(kernel("01"))
        release.set()

        with pytest.raises(JournalUnwritable, match="closed"):
            future.result(5)
