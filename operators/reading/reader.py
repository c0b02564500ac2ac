"""From a model's answer to a kernel's source, or to the name of what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..contract import Contract
from .checks import fault, looks_like_code, with_c_linkage
from .diffs import Edit, EditFaultError, applied, edits
from .fences import Piece, pieces
from .mending import mended, odd_characters
from .outcome import NEAREST, Outcome, Reading
from .thinking import without_thinking

Mode = Literal["full", "diff"]

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
    cut_off = finish_reason == "length"
    rest, unclosed = without_thinking(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not rest.strip():
        return _nothing(text, unclosed, cut_off)
    try:
        changes = edits(rest) if parent is not None else []
    except EditFaultError as error:
        whole = _read_whole(rest, wanted, parent, cut_off)
        if whole.source is not None:
            return whole
        return Reading(Outcome.TRUNCATED if cut_off else error.outcome, reason=error.reason)
    if changes and parent is not None:
        return _read_diff(changes, rest, wanted, parent, mode)
    whole = _read_whole(rest, wanted, parent, cut_off)
    if unclosed and whole.source is None:
        return Reading(Outcome.UNFINISHED_THINKING, reason="the thoughts were never closed, so there is no answer")
    if mode == "full":
        return whole
    if whole.source is not None:
        note = "; ".join(filter(None, ("a whole kernel instead of a diff", whole.note)))
        return Reading(Outcome.PARSED, whole.source, note=note)
    if whole.outcome in (Outcome.NO_ENTRY_POINT, Outcome.NO_CODE):
        return Reading(Outcome.DIFF_MALFORMED, reason="there is neither a SEARCH/REPLACE block nor a whole kernel")
    return whole


def _nothing(text: str, unclosed: bool, cut_off: bool) -> Reading:
    if unclosed:
        return Reading(Outcome.UNFINISHED_THINKING, reason="the thoughts were never closed, so there is no answer")
    if cut_off:
        return Reading(Outcome.TRUNCATED, reason="the token limit was reached before the answer began")
    return Reading(Outcome.EMPTY, reason="nothing but thoughts" if text.strip() else "the answer is empty")


def _read_diff(changes: Sequence[Edit], rest: str, wanted: Contract, parent: str, mode: Mode) -> Reading:
    newline = "\r\n" if "\r\n" in parent else "\n"
    plain = parent.replace("\r\n", "\n")
    try:
        source = applied(plain, changes)
    except EditFaultError as error:
        # A model that quotes its plan as a diff and then writes the whole kernel has answered too.
        whole = _read_whole(rest, wanted, parent, False)
        if whole.source is not None and "<<<<" not in whole.source:
            return whole
        return Reading(error.outcome, reason=error.reason)
    reading = _judged(Piece(source), wanted, plain)
    if reading.source is None:
        return reading
    note = [] if mode == "diff" else ["a diff instead of a whole kernel"]
    return Reading(
        Outcome.PARSED, reading.source.replace("\n", newline), note="; ".join(filter(None, (*note, reading.note)))
    )


def _read_whole(rest: str, wanted: Contract, parent: str | None, cut_off: bool) -> Reading:
    """Returns the last whole kernel of an answer, or its nearest miss."""
    found = pieces(rest)
    readings = [(piece, _judged(piece, wanted, parent)) for piece in found]
    kernels = [(piece, reading) for piece, reading in readings if reading.source is not None]
    # Of several versions the last is meant; one that its fence closes is surely complete.
    for piece, reading in reversed(kernels):
        if piece.closed and piece.fenced:
            return reading
    for piece, reading in reversed(kernels):
        if not (cut_off and piece is found[-1]):
            return reading
    if kernels or (cut_off and (not found or not found[-1].closed or not found[-1].fenced)):
        return Reading(Outcome.TRUNCATED, reason="the answer ends in the middle: the token limit was reached")
    failures = [reading for _, reading in readings]
    nearest = min(failures, key=lambda reading: NEAREST.index(reading.outcome), default=None)
    if nearest is None or nearest.outcome is Outcome.NO_CODE:
        return Reading(Outcome.NO_CODE, reason="there is no code in the answer")
    return nearest


def _judged(piece: Piece, wanted: Contract, parent: str | None) -> Reading:
    """Mends and judges one piece of code."""
    if len(piece.code) > LONGEST_SOURCE:
        return Reading(Outcome.TOO_LONG, reason=f"{len(piece.code)} characters, at most {LONGEST_SOURCE} are read")
    code, remarks = mended(piece.code)
    code = code.strip("\n") + "\n"
    found = fault(code, piece.label, wanted)
    if found is not None:
        outcome, reason = found
        if outcome is Outcome.NO_ENTRY_POINT and not looks_like_code(code):
            return Reading(Outcome.NO_CODE, reason="there is no code in the answer")
        return Reading(outcome, reason=reason)
    odd = odd_characters(code, wanted.family == "python")
    if odd:
        return Reading(Outcome.ODD_CHARACTERS, reason=f"the code holds {odd[:20]!r}: write plain ASCII")
    code, added = with_c_linkage(code, wanted)
    if parent is not None and code.split() == parent.split():
        return Reading(Outcome.UNCHANGED, reason="the kernel is the parent's, to the letter: change something")
    return Reading(Outcome.PARSED, code, note="; ".join([*remarks, *added]))
