"""Configurations of a recorded space as sources, with tunables declared as in any other kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from .space import Space

_DEFINITION = re.compile(r"^#define[ \t]+(\w+)[ \t]+(\S+)[ \t]*\r?$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")

Value = int | float | str


class Notation:
    """Writes configurations of a space as sources, and reads them back.

    Numbers stand for themselves. What no tunable could be called or set to (a name that is no identifier, a text with
    spaces) is written as a word that a space has only once.

    Args:
        space: The space.

    Attributes:
        parameters: The values of each tunable as they stand in a source, in the space's order.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        names = [re.sub(r"\W", "_", name) for name in space.parameters]
        plain = len(set(names)) == len(names) and all(_WORD.fullmatch(name) for name in names)
        self._names = names if plain else [f"parameter_{i}" for i in range(len(names))]
        self.parameters: Mapping[str, tuple[Value, ...]] = {
            name: _written(values) for name, values in zip(self._names, space.parameters.values(), strict=True)
        }

    def source(self, levels: Sequence[int]) -> str:
        """The source of the configuration with these indices of values."""
        pieces = [self._head]
        for (name, values), start, level in zip(self.parameters.items(), self._declared, levels, strict=True):
            pieces.append(f"{start[0]}{values[level]}{start[1]}#define {name} {values[level]}\n")
        return "".join(pieces)

    def position(self, source: str) -> int | None:
        """Where the configuration that a source defines is in the space; None when it does not exist."""
        defined = dict(_DEFINITION.findall(source))
        try:
            levels = [level_of[defined[name]] for name, level_of in self._level_of.items()]
            return self._space.position_of_levels(levels)
        except KeyError:
            return None

    def exists(self, setting: Mapping[str, Any]) -> bool:
        """Whether a setting of all tunables is in the space."""
        try:
            self._space.position_of_levels([level_of[str(setting[name])] for name, level_of in self._level_of.items()])
        except KeyError:
            return False
        return True

    @cached_property
    def _level_of(self) -> dict[str, dict[str, int]]:
        return {
            name: {str(value): level for level, value in enumerate(values)} for name, values in self.parameters.items()
        }

    @cached_property
    def _head(self) -> str:
        about = [f"kernel {self._space.kernel}" if self._space.kernel else "", self._space.device]
        words = " ".join(", ".join(filter(None, about)).split())
        return f"// A configuration of the recorded tuning space {self._space.name}{f' ({words})' if words else ''}.\n"

    @cached_property
    def _declared(self) -> list[tuple[str, str]]:
        """What stands before and after the present value in each declaration."""
        return [
            (f"// tunable {name} = ", f" in {{{', '.join(map(str, values))}}}\n")
            for name, values in self.parameters.items()
        ]


def _written(values: Sequence[Any]) -> tuple[Value, ...]:
    """The values as a source can hold them, so that each is read back as itself."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return tuple(values)
    texts = [str(value) for value in values]
    words = all(_WORD.fullmatch(text) and not _is_number(text) for text in texts)
    return tuple(texts) if words and len(set(texts)) == len(texts) else tuple(f"choice_{i}" for i in range(len(texts)))


def _is_number(text: str) -> bool:
    """Whether a word would be read as a number, as ``nan`` and ``infinity`` would."""
    try:
        float(text)
    except ValueError:
        return False
    return True
