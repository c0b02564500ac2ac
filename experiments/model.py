"""The model of a run: its door, its server's place, and its peace with the clock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from evolve import Journal
from evolve.recording import Judge
from fitness import Calibration, Duel, Evaluation, Kernel, Target
from llm import Client, Completion, Placed, Request, ServerUnreachable, TakingTurns, Turns, check_gpus

from .faults import ConfigError

UNTOLD = frozenset({"fingerprint", "system"})
"""Facts about a machine that no kernel can make use of."""


GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""What says which GPUs of this machine a process may use."""


class Silent:
    """The model of a replay: whatever is not recorded cannot be had."""

    def complete(self, request: Request) -> Completion:
        """Refuses."""
        raise ServerUnreachable("a replay asks no model")


class SilentEmbedder:
    """The embedding model of a replay.

    Args:
        model: Name of the one that was asked.
    """

    def __init__(self, model: str) -> None:
        self.model = model

    def embed(self, text: str) -> tuple[float, ...]:
        """Refuses."""
        raise ServerUnreachable("a replay asks no model")


class TimedInTurns:
    """An evaluator whose work waits while the model is asked.

    Args:
        judge: Does the work.
        turns: Shared with the model's client.
    """

    def __init__(self, judge: Judge, turns: Turns) -> None:
        self._judge = judge
        self._turns = turns

    @property
    def key(self) -> str:
        """The evaluator's: taking turns does not change its verdicts."""
        return self._judge.key

    def calibrate(self, device: int = 0) -> Calibration:
        """Times the baseline against itself."""
        with self._turns.of("timing"):
            return self._judge.calibrate(device=device)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Builds, checks and times a kernel."""
        with self._turns.of("timing"):
            return self._judge.evaluate(kernel, calibration, device=device)

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Times two correct kernels against each other."""
        with self._turns.of("timing"):
            return self._judge.duel(challenger, elite, calibration, device=device)

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Judges a winner anew."""
        with self._turns.of("timing"):
            return self._judge.verify(kernel, calibration, device=device)


def timing_gpus(target: Target, executor: DictConfig) -> tuple[int, ...]:
    """Returns the GPUs of this machine that kernels are timed on; none for targets that use no GPU."""
    devices: Sequence[int] = executor.get("devices") or (executor.get("device", 0),)
    shown = [target.environment(device) for device in devices]
    names = [value for variables in shown for name, value in variables.items() if name in GPU_VARIABLES]
    return tuple(int(name) for name in names if name.isdecimal())


def enter_client(
    client: Client,
    stack: ExitStack,
    run_dir: Path,
    timing: Sequence[int],
    expect_others: Callable[[], Sequence[int]] = tuple,
) -> tuple[Client, Turns | None]:
    """Makes a client ready for a run: checked against the clock, told where its log goes, put away at the end.

    Args:
        client: As it was built.
        stack: Enters a client that has to be put away.
        run_dir: Where a server's log goes.
        timing: GPUs that kernels are timed on.
        expect_others: Takes who computes on these now for the model's server, and returns the process ids.

    Returns:
        The client to ask, and the turns that evaluations must take, if any.

    Raises:
        ConfigError: A GPU would serve the model while kernels are timed on it.
    """
    takes_turns = bool(getattr(client, "turns", False))
    try:
        told = check_gpus(getattr(client, "gpus", ()), timing, takes_turns)
    except ValueError as fault:
        raise ConfigError(f"llm: {fault}") from fault
    if timing:
        tell(told)
    if isinstance(client, AbstractContextManager):
        stack.enter_context(client)
    if isinstance(client, Placed):
        client.place(run_dir, tell)
    if not takes_turns:
        return client, None
    # A server that the run starts is known to be the run's; whoever computes there before it is somebody else.
    if getattr(client, "was_there", False) and (others := expect_others()):
        tell(f"process {', '.join(map(str, others))} computes there already and is taken for the model's server")
    turns = Turns()
    return TakingTurns(client, turns), turns


def tell(line: str) -> None:
    """Tells the person who watches what the model's server is doing."""
    print(line, file=sys.stderr, flush=True)


def hardware(target: Target, journal: Journal) -> Mapping[str, str]:
    """Returns facts for prompts, from the record: a replay on another machine must write the same prompts."""

    def describe() -> dict[str, Any]:
        return {name: str(value) for name, value in target.describe().items() if name not in UNTOLD}

    return journal.once("hardware", target.name, describe)
