"""Finding the pieces of code in an answer: fenced, half fenced, or bare."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([^\n`]*?)[ \t]*$")

_LATE_FENCE = re.compile(r"^[^`~]*\S[ \t]*(`{3,}|~{3,})([\w+#-]+)[ \t]*$")
"""An opening fence behind words, as in ``Here it is: ```cpp``."""

_CODE_START = re.compile(
    r"^\s*(#\s*(include|define|pragma|if)|//|/\*|extern\b|template\b|using\b|namespace\b|static\b|inline\b|struct\b"
    r"|void\b|__global__|import\s|from\s+\w+\s+import|@\w|def\s|class\s)"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an answer that may be code.

    Attributes:
        code: Its lines, without fences.
        label: The language that the fence names, in lower case; may be empty.
        closed: Whether it surely ends where it ends: by a closing fence, or by words that follow it.
    """

    code: str
    label: str = ""
    closed: bool = True


def _opening(mark: str, info: str) -> tuple[str, str, list[str]]:
    """Returns mark, label, and the code that stands on the fence's own line."""
    label, _, rest = info.partition(" ")
    first = [rest] if re.search(r"[;{(#]", rest) and not rest.startswith("{") else []
    return mark, label.strip("{}.").lower(), first


def fenced(text: str) -> list[Piece]:
    """Returns the pieces between fences, in order; the last may be unclosed.

    A fence with a language inside an open one of the same kind begins a new piece: closing fences
    are forgotten, and no kernel contains such a line. Inside a longer fence it is content.
    """
    pieces: list[Piece] = []
    mark, label = "", ""
    lines: list[str] = []
    for line in text.split("\n"):
        match = _FENCE.match(line) or (_LATE_FENCE.match(line) if not mark else None)
        if match is None:
            glued = bool(mark) and line.rstrip().endswith(mark) and line.count(mark[0]) == len(mark)
            lines.append(line.rstrip().removesuffix(mark) if glued else line)
            if glued:
                pieces.append(Piece("\n".join(lines), label))
                mark, lines = "", []
            continue
        ticks, info = match.group(1), match.group(2)
        if not mark:
            mark, label, lines = _opening(ticks, info)
        elif ticks[0] == mark[0] and len(ticks) >= len(mark) and not info:
            pieces.append(Piece("\n".join(lines), label))
            mark, lines = "", []
        elif ticks[0] == mark[0] and len(ticks) == len(mark):
            pieces.append(_open_ended(lines, label))
            mark, label, lines = _opening(ticks, info)
        else:
            lines.append(line)
    if mark:
        pieces.append(_open_ended(lines, label))
    return [piece for piece in pieces if piece.code.strip()]


def _open_ended(lines: list[str], label: str = "") -> Piece:
    """Returns code whose end is not marked, without the words that follow it."""
    end = len(lines)
    while end > 0 and _is_prose(lines[end - 1]):
        end -= 1
    return Piece("\n".join(lines[:end]), label, closed=any(line.strip() for line in lines[end:]))


def bare(text: str) -> list[Piece]:
    """Returns the code of a text without usable fences: from the first to the last line that looks like it."""
    lines = [line for line in text.split("\n") if not _FENCE.match(line)]
    start = next((i for i, line in enumerate(lines) if _CODE_START.match(line)), None)
    if start is None:
        return []
    piece = _open_ended(lines[start:])
    return [piece] if piece.code else []


def _is_prose(line: str) -> bool:
    """Whether a line after the code is a remark about it."""
    stripped = line.strip()
    if not stripped:
        return True
    if line[:1] in " \t" or stripped[-1] in ";{}),:]" or stripped.startswith(("#", "//", "}", "@", "return")):
        return False
    return len(stripped.split()) >= 3 and not re.search(r"[=;{}\[\]]", stripped)


def pieces(text: str) -> list[Piece]:
    """Returns everything in an answer that may be code, the fenced pieces first."""
    found = fenced(text)
    nested = [inner for piece in found if piece.label in ("markdown", "md", "text", "") for inner in fenced(piece.code)]
    # A lone fence closes code that began without one as often as it opens code that never ends.
    return [*found, *nested, *_unfenced(text)]


def _unfenced(text: str) -> list[Piece]:
    """Returns code in front of a lone fence, which closes it, or in a text without fences."""
    lines = text.split("\n")
    marks = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    if not marks:
        return bare(text)
    return [replace(piece, closed=True) for piece in bare("\n".join(lines[: marks[0]]))] if len(marks) % 2 else []
