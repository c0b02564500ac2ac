"""Several models or temperatures behind one client, chosen by weight or by what they earned."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self, get_args, runtime_checkable

from .request import Client, Completion, Request

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

    def tell(self, arm: str, reward: float, tokens: int = 0) -> None:
        """Tells the worth of an answer of ``arm``."""
        ...

    def snapshot(self) -> Client:
        """Returns a client that chooses by what was told so far, whatever is told later."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One member of an ensemble: a client, and what of a request is its own.

    Attributes:
        name: Unique in the ensemble, and the key under which its rewards are kept: a resumed run
            finds them again by it, also when members came or went.
        client: Who is asked; None for the ensemble's own, for arms that differ in temperature only.
        weight: Share of the requests when chosen by weights; prior preference is not used otherwise.
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


@dataclass
class _Record:
    """What an arm earned: number, sum and sum of squares of its rewards."""

    pulls: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.pulls if self.pulls else 0.0

    def deviation(self, scale: float) -> float:
        """Returns the standard deviation of the mean, with one imagined reward of spread ``scale``."""
        spread = self.squares - self.pulls * self.mean**2 + scale**2
        return math.sqrt(max(spread, 0.0) / (self.pulls + 1) / (self.pulls + 1))


@dataclass
class _Ledger:
    """All arms' records, and the largest reward so far, on which UCB1's scale rests."""

    records: dict[str, _Record] = field(default_factory=dict)
    largest: float = 0.0


class Ensemble:
    """A client that passes each request to one of its arms.

    The choice depends on nothing but the request's digest and what `tell` has told, so it is the
    same again when a run is repeated; and since the journal keeps which arm answered, a resumed run
    is told the same rewards and comes back to the same state without any of its own being stored.
    A search that tells rewards while requests are on their way asks a `snapshot` instead, because
    what had been told when a thread came to ask would be chance.

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
        self._ledger = _Ledger({name: _Record() for name in names})
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

    def place(self, directory: Path, tell: Callable[[str], None]) -> None:
        """Passes on, to members that start servers, where logs go and who hears of progress."""
        for client in self._clients():
            if isinstance(client, Placed):
                client.place(directory, tell)

    def complete(self, request: Request) -> Completion:
        """Answers one request; the completion names the arm.

        Raises:
            LLMError: As the member has it.
        """
        arm = self.choose(request)
        client = arm.client or self._client
        assert client is not None
        temperature = request.temperature if arm.temperature is None else arm.temperature
        asked = replace(request, model=arm.model or request.model, temperature=temperature)
        return replace(client.complete(asked), arm=arm.name)

    def choose(self, request: Request) -> Arm:
        """Returns the arm that would answer a request now."""
        rng = random.Random(request.digest)
        with self._lock:
            scores = [self._score(arm, rng) for arm in self.arms]
        return self.arms[scores.index(max(scores))]

    def tell(self, arm: str, reward: float, tokens: int = 0) -> None:
        """Tells what an answer was worth, e.g. the relative improvement of its kernel, 0 for a failure.

        Rewards of arms that are no longer there are ignored.

        Args:
            arm: As the completion named it.
            reward: Finite, 0 or more.
            tokens: That the answer cost; used with ``per="token"``.
        """
        worth = reward if self._per == "evaluation" else reward / max(1, tokens) * 1000
        with self._lock:
            record = self._ledger.records.get(arm)
            if record is None:
                return
            record.pulls += 1
            record.total += worth
            record.squares += worth**2
            self._ledger.largest = max(self._ledger.largest, worth)

    def snapshot(self) -> Client:
        """Returns the same members, chosen by what was told so far, whatever is told later; not to be entered."""
        chooser = copy(self)
        with self._lock:
            chooser._ledger = deepcopy(self._ledger)
        return chooser

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
        if not record.pulls:
            return 1e9 + luck
        total = sum(each.pulls for each in self._ledger.records.values())
        return record.mean / scale + self._exploration * math.sqrt(2 * math.log(total) / record.pulls)

    def _clients(self) -> list[Any]:
        """Returns the different clients of all arms, each once."""
        found: list[Any] = []
        for client in [*(arm.client for arm in self.arms), self._client]:
            if client is not None and not any(client is other for other in found):
                found.append(client)
        return found
