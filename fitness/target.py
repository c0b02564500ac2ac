"""Where a kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Peak:
    """What a device can do at most; bounds every latency from below.

    Attributes:
        flops_per_s: Arithmetic peak of the widest unit that the task may use.
        bytes_per_s: Bandwidth of the memory level that the cache regime reaches.
    """

    flops_per_s: float
    bytes_per_s: float


class Target(Protocol):
    """A kind of hardware.

    Attributes:
        name: As in configuration, e.g. ``"cpu"``.
        arch: The compiler's name for it, e.g. ``"native"`` or ``"sm_90a"``.
        measures_time: Whether a latency can be had here; ``False`` for interpreters.
    """

    # Properties: an attribute of a protocol would have to be settable, and no frozen dataclass has those.
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def arch(self) -> str: ...  # noqa: D102
    @property
    def measures_time(self) -> bool: ...  # noqa: D102

    def environment(self, device: int) -> dict[str, str]:
        """Returns the variables that a worker on ``device`` needs, for the sandbox's allow-list."""
        ...

    def describe(self) -> Mapping[str, str]:
        """Returns facts about the machine, recorded in ``environment.json`` and shown to models."""
        ...
