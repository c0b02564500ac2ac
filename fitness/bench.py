"""What a target's bench does: there artifacts are loaded, checked and timed, with the settings of one evaluator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .check import Findings
from .contest import Contest
from .gate import Gate
from .material import Material
from .sandbox import Sandbox
from .session import Artifact
from .settings import Settings
from .target import Target
from .task import Task


class Bench(ABC):
    """A sandbox, a task and the settings for both.

    Attributes:
        runs_python: Whether it can run modules in Python beside shared objects.
        gate: Lets builds and checks pass, or a measurement alone.
    """

    runs_python = True

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, settings: Settings, gate: Gate) -> None:
        self.sandbox, self.task, self.target, self.settings, self.gate = sandbox, task, target, settings, gate

    @abstractmethod
    def check(self, artifact: Artifact, material: Material, device: int) -> Findings:
        """Judges an artifact on all cases.

        Raises:
            Failed: It is not right.
            FitnessError: The machine failed.
        """

    @abstractmethod
    def contest(
        self, first: Artifact, second: Artifact, material: Material, device: int, rng: np.random.Generator
    ) -> Contest:
        """Times two artifacts against each other; the caller is `alone`.

        Raises:
            Failed: The first did something that ends it.
            Rival: The second did.
            FitnessError: The machine failed.
        """

    @abstractmethod
    def peaks(self) -> tuple[float | None, float | None]:
        """Returns the most bytes and floating-point operations a second; None where they are not known."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Passes when nothing that would be noticed runs; at once, where `contest` sees to that."""
        yield

    def prepare(self, device: int) -> None:  # noqa: B027 - not every bench has something to do
        """Begins with what takes long and needs no artifact."""

    def trust(self, artifact: Artifact, device: int) -> None:  # noqa: B027
        """Learns that a checked artifact is the seed's: later ones may begin with what it left behind."""

    def counted(self, artifact: Artifact, material: Material, device: int) -> tuple[str, ...]:
        """Returns sentences on what hardware counters tell of one call; none where none can be read."""
        return ()

    def close(self) -> None:  # noqa: B027
        """Ends all that waits for artifacts."""
