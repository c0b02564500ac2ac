"""What goes into a prompt. Every part is a switch, so that an information ablation is configuration only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Parts of a prompt; counts are upper limits.

    Attributes:
        task: The mathematics and the timed sizes. The contract is always there.
        source: The parents' sources.
        time: The parents' status, latency and speedup.
        log: What compiler or checker said of the parents.
        profile: A paragraph on each parent: its place under the roofline, the limiting resource, what its binary tells.
        hardware: Facts about the machine.
        elites: Best kernels of the run so far, parents left out.
        ancestors: The first parent's lineage, nearest first.
        siblings: The first parent's other children, the youngest first.
        notes: What earlier reflections learned, the youngest last.
        knowledge: Retrieved documents.
        advice: A few lines on what compiles and pays in the language, where there are any for it. They keep
            small models from what they get wrong, and strong ones from what they get right.
        suggestion: One concrete change, drawn for each request from those that ship for the language and fit the
            kernel, in place of the instruction. For one parent that works; where nothing fits, the instruction stands.

    Raises:
        ValueError: A count is negative.
    """

    task: bool = True
    source: bool = True
    time: bool = True
    log: bool = True
    profile: bool = False
    hardware: bool = True
    elites: int = 0
    ancestors: int = 0
    siblings: int = 0
    notes: int = 0
    knowledge: int = 0
    advice: bool = False
    suggestion: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 0:
                raise ValueError(f"ingredients.{each.name} must be 0 or more, is {getattr(self, each.name)}")

    @property
    def memory(self) -> frozenset[str]:
        """Which parts of `operators.Memory` they need."""
        return frozenset(name for name in ("ancestors", "siblings", "elites", "notes") if getattr(self, name))

    def changed(self, switches: Mapping[str, Any] | None) -> Ingredients:
        """Returns the same with some switches set.

        Raises:
            ValueError: A switch does not exist.
        """
        names = [each.name for each in fields(self)]
        for name in switches or {}:
            if name not in names:
                raise ValueError(f"ingredients.{name}: unknown; there are {', '.join(names)}")
        return replace(self, **dict(switches or {}))


CONTEXTS: Mapping[str, Mapping[str, Any]] = {
    "none": {"ancestors": 0, "siblings": 0},
    "trajectory": {"ancestors": 3, "siblings": 0},
    "siblings": {"ancestors": 0, "siblings": 3},
    "both": {"ancestors": 2, "siblings": 2},
    "clean": {"source": False, "time": False, "log": False, "profile": False, "ancestors": 0, "siblings": 0},
}
"""What a node of the search inherits (KernelEvolve's memory operator): the parent's trajectory, its other children,
both, neither, or a clean slate on which not even the parent is shown."""


def ingredients(default: Ingredients, context: str, switches: Mapping[str, Any] | None) -> Ingredients:
    """Returns an operator's ingredients: its default, then its context, then single switches.

    Args:
        default: What the operator has unless told otherwise.
        context: A key of `CONTEXTS`; empty to leave the default as it is.
        switches: Fields of `Ingredients`.

    Raises:
        ValueError: The context or a switch does not exist.
    """
    if context and context not in CONTEXTS:
        raise ValueError(f"context must be one of {', '.join(CONTEXTS)}, is {context!r}")
    return default.changed(CONTEXTS[context] if context else None).changed(switches)
