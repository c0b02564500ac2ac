"""Model and timing: on different devices, or never both at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .ensemble import Rewarded
from .request import Client, Completion, Request


class Turns:
    """Lets many requests run at once, or many evaluations, and never one of each.

    When one side has ended, all that wait on the other get their turn together, so that batches
    stay full and neither side starves.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = {"model": 0, "timing": 0}
        self._turn = "model"
        self._inside = 0
        self._admitted = 0

    @contextmanager
    def of(self, side: str) -> Iterator[None]:
        """Waits for a turn of ``"model"`` or ``"timing"`` and holds it for the block."""
        other = {"model": "timing", "timing": "model"}[side]
        with self._changed:
            self._waiting[side] += 1
            while not self._may_enter(side, other):
                self._changed.wait()
            if self._inside == 0:
                self._turn, self._admitted = side, self._waiting[side]
            self._waiting[side] -= 1
            self._inside += 1
            self._admitted -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                if self._inside == 0:
                    self._turn = other
                self._changed.notify_all()

    def _may_enter(self, side: str, other: str) -> bool:
        if self._inside and self._turn != side:
            return False
        if not self._waiting[other]:
            return True
        return self._admitted > 0 if self._inside else self._turn == side


class TakingTurns:
    """A client whose requests wait while something is being timed.

    Args:
        client: Who is asked.
        turns: Shared with whoever times.
    """

    def __init__(self, client: Client, turns: Turns) -> None:
        self._client = client
        self._turns = turns

    def complete(self, request: Request) -> Completion:
        """Answers one request in a turn of the model.

        Raises:
            LLMError: As the client has it.
        """
        with self._turns.of("model"):
            return self._client.complete(request)

    def tell(self, arm: str, reward: float, tokens: int = 0, silent: Sequence[str] = ()) -> None:
        """Passes on to an ensemble what an answer was worth, and who gave none."""
        if isinstance(self._client, Rewarded):
            self._client.tell(arm, reward, tokens, silent)

    def snapshot(self, luck: int) -> Rewarded:
        """Returns the same with an ensemble's snapshot behind it."""
        if not isinstance(self._client, Rewarded):
            return self
        return TakingTurns(self._client.snapshot(luck), self._turns)


def check_gpus(model: Sequence[int], timing: Sequence[int], takes_turns: bool) -> str:
    """Checks, before a run starts, that no GPU serves the model while kernels are timed on it.

    Args:
        model: GPUs of the servers; empty for none.
        timing: GPUs that kernels are timed on; empty for none.
        takes_turns: Whether requests and evaluations exclude each other (`Turns`).

    Returns:
        A sentence for the person who watches.

    Raises:
        ValueError: A GPU would do both at once.
    """
    shared = sorted(set(model) & set(timing))
    if timing and not model:
        numbers = ", ".join(str(gpu) for gpu in timing)
        return f"kernels are timed on GPU {numbers}; llm.gpus does not say where the model runs: keep it off these"
    if not shared:
        return "model and timing use different devices"
    numbers = ", ".join(str(gpu) for gpu in shared)
    if not takes_turns:
        raise ValueError(
            f"GPU {numbers} would serve the model while kernels are timed on it; "
            "give llm.gpus others than the executor's, or set llm.turns=true"
        )
    return f"model and timing take turns on GPU {numbers}"
