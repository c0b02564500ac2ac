"""The doors to the outside world, each with the journal in front of it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Protocol, TypeVar

from fitness import Calibration, Duel, Evaluation, Executor, Kernel
from llm import Client, Completion, Embedder, Request, RequestError, Rewarded

from .journal import Journal
from .journal_file import JSON

Result = TypeVar("Result")


class Judge(Protocol):
    """What is asked of an evaluator; `fitness.Evaluator` is one.

    Attributes:
        key: Digest of task, target, language and settings.
    """

    @property
    def key(self) -> str: ...  # noqa: D102 - said above

    def calibrate(self, device: int = 0) -> Calibration:
        """Times the baseline against itself."""
        ...

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Builds, checks and times a kernel."""
        ...

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Times two correct kernels against each other."""
        ...

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Judges a winner anew: fresh process, hidden sizes, fresh seeds."""
        ...


class Evaluations(Protocol):
    """What the engine asks of the evaluator's door; `RecordedEvaluations` is it."""

    def calibration(self) -> Calibration:
        """Returns the scale of the run."""
        ...

    def submit(self, kernel: Kernel) -> Future[Evaluation]:
        """Starts an evaluation."""
        ...

    def duel(self, challenger: Kernel, elite: Kernel) -> Duel:
        """Holds a duel."""
        ...

    def verify(self, kernel: Kernel) -> Evaluation:
        """Judges a winner anew."""
        ...


class RecordedClient:
    """A client that asks another only what the journal cannot answer.

    Args:
        client: Who is asked.
        journal: Where answers are kept, keyed by the request's digest.
    """

    def __init__(self, client: Client, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._silent: list[str] = []

    def complete(self, request: Request) -> Completion:
        """Answers one request; one that failed for good is recorded as such, so that a replay meets it too.

        The record holds the request beside the completion, for transcripts.

        Raises:
            LLMError: No answer can be had from the server, whatever is asked.
            JournalMiss: The journal is strict and has none.
            JournalUnwritable: The answer could not be kept.
        """

        def ask() -> JSON:
            try:
                completion = self._client.complete(request)
            except RequestError as error:
                completion = Completion.failed(error)
            return {"request": request.to_json(), "completion": completion.to_json()}

        answer = Completion.from_json(self._journal.once("completion", request.digest, ask)["completion"])
        self._silent += answer.silent
        return answer

    def tell(self, arm: str, reward: float, tokens: int = 0, silent: Sequence[str] = ()) -> None:
        """Passes on to an ensemble what an answer was worth, and who gave none; others learn nothing.

        Who gave none is what the answers said that were asked for here: in a resumed run the recorded ones.
        """
        if isinstance(self._client, Rewarded):
            self._client.tell(arm, reward, tokens, (*silent, *self._silent))

    def snapshot(self, luck: int) -> Rewarded:
        """Returns the same with an ensemble's snapshot behind it."""
        if not isinstance(self._client, Rewarded):
            return self
        return RecordedClient(self._client.snapshot(luck), self._journal)


class RecordedEmbedder:
    """An embedder that asks another only what the journal cannot answer.

    Args:
        embedder: Who is asked.
        journal: Where vectors are kept, keyed by model and text.
    """

    def __init__(self, embedder: Embedder, journal: Journal) -> None:
        self._embedder = embedder
        self._journal = journal

    @property
    def model(self) -> str:
        """The embedder's."""
        return self._embedder.model

    def embed(self, text: str) -> tuple[float, ...]:
        """Returns the vector of a text; that one was refused is recorded too, so that a replay meets it.

        Raises:
            RequestError: This text cannot be embedded.
            LLMError: The server cannot be asked, whatever the text.
            JournalMiss: The journal is strict and has no answer.
            JournalUnwritable: The answer could not be kept.
        """

        def ask() -> JSON:
            try:
                return {"vector": list(self._embedder.embed(text))}
            except RequestError as error:
                return {"failed": str(error)}

        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        answer = self._journal.once("embedding", f"{self.model}/{digest}", ask)
        if "failed" in answer:
            raise RequestError(answer["failed"])
        return tuple(answer["vector"])


class RecordedEvaluations:
    """Evaluations by way of the journal; only what it lacks goes to the executor.

    Args:
        evaluator: Judges kernels.
        executor: Where it does so.
        journal: Where its verdicts are kept, keyed by kernel and evaluator.
    """

    def __init__(self, evaluator: Judge, executor: Executor, journal: Journal) -> None:
        self._evaluator = evaluator
        self._executor = executor
        self._journal = journal
        self._lock = threading.Lock()
        self._running: dict[str, Future[Evaluation]] = {}

    @cached_property
    def _calibration(self) -> Calibration:
        def calibrate() -> JSON:
            return self._executor.submit(self._evaluator.calibrate).result().to_json()

        return Calibration.from_json(self._journal.once("calibration", self._evaluator.key, calibrate))

    def calibration(self) -> Calibration:
        """Returns the scale of the run's latencies; measured at its first use.

        Raises:
            FitnessError: The machine or the task is broken.
            JournalError: The answer is missing in a strict replay, or cannot be kept.
        """
        return self._calibration

    def submit(self, kernel: Kernel) -> Future[Evaluation]:
        """Starts an evaluation, or shares the one that is running, or recalls it.

        The future raises what the evaluator raises, or `JournalError` when the verdict cannot be
        kept or, in a strict replay, is missing.
        """
        key = f"{kernel.digest}/{self._evaluator.key}"
        with self._lock:
            running = self._running.get(key)
            if running is not None:
                return running
            outcome: Future[Evaluation] = Future()
            recorded = self._journal.lookup("evaluation", key)
            if recorded is not None:
                outcome.set_result(Evaluation.from_json(recorded))
                return outcome
            self._running[key] = outcome
        try:
            job = self._executor.submit(self._evaluator.evaluate, kernel, self._calibration)
        except BaseException:
            self._forget(key)
            raise
        job.add_done_callback(lambda done: self._finish(key, done, outcome))
        return outcome

    def duel(self, challenger: Kernel, elite: Kernel) -> Duel:
        """Times two kernels against each other and waits for the verdict.

        Raises:
            FitnessError: The machine is broken.
            JournalError: The answer is missing in a strict replay, or cannot be kept.
        """
        key = f"{challenger.digest}/{elite.digest}/{self._evaluator.key}"
        job = self._evaluator.duel
        return Duel.from_json(self._once("duel", key, job, challenger, elite, self._calibration))

    def verify(self, kernel: Kernel) -> Evaluation:
        """Judges a winner anew and waits for the verdict.

        Raises:
            FitnessError: The machine is broken.
            JournalError: The answer is missing in a strict replay, or cannot be kept.
        """
        key = f"{kernel.digest}/{self._evaluator.key}"
        job = self._evaluator.verify
        return Evaluation.from_json(self._once("verification", key, job, kernel, self._calibration))

    def _once(self, kind: str, key: str, job: Callable[..., Duel | Evaluation], *args: object) -> JSON:
        return self._journal.once(kind, key, lambda: self._executor.submit(job, *args).result().to_json())

    def _finish(self, key: str, job: Future[Evaluation], outcome: Future[Evaluation]) -> None:
        """Records a verdict, then lets the waiting know; runs in the executor's thread."""
        try:
            verdict = Evaluation.from_json(self._journal.record("evaluation", key, job.result().to_json()))
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            self._forget(key)
            outcome.set_exception(error)
        else:
            self._forget(key)
            outcome.set_result(verdict)

    def _forget(self, key: str) -> None:
        with self._lock:
            del self._running[key]
