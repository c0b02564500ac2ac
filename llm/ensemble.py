"""Several models or temperatures behind one client, chosen by weight or by what they earned."""

from __future__ import annotations

import logging
import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self, get_args, runtime_checkable

from .errors import RequestError, ServerError, ServerUnreachable
from .ledger import Ledger, Record
from .request import Client, Completion, Request

_LOG = logging.getLogger("kernelwright.llm")

Choice = Literal["weights", "ucb1", "thompson"]


@runtime_checkable
class Placed(Protocol):
    """A client that wants to know where its log goes and whom to tell of its progress."""

    def place(self, directory: Path, tell: Callable[[str], None]) -> None:
        """Says so, before the first request."""
        ...


@runtime_checkable
class Rewarded(Protocol):
    """A client that learns from what its answers were worth."""

    def tell(self, arm: str, reward: float, tokens: int = 0, silent: Sequence[str] = ()) -> None:
        """Tells the worth of an answer of ``arm``, and who had been asked before it in vain."""
        ...

    def snapshot(self, luck: int) -> Rewarded:
        """Returns the client of one slot: who answers is decided now, whatever is told later; it must be told once."""
        ...

    def complete(self, request: Request) -> Completion:
        """Answers one request, as `Client` has it."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One member of an ensemble: a client, and what of a request is its own.

    Attributes:
        name: Unique in the ensemble, and the key under which its rewards are kept: a resumed run
            finds them again by it, also when members came or went.
        client: Who is asked; None for the ensemble's own, for arms that differ in temperature only.
        weight: Share of the slots when chosen by weights; prior preference is not used otherwise.
        model: Replaces the request's model, unless empty.
        temperature: Replaces the request's, unless None.

    Raises:
        ValueError: The name is empty or the weight negative.
    """

    name: str
    client: Client | None = None
    weight: float = 1.0
    model: str = ""
    temperature: float | None = None

    def __post_init__(self) -> None:
        if not self.name or self.weight < 0:
            raise ValueError(f"an arm needs a name and a weight of 0 or more, has {self.name!r} and {self.weight}")


class Ensemble:
    """A client that passes each request to one of its arms.

    A search asks the `snapshot` of a slot, made when the slot is planned: what was told until then and the run's
    seed decide who answers. To UCB1, slots on their way count as failures, so that a whole batch does not go to one
    arm; the other choices draw for each slot. Neither threads nor clocks have a say, and since the journal keeps who
    answered and who did not, a resumed run is told the same and comes back to the same state without any of its own
    being stored.

    When the server of an arm is the trouble, the next best arm is asked. An arm that gave no answer is asked last
    for the next 2 slots, then tried again, then left alone for 4, and so on up to `ledger.LONGEST_REST`.

    Args:
        arms: The members.
        choice: ``"weights"`` draws by weight; ``"ucb1"`` takes the best upper confidence bound,
            untried arms first; ``"thompson"`` samples each arm's mean from its posterior.
        client: For arms without one.
        per: Reward is divided by nothing (``"evaluation"``) or by thousands of tokens (``"token"``).
        exploration: Factor of UCB1's confidence term.

    Raises:
        ValueError: Arms are missing, share a name, all weigh nothing, or one has no client.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        choice: Choice = "weights",
        client: Client | None = None,
        per: Literal["evaluation", "token"] = "evaluation",
        exploration: float = 1.0,
    ) -> None:
        names = [arm.name for arm in arms]
        if not arms or len(set(names)) != len(names):
            raise ValueError(f"an ensemble needs arms with different names, has {names}")
        if choice not in get_args(Choice):
            raise ValueError(f"choice must be one of {', '.join(get_args(Choice))}, is {choice!r}")
        if choice == "weights" and not sum(arm.weight for arm in arms):
            raise ValueError("the weights of an ensemble's arms must not sum to 0")
        if client is None and (orphans := [arm.name for arm in arms if arm.client is None]):
            raise ValueError(f"the arms {', '.join(orphans)} have no client, and neither has the ensemble")
        self.arms = tuple(arms)
        self._choice = choice
        self._client = client
        self._per = per
        self._exploration = exploration
        self._lock = threading.Lock()
        self._ledger = Ledger({name: Record() for name in names})
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for client in self._clients():
            if isinstance(client, AbstractContextManager):
                self._stack.enter_context(client)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def gpus(self) -> tuple[int, ...]:
        """GPUs of all servers that members start."""
        return tuple(sorted({gpu for client in self._clients() for gpu in getattr(client, "gpus", ())}))

    @property
    def turns(self) -> bool:
        """Whether any member's requests take turns with evaluations."""
        return any(getattr(client, "turns", False) for client in self._clients())

    @property
    def was_there(self) -> bool:
        """Whether any member's server runs without the run."""
        return any(getattr(client, "was_there", False) for client in self._clients())

    def place(self, directory: Path, tell: Callable[[str], None]) -> None:
        """Passes on, to members that start servers, where logs go and who hears of progress."""
        for client in self._clients():
            if isinstance(client, Placed):
                client.place(directory, tell)

    def complete(self, request: Request) -> Completion:
        """Answers one request; the completion names the arm.

        Raises:
            LLMError: As `ask` has it.
        """
        return self.ask(request, self.ranking(request.digest))

    def ask(self, request: Request, ranking: Sequence[Arm]) -> Completion:
        """Asks the first arm, and the next ones while a server is the trouble.

        Raises:
            RequestError: An arm refuses the request or is too slow; another answer would not be this arm's.
            ServerError: No server answers.
        """
        failed: dict[str, ServerError] = {}
        for arm in ranking:
            try:
                completion = self._asked(arm, request)
            except RequestError as error:
                error.arm, error.silent = arm.name, tuple(failed)
                raise
            except ServerError as error:
                _LOG.warning("%s does not answer, others are asked: %s", arm.name, error)
                failed[arm.name] = error
                continue
            told = tuple(f"{name}: {error}" for name, error in failed.items())
            return replace(completion, arm=arm.name, silent=tuple(failed), retries=(*told, *completion.retries))
        if len(failed) == 1:
            raise next(iter(failed.values()))
        reasons = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise ServerUnreachable(f"no arm of the ensemble answers: {reasons}")

    def _asked(self, arm: Arm, request: Request) -> Completion:
        client = arm.client or self._client
        assert client is not None
        temperature = request.temperature if arm.temperature is None else arm.temperature
        return client.complete(replace(request, model=arm.model or request.model, temperature=temperature))

    def ranking(self, luck: int | str) -> tuple[Arm, ...]:
        """Returns the arms in the order in which they would be asked now; of no weight, never."""
        rng = random.Random(luck)
        with self._lock:
            return self._ranking(rng)

    def _ranking(self, rng: random.Random) -> tuple[Arm, ...]:
        scores = {arm.name: self._score(arm, rng) for arm in self.arms}
        willing = [arm for arm in self.arms if self._choice != "weights" or arm.weight]
        rests = {name: record.rest > 0 for name, record in self._ledger.records.items()}
        return tuple(sorted(willing, key=lambda arm: (rests[arm.name], -scores[arm.name])))

    def tell(self, arm: str, reward: float, tokens: int = 0, silent: Sequence[str] = ()) -> None:
        """Tells what an answer was worth, e.g. the relative improvement of its kernel, 0 for a failure.

        Rewards of arms that are no longer there are ignored.

        Args:
            arm: As the completion named it.
            reward: Finite, 0 or more.
            tokens: That the answer cost; used with ``per="token"``.
            silent: Of no consequence outside of a slot.
        """
        with self._lock:
            self._ledger.reward(arm, reward if self._per == "evaluation" else reward / max(1, tokens) * 1000)

    def snapshot(self, luck: int) -> Rewarded:
        """Returns the client of one slot, which asks the arm that is best now.

        Args:
            luck: Decides between equals, and whatever else is drawn.
        """
        with self._lock:
            ranking = self._ranking(random.Random(luck))
            self._ledger.plan(ranking[0].name)
        return _Seat(self, ranking)

    def settle(self, planned: str, arm: str, silent: Sequence[str]) -> None:
        """Takes note that a slot that was given to ``planned`` is committed, and of who answered and who did not."""
        with self._lock:
            self._ledger.settle(planned, arm, silent)

    @property
    def ledger(self) -> Ledger:
        """What is known of the arms."""
        with self._lock:
            return deepcopy(self._ledger)

    def standing(self) -> Mapping[str, tuple[int, float]]:
        """Returns, for each arm, how often it was rewarded and with how much on average."""
        with self._lock:
            return {name: (record.pulls, record.mean) for name, record in self._ledger.records.items()}

    def _score(self, arm: Arm, rng: random.Random) -> float:
        record = self._ledger.records[arm.name]
        luck = rng.random()
        if self._choice == "weights":
            # The largest of u^(1/w) falls on each arm in proportion to its weight (Efraimidis & Spirakis 2006).
            return luck ** (1 / arm.weight) if arm.weight else -1.0
        scale = self._ledger.largest or 1.0
        if self._choice == "thompson":
            return record.mean + record.deviation(scale) * rng.gauss(0.0, 1.0)
        tries = record.pulls + record.pending
        if not tries:
            return 1e9 + luck
        bonus = self._exploration * math.sqrt(2 * math.log(self._ledger.tries) / tries)
        return record.total / scale / tries + bonus + 1e-9 * luck

    def _clients(self) -> list[Any]:
        """Returns the different clients of all arms, each once."""
        found: list[Any] = []
        for client in [*(arm.client for arm in self.arms), self._client]:
            if client is not None and not any(client is other for other in found):
                found.append(client)
        return found


class _Seat:
    """An ensemble as one slot asks it."""

    def __init__(self, ensemble: Ensemble, ranking: Sequence[Arm]) -> None:
        self._ensemble = ensemble
        self._order = ranking

    def complete(self, request: Request) -> Completion:
        """Answers one request.

        Raises:
            LLMError: As `Ensemble.ask` has it.
        """
        return self._ensemble.ask(request, self._order)

    def tell(self, arm: str, reward: float, tokens: int = 0, silent: Sequence[str] = ()) -> None:
        """Tells what came of the slot; one that asked nobody names no arm."""
        self._ensemble.settle(self._order[0].name, arm, silent)
        self._ensemble.tell(arm, reward, tokens)

    def snapshot(self, luck: int) -> Rewarded:
        """Returns itself: a slot is one slot."""
        return self
