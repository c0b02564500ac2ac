"""SEARCH/REPLACE edits: reading them in their dialects, and applying all of them or none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .outcome import Outcome

_SEARCH = re.compile(r"^\s*(?:<{5,9}|-{5,9})\s*(?:SEARCH|ORIGINAL|HEAD|OLD)\b.*$", re.IGNORECASE)
_DIVIDER = re.compile(r"^\s*={5,9}\s*$")
_REPLACE = re.compile(r"^\s*(?:>{5,9}|\+{5,9})\s*(?:REPLACE|UPDATED?|NEW|[\w./-]*)\s*$", re.IGNORECASE)
_ANY_SEARCH = re.compile(r"(?:<|-{5})\s*(?:SEARCH|ORIGINAL)\b", re.IGNORECASE)
_ANY_REPLACE = re.compile(r"(?:>|\+{5})\s*(?:REPLACE|UPDATED)\b", re.IGNORECASE)
_LEADING_REPLACE = re.compile(r"\s*(?:>+|\+{5,})\s*(?:REPLACE|UPDATED)\b", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})[\w+#-]*\s*$")
_HUNK = re.compile(r"^@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)?)? ?@@?")


@dataclass(frozen=True, slots=True)
class Edit:
    """Text to be found in the parent, and what takes its place; both without a final newline."""

    search: str
    replace: str


class EditFaultError(Exception):
    """Edits that cannot be read or applied.

    Attributes:
        outcome: One of the ``DIFF_…`` outcomes.
        reason: One line.
    """

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


def edits(text: str) -> list[Edit]:
    """Returns the edits in an answer, in order; none when it holds no marker of one.

    Raises:
        EditFaultError: A block is begun and not ended, or ended and not begun, or a marker does not
            stand on a line of its own: then it cannot be known how many edits were meant.
    """
    lines = text.split("\n")
    if not any(_SEARCH.match(line) for line in lines):
        if _ANY_SEARCH.search(text):
            raise EditFaultError(Outcome.DIFF_MALFORMED, "the SEARCH marker does not stand on a line of its own")
        return _hunks(lines)
    found = _blocks(lines)
    loose = [expression for expression in (_ANY_SEARCH, _ANY_REPLACE) if len(expression.findall(text)) > len(found)]
    if loose:
        raise EditFaultError(
            Outcome.DIFF_MALFORMED, "there are more markers than blocks; put each on a line of its own"
        )
    return found


def has_markers(code: str) -> bool:
    """Whether a marker of an edit stands in a source."""
    return any(_SEARCH.match(line) or _LEADING_REPLACE.match(line) for line in code.split("\n"))


def _blocks(lines: Sequence[str]) -> list[Edit]:
    """Returns the SEARCH/REPLACE blocks.

    Raises:
        EditFaultError: A block is begun and not ended, or ended and not begun.
    """
    found: list[Edit] = []
    part: str = "outside"
    search: list[str] = []
    replace: list[str] = []
    for line in lines:
        if _SEARCH.match(line):
            if part != "outside":
                raise EditFaultError(
                    Outcome.DIFF_MALFORMED, "a SEARCH begins before the block in front of it has ended"
                )
            part, search, replace = "search", [], []
        elif part == "search" and _DIVIDER.match(line):
            part = "replace"
        elif part == "replace" and _REPLACE.match(line):
            found.append(Edit(_text(search), _text(replace)))
            part = "outside"
        elif part == "search":
            search.append(line)
        elif part == "replace":
            replace.append(line)
        elif _ANY_REPLACE.search(line):
            raise EditFaultError(Outcome.DIFF_MALFORMED, "a REPLACE ends a block that has no SEARCH line")
    if part != "outside":
        missing = "=======" if part == "search" else ">>>>>>> REPLACE"
        raise EditFaultError(Outcome.DIFF_MALFORMED, f"a block has no {missing} line")
    return found


def _text(lines: list[str]) -> str:
    """Joins the lines of a part, without fences around them."""
    inner = lines
    while inner and not inner[0].strip() and len(inner) > 1:
        inner = inner[1:]
    if len(inner) >= 2 and _FENCE.match(inner[0]) and _FENCE.match(inner[-1]):
        return "\n".join(inner[1:-1])
    return "\n".join(lines)


def _hunks(lines: Sequence[str]) -> list[Edit]:
    """Returns the hunks of a unified diff as edits; line numbers are not believed."""
    found: list[Edit] = []
    current: tuple[list[str], list[str]] | None = None
    for line in [*lines, "@@ end @@"]:
        if _HUNK.match(line) or _FENCE.match(line) or line.startswith(("--- ", "+++ ")):
            if current and current[0] != current[1]:
                found.append(Edit("\n".join(current[0]), "\n".join(current[1])))
            current = ([], []) if _HUNK.match(line) else None
        elif current is not None:
            if not line.startswith("+"):
                current[0].append(line[1:])
            if not line.startswith("-"):
                current[1].append(line[1:])
    return found


def applied(parent: str, changes: Sequence[Edit]) -> str:
    """Applies all edits, one after the other, to a source with LF as newline.

    Raises:
        EditFaultError: One of them does not apply; then nothing of the others is returned either.
    """
    source = parent
    for number, edit in enumerate(changes, 1):
        source = _apply(source, edit, f"edit {number} of {len(changes)}")
    return source


def _apply(source: str, edit: Edit, which: str) -> str:
    if not edit.search.strip():
        raise EditFaultError(Outcome.DIFF_MALFORMED, f"{which}: SEARCH is empty, so it names no place")
    lines = source.split("\n")
    wanted = edit.search.split("\n")
    while wanted and not wanted[-1].strip():
        wanted.pop()
    while wanted and not wanted[0].strip():
        wanted.pop(0)
    for key in (str, str.rstrip, lambda line: " ".join(line.split()), lambda line: "".join(line.split())):
        places = _places(lines, wanted, key)
        if len(places) > 1:
            raise EditFaultError(
                Outcome.DIFF_AMBIGUOUS, f"{which}: SEARCH is in the parent {len(places)} times; add lines"
            )
        if places:
            replaced = _indented(edit.replace.split("\n"), wanted[0], lines[places[0]])
            kept = [] if replaced == [""] else replaced
            return "\n".join([*lines[: places[0]], *kept, *lines[places[0] + len(wanted) :]])
    inside = edit.search.strip()
    count = source.count(inside)
    if count > 1:
        raise EditFaultError(Outcome.DIFF_AMBIGUOUS, f"{which}: SEARCH is in the parent {count} times; add lines")
    if count == 1:
        return source.replace(inside, edit.replace.strip())
    near = difflib.get_close_matches(wanted[0].strip(), [line.strip() for line in lines if line.strip()], 1, 0.5)
    hint = f"; the nearest line is {near[0][:80]!r}" if near else ""
    raise EditFaultError(
        Outcome.DIFF_NOT_FOUND, f"{which}: SEARCH {wanted[0].strip()[:80]!r} is not in the parent{hint}"
    )


def _places(lines: Sequence[str], wanted: Sequence[str], key: object) -> list[int]:
    assert callable(key)
    keyed, target = [key(line) for line in lines], [key(line) for line in wanted]
    return [i for i in range(len(keyed) - len(target) + 1) if keyed[i : i + len(target)] == target]


def _indented(replacement: list[str], told: str, real: str) -> list[str]:
    """Moves a replacement to the parent's indentation when the search text had another one."""
    told_indent, real_indent = told[: len(told) - len(told.lstrip())], real[: len(real) - len(real.lstrip())]
    if told_indent == real_indent:
        return replacement
    moved = []
    for line in replacement:
        if not line.strip():
            moved.append("")
        elif line.startswith(told_indent):
            moved.append(real_indent + line[len(told_indent) :])
        else:
            moved.append(line)
    return moved
