"""What the values of a declaration may be: seeds, names with overrides, pairs of arms, levels of factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from .faults import ConfigError

MOST_SEEDS = 10_000


def read_seeds(value: Any) -> tuple[int, ...]:
    """Returns seeds from a number of them, a list, or the text of either.

    Raises:
        ConfigError: It is neither, or they are too many.
    """
    if isinstance(value, str):
        words = value.strip("[] ").split(",")
        if not all(word.strip().isdecimal() for word in words):
            raise ConfigError(f"seeds: give how many, or a list such as 0,1,2; is {value!r}")
        numbers = [int(word) for word in words]
        value = numbers if "," in value or "[" in value else numbers[0]
    if isinstance(value, int) and value > MOST_SEEDS:
        raise ConfigError(f"seeds: give at most {MOST_SEEDS:,}, or a list such as [0, 1, 2]; is {value:,}")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(value))
    if isinstance(value, list) and value and all(isinstance(each, int) for each in value):
        return tuple(value)
    raise ConfigError(f"seeds: give how many, or a list such as [0, 1, 2]; is {value!r}")


def read_named(value: Any, kind: str) -> dict[str, tuple[str, ...]]:
    """Returns overrides by name.

    Raises:
        ConfigError: It is no mapping from names to lists of overrides.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(f"{kind}: give a mapping from names to lists of overrides, not {value!r}")
    return {str(name): read_texts(overrides or (), f"{kind}.{name}") for name, overrides in value.items()}


def read_texts(value: Any, key: str) -> tuple[str, ...]:
    """Returns a list of texts as a tuple.

    Raises:
        ConfigError: It is none.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{key}: give a list of texts such as [operators=syntactic, mu=4], not {value!r}")
    return tuple(value)


def read_levels(value: Any) -> dict[str, tuple[str, str]]:
    """Returns two levels by factor.

    Raises:
        ConfigError: It is no mapping from names to pairs of texts.
    """
    named = read_named(value, "effects")
    for factor, levels in named.items():
        if len(levels) != 2 or levels[0] == levels[1]:
            raise ConfigError(f"effects.{factor}: give two levels such as [history1, history0], not {list(levels)!r}")
    return {factor: (levels[0], levels[1]) for factor, levels in named.items()}


def read_pairs(value: Any, arms: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Returns the comparisons as pairs.

    Raises:
        ConfigError: One is no pair of two different arms, or is given twice.
    """
    if value == "all":
        return tuple(combinations(arms, 2))
    pairs: list[tuple[str, str]] = []
    for pair in value or ():
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise ConfigError(f"comparisons: give pairs of different arms, or the word all; not {pair!r}")
        if {*pair} in [{*other} for other in pairs]:
            raise ConfigError(f"comparisons: {' / '.join(map(str, pair))} is given twice")
        pairs.append((str(pair[0]), str(pair[1])))
    return tuple(pairs)
