"""Tunables: parameters that a kernel declares in its own source, in comments that leave it valid code.

::

    // tunable TILE = 32 in {8, 16, 32, 64}
    #define TILE 32
    // constraint TILE * TILE <= 2048

In Python-hosted languages the mark is ``#`` and the definition an assignment, ``BLOCK = 128``. What counts as the
present value is what the code says; the comment is kept in step.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from .constraints import Constraint, ConstraintError

Value = int | float | str

_DECLARATION = re.compile(r"^[ \t]*(?://|#)[ \t]*tunable\b(?P<rest>[^\r\n]*)")
_CONSTRAINT = re.compile(r"^[ \t]*(?://|#)[ \t]*constraint\b(?P<rest>[^\r\n]*)")
_SYNTAX = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>[^\s{}]+)\s+in\s*\{(?P<choices>[^{}]*)\}\s*$")
_COMMENT = re.compile(r"^[ \t]*(?://|#(?!\s*define\b)|$)")
_NUMBER = re.compile(r"^[-+]?(\d+|0[xX][0-9a-fA-F]+)[uUlL]*$")
_WORD = re.compile(r"^(?:[A-Za-z_]\w*(?:::\w+)*|\"[^\"]*\"|'[^']*')$")
_HINT = "write 'tunable NAME = VALUE in {VALUE, …}' above the definition of NAME"


class TunableError(ValueError):
    """A declaration cannot be understood; the message names its line."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """One declared parameter.

    Attributes:
        name: As in the code.
        choices: The allowed values, in the order of the declaration.
        value: What the code says now; not always one of ``choices``.
        spans: Character ranges of the value in the source: in the comment and in the definition.
    """

    name: str
    choices: tuple[Value, ...]
    value: Value
    spans: tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Tunables:
    """The tunables of one source.

    Attributes:
        source: The text that they were read from.
        tunables: In the order of their declarations.
        constraints: What must hold among the values.
    """

    source: str
    tunables: tuple[Tunable, ...]
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    @lru_cache(maxsize=256)  # a parent is read by everything that asks whether it can be varied
    def read(cls, source: str) -> Tunables:
        """Reads the declarations of a source; there may be none.

        Raises:
            TunableError: A declaration is malformed, appears twice or has no definition below it, or a constraint is
                malformed or names something that is not declared.
        """
        lines = source.split("\n")
        starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
        found: dict[str, Tunable] = {}
        constraints: list[Constraint] = []
        for index, line in enumerate(lines):
            declaration, constraint = _DECLARATION.match(line), _CONSTRAINT.match(line)
            if declaration is not None:
                tunable = _declared(lines, starts, index, declaration)
                if tunable.name in found:
                    raise TunableError(f"line {index + 1}: tunable {tunable.name} is declared twice")
                found[tunable.name] = tunable
            elif constraint is not None:
                constraints.append(_constraint(constraint["rest"].strip(), index + 1))
        for constraint_ in constraints:
            unknown = sorted(constraint_.names - {*found})
            if unknown:
                raise TunableError(f"constraint {constraint_.text!r}: {unknown[0]} is no tunable")
        return cls(source, tuple(found.values()), tuple(constraints))

    def __bool__(self) -> bool:
        return bool(self.tunables)

    @property
    def values(self) -> dict[str, Value]:
        """What the code says now."""
        return {tunable.name: tunable.value for tunable in self.tunables}

    @property
    def choices(self) -> dict[str, tuple[Value, ...]]:
        """The allowed values."""
        return {tunable.name: tunable.choices for tunable in self.tunables}

    def allows(self, values: Mapping[str, Value]) -> bool:
        """Whether every value is among the choices and every constraint holds."""
        if any(values[tunable.name] not in tunable.choices for tunable in self.tunables):
            return False
        return all(constraint.holds(values) for constraint in self.constraints)

    def with_values(self, values: Mapping[str, Value]) -> str:
        """Returns the source with other values; what is not named stays as it is.

        Raises:
            TunableError: A name is not declared.
        """
        unknown = sorted({*values} - {*self.values})
        if unknown:
            raise TunableError(f"{unknown[0]} is no tunable of this kernel; it has {', '.join(self.values) or 'none'}")
        changes = sorted(
            (*span, str(values[tunable.name]))
            for tunable in self.tunables
            if tunable.name in values and values[tunable.name] != tunable.value
            for span in tunable.spans
        )
        pieces, position = [], 0
        for start, end, text in changes:
            pieces += [self.source[position:start], text]
            position = end
        return "".join([*pieces, self.source[position:]])

    def neighbours(self, values: Mapping[str, Value] | None = None) -> list[dict[str, Value]]:
        """Returns the allowed settings that differ in one tunable, by one place in its list of choices."""
        here = dict(values or self.values)
        found = []
        for tunable in self.tunables:
            for value in adjacent(tunable, here[tunable.name]):
                setting = {**here, tunable.name: value}
                if self.allows(setting):
                    found.append(setting)
        return found

    def settings(self) -> Iterator[dict[str, Value]]:
        """Yields every allowed setting, the last tunable running fastest."""
        for combination in itertools.product(*(tunable.choices for tunable in self.tunables)):
            setting = dict(zip(self.values, combination, strict=True))
            if self.allows(setting):
                yield setting


def adjacent(tunable: Tunable, value: Value) -> tuple[Value, ...]:
    """Returns the choices next to ``value``; all choices where it is none of them."""
    if value not in tunable.choices:
        return tunable.choices
    place = tunable.choices.index(value)
    return tuple(tunable.choices[each] for each in (place - 1, place + 1) if 0 <= each < len(tunable.choices))


def _declared(lines: list[str], starts: list[int], index: int, match: re.Match[str]) -> Tunable:
    declared = _SYNTAX.match(match["rest"])
    if declared is None:
        raise TunableError(f"line {index + 1}: {lines[index].strip()!r} is no declaration; {_HINT}")
    name = declared["name"]
    texts = [text.strip() for text in declared["choices"].split(",")]
    choices = tuple(dict.fromkeys(_value(text, index + 1) for text in texts if text))
    if not choices:
        raise TunableError(f"line {index + 1}: tunable {name} has no values to choose from; {_HINT}")
    below = next((each for each in range(index + 1, len(lines)) if not _COMMENT.match(lines[each])), None)
    definition = _definition(name, lines[below]) if below is not None else None
    if below is None or definition is None:
        raise TunableError(f"line {index + 1}: no definition of {name} follows; {_HINT}")
    offset = starts[index] + match.start("rest")
    first = (offset + declared.start("value"), offset + declared.end("value"))
    second = (starts[below] + definition.start("value"), starts[below] + definition.end("value"))
    _value(declared["value"], index + 1)
    return Tunable(name, choices, _value(definition["value"], below + 1), (first, second))


def _definition(name: str, line: str) -> re.Match[str] | None:
    value = r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s;/#,()]+)"
    forms = (
        rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+{value}[ \t]*(?:/[/*].*)?\r?$",
        rf"^[ \t]*(?:[\w:]+[ \t]+)+{name}[ \t]*=[ \t]*{value}[ \t]*;.*$",
        rf"^[ \t]*{name}[ \t]*(?::[^=]*)?=[ \t]*{value}[ \t]*(?:#.*)?\r?$",
    )
    return next((match for form in forms if (match := re.match(form, line)) is not None), None)


def _value(text: str, line: int) -> Value:
    if _NUMBER.match(text):
        digits = text.rstrip("uUlL")
        return int(digits, 16) if "x" in digits.lower() else int(digits)
    try:
        return float(text)
    except ValueError:
        if _WORD.match(text):
            return text
        raise TunableError(f"line {line}: {text!r} is neither a number nor a word") from None


def _constraint(text: str, line: int) -> Constraint:
    try:
        return Constraint.read(text)
    except ConstraintError as error:
        raise TunableError(f"line {line}: {error}") from error
