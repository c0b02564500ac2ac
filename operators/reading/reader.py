"""From a model's answer to a kernel's source, or to the name of what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ..contract import Contract
from .checks import fault, looks_like_code, with_c_linkage
from .diffs import EditFaultError, applied, edits, has_markers
from .fences import Piece, pieces
from .mending import headings_as_comments, mended, odd_characters, without_own_headers
from .outcome import NEAREST, Outcome, Reading
from .salvage import salvaged_c, salvaged_python, whole
from .thinking import without_thinking

Mode = Literal["full", "diff"]

_HEADER = re.compile(r"^#include <[^>\n]+>", re.MULTILINE)

LONGEST_ANSWER = 1_000_000
"""Characters of an answer, thoughts included."""

LONGEST_SOURCE = 100_000
"""Characters of a kernel; the longest published ones have a tenth."""


def read_answer(
    text: str, wanted: Contract, parent: str | None = None, mode: Mode = "full", finish_reason: str = "stop"
) -> Reading:
    """Reads an answer. Never raises, and never applies half of a diff.

    Args:
        text: What the model said.
        wanted: What a kernel must look like.
        parent: Source that a diff refers to, and that the answer must differ from.
        mode: Which form was asked for. The other one is read too, and the note says so.
        finish_reason: ``"length"`` when the model was cut off.
    """
    if len(text) > LONGEST_ANSWER:
        return Reading(Outcome.TOO_LONG, reason=f"{len(text)} characters, at most {LONGEST_ANSWER} are read")
    cut_off = finish_reason == "length"
    rest, unclosed = without_thinking(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not rest.strip():
        return _nothing(text, unclosed, cut_off)
    reading = _read(rest, wanted, parent, mode, cut_off=cut_off)
    if reading.source is None and unclosed:
        return Reading(Outcome.UNFINISHED_THINKING, reason="the thoughts were never closed, so there is no answer")
    return reading


def _read(rest: str, wanted: Contract, parent: str | None, mode: Mode, *, cut_off: bool) -> Reading:
    """Reads what is left without the thoughts, whichever of the two forms it has."""
    full = _read_whole(rest, wanted, parent, cut_off)
    edited = _read_edits(rest, wanted, parent, cut_off) if parent is not None else None
    if edited is not None and (edited.source is not None or full.source is None):
        return edited if mode == "diff" else _noted(edited, "a diff instead of a whole kernel")
    if mode == "full":
        return full
    if full.outcome in (Outcome.NO_ENTRY_POINT, Outcome.NO_CODE):
        return Reading(Outcome.DIFF_MALFORMED, reason="there is neither a SEARCH/REPLACE block nor a whole kernel")
    return _noted(full, "a whole kernel instead of a diff")


def _noted(reading: Reading, note: str) -> Reading:
    """Adds a remark to a reading that has a source."""
    if reading.source is None:
        return reading
    return replace(reading, note="; ".join(filter(None, (note, reading.note))))


def _nothing(text: str, unclosed: bool, cut_off: bool) -> Reading:
    if unclosed:
        return Reading(Outcome.UNFINISHED_THINKING, reason="the thoughts were never closed, so there is no answer")
    if cut_off:
        return Reading(Outcome.TRUNCATED, reason="the token limit was reached before the answer began")
    return Reading(Outcome.EMPTY, reason="nothing but thoughts" if text.strip() else "the answer is empty")


def _read_edits(rest: str, wanted: Contract, parent: str, cut_off: bool) -> Reading | None:
    """Applies the edits in an answer to the parent; None when there are none."""
    newline = "\r\n" if "\r\n" in parent else "\n"
    plain = parent.replace("\r\n", "\n")
    try:
        changes = edits(rest)
        if not changes:
            return None
        source = applied(plain, changes)
    except EditFaultError as error:
        incomplete = cut_off and error.outcome is Outcome.DIFF_MALFORMED
        return Reading(Outcome.TRUNCATED if incomplete else error.outcome, reason=error.reason)
    if len(source) > LONGEST_SOURCE:
        return Reading(Outcome.TOO_LONG, reason=f"{len(source)} characters, at most {LONGEST_SOURCE} are read")
    # Nothing is salvaged here: leaving out what an edit broke would be half an edit.
    code, remarks = mended(source)
    reading = _accepted(code, wanted, plain, label="", remarks=remarks)
    return reading if reading.source is None else replace(reading, source=reading.source.replace("\n", newline))


def _read_whole(rest: str, wanted: Contract, parent: str | None, cut_off: bool) -> Reading:
    """Returns the last whole kernel of an answer, or its nearest miss."""
    found = pieces(rest)
    # Only the last piece can have lost its end.
    lost = [cut_off and piece is found[-1] and not piece.closed for piece in found]
    readings = [
        _judged(piece.code.strip("\n") + "\n", wanted, parent, label=piece.label, cut_off=cut)
        for piece, cut in zip(found, lost, strict=True)
    ]
    kernels = [(piece, reading) for piece, reading in zip(found, readings, strict=True) if reading.source is not None]
    # Of several versions the last is meant; one whose end is marked is surely complete.
    if kernels:
        closed = [reading for piece, reading in kernels if piece.closed]
        return _with_headers((closed or [reading for _, reading in kernels])[-1], found, wanted)
    if cut_off and (not found or lost[-1]):
        return Reading(Outcome.TRUNCATED, reason="the answer ends in the middle: the token limit was reached")
    nearest = min(readings, key=lambda reading: NEAREST.index(reading.outcome), default=None)
    if nearest is None or nearest.outcome is Outcome.NO_CODE:
        return Reading(Outcome.NO_CODE, reason="there is no code in the answer")
    return nearest


def _with_headers(reading: Reading, found: Sequence[Piece], wanted: Contract) -> Reading:
    """Adds the headers of an earlier version to one that was written without any."""
    if wanted.family != "c" or reading.source is None or "#include" in reading.source:
        return reading
    headers = dict.fromkeys(line for piece in found for line in _HEADER.findall(piece.code))
    if not headers:
        return reading
    source = "\n".join([*headers, "", reading.source])
    return _noted(replace(reading, source=source), "took over the headers of an earlier version")


def _judged(code: str, wanted: Contract, parent: str | None, *, label: str = "", cut_off: bool = False) -> Reading:
    """Mends, salvages and judges one piece of an answer."""
    if len(code) > LONGEST_SOURCE:
        return Reading(Outcome.TOO_LONG, reason=f"{len(code)} characters, at most {LONGEST_SOURCE} are read")
    code, remarks = mended(code)
    python = wanted.family == "python"
    entry_point = wanted.entry_point
    if python:
        code, dropped = salvaged_python(code, entry_point, cut_off)
    else:
        code, own = without_own_headers(code)
        code, headings = headings_as_comments(code)
        code, dropped = salvaged_c(code, entry_point)
        remarks += own + headings
    reading = _accepted(code, wanted, parent, label=label, remarks=[*remarks, *dropped])
    if reading.source is not None and cut_off and not dropped and not whole(code, entry_point, python):
        return Reading(Outcome.TRUNCATED, reason="the answer ends in the middle: the token limit was reached")
    return reading


def _accepted(code: str, wanted: Contract, parent: str | None, *, label: str, remarks: list[str]) -> Reading:
    """Judges code that is not to be changed any more, but for a forgotten ``extern "C"``."""
    refusal = _refusal(code, wanted, label)
    if refusal is not None:
        return refusal
    code, added = with_c_linkage(code, wanted)
    if parent is not None and code.split() == parent.split():
        return Reading(Outcome.UNCHANGED, reason="the kernel is the parent's, to the letter: change something")
    return Reading(Outcome.PARSED, code, note="; ".join([*remarks, *added]))


def _refusal(code: str, wanted: Contract, label: str) -> Reading | None:
    """Returns what keeps a piece of code from being a kernel."""
    found = fault(code, label, wanted)
    if found is not None:
        outcome, reason = found
        if outcome is Outcome.NO_ENTRY_POINT and not looks_like_code(code):
            return Reading(Outcome.NO_CODE, reason="there is no code in the answer")
        return Reading(outcome, reason=reason)
    if has_markers(code):
        return Reading(Outcome.DIFF_MALFORMED, reason="there are SEARCH/REPLACE markers in the code")
    odd = odd_characters(code, wanted.family == "python")
    return Reading(Outcome.ODD_CHARACTERS, reason=f"the code holds {odd[:20]!r}: write plain ASCII") if odd else None
