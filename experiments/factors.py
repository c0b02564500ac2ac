"""Factors of an experiment whose arms are the cells of a factorial design: which arms differ in one factor alone.

Arms are named by their levels, joined by ``_``: in ``task1_history0`` the factor ``history`` has the level
``history0``.
"""

from __future__ import annotations

from collections.abc import Iterable

from .faults import ConfigError

Levels = tuple[str, str]
"""Two levels of a factor, as they stand in names of arms."""


def matched_arms(arms: Iterable[str], levels: Levels) -> list[tuple[str, str]]:
    """Returns the pairs of arms that differ in one factor alone, the first level first.

    Args:
        arms: Names of all arms.
        levels: Of the factor.

    Raises:
        ConfigError: No arm has one of the levels, or one has and its partner is missing.
    """
    known = list(arms)
    cells = [{_without(arm, level): arm for arm in known if level in arm.split("_")} for level in levels]
    first, second = cells
    for level, found in zip(levels, cells, strict=True):
        if not found:
            raise ConfigError(f"no arm has the level {level!r} in its name, as in task1_{level}")
    alone = [arm for cell, arm in (*first.items(), *second.items()) if not (cell in first and cell in second)]
    if alone:
        raise ConfigError(f"the arm {alone[0]} has no partner that differs from it in {' / '.join(levels)} alone")
    return [(arm, second[cell]) for cell, arm in first.items()]


def _without(arm: str, level: str) -> tuple[str, ...]:
    """Returns the other levels in an arm's name, with a gap where this one stands."""
    return tuple("" if word == level else word for word in arm.split("_"))
