"""Fitting a prompt into a model's context: what is cut, in which order, and that it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .request import Message, Request, Section

CHARACTERS_PER_TOKEN = 3.0
"""Of source code; an estimate for servers that do not count for us. Real code has 2.5 to 4."""

SMALLEST_PIECE = 200
"""Characters of a section below which it is dropped rather than shortened."""


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Returns a rough count of tokens, with some for the chat template."""
    characters = sum(len(message.content) for message in messages)
    return int(characters / CHARACTERS_PER_TOKEN) + 8 * len(messages) + 8


@dataclass
class Fitted:
    """A request that fits.

    Attributes:
        messages: As sent; plain, without sections.
        max_tokens: Of the answer.
        cuts: One line for each thing that was left out or lowered.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    cuts: tuple[str, ...] = ()


@dataclass
class _Piece:
    """A run of text in a message under construction; ``section`` is None for what must stay."""

    message: int
    text: str
    section: Section | None
    removed: int = 0


@dataclass
class _Draft:
    roles: list[str]
    pieces: list[_Piece] = field(default_factory=list)

    @classmethod
    def of(cls, request: Request) -> _Draft:
        draft = cls([message.role for message in request.messages])
        for index, message in enumerate(request.messages):
            position = 0
            for section in message.sections:
                draft.pieces.append(_Piece(index, message.content[position : section.start], None))
                draft.pieces.append(_Piece(index, message.content[section.start : section.end], section))
                position = section.end
            draft.pieces.append(_Piece(index, message.content[position:], None))
        if not any(piece.section for piece in draft.pieces):
            longest = max(draft.pieces, key=lambda piece: len(piece.text))
            longest.section = Section("prompt", 0, len(longest.text), 1)
        return draft

    def messages(self) -> tuple[Message, ...]:
        texts = ["".join(piece.text for piece in self.pieces if piece.message == i) for i in range(len(self.roles))]
        return tuple(Message(role, text) for role, text in zip(self.roles, texts, strict=True))

    def shorten(self, characters: int, above: int) -> bool:
        """Takes ``characters`` from sections of a priority over ``above``; returns whether any were."""
        candidates = [piece for piece in self.pieces if piece.section and piece.section.priority > above and piece.text]
        if not candidates:
            return False
        # Of equal priority the last goes first: inspirations are sorted from best to worst.
        priority = max(piece.section.priority for piece in candidates if piece.section)
        piece = [piece for piece in candidates if piece.section and piece.section.priority == priority][-1]
        before = len(piece.text)
        piece.text = _shortened(piece, characters)
        piece.removed += before - len(piece.text)
        return True

    def cuts(self) -> list[str]:
        return [
            f"{piece.section.name}: {piece.removed} characters"
            for piece in self.pieces
            if piece.section and piece.removed
        ]


def _shortened(piece: _Piece, characters: int) -> str:
    assert piece.section is not None
    keep = len(piece.text) - characters - 60
    if piece.section.whole or keep < SMALLEST_PIECE:
        return ""
    # The first error of a log matters most, and its end holds the summary.
    head = keep * 2 // 3
    left_out = len(piece.text) - keep
    return f"{piece.text[:head]}\n[... {left_out} characters left out ...]\n{piece.text[head + left_out :]}"


def fit(request: Request, limit: int, count: Callable[[Sequence[Message]], int]) -> Fitted:
    """Cuts a request down to a context of ``limit`` tokens.

    First go the sections above priority 1, highest first; then the answer is allowed less, down to
    a quarter of what was asked; then sections of priority 1 (the parent) are shortened.

    Args:
        request: What is to be asked.
        limit: Tokens of prompt and answer together.
        count: Tokens of a prompt.
    """
    draft = _Draft.of(request)
    messages = draft.messages()
    tokens = count(messages)
    least = max(1, min(request.max_tokens, max(64, request.max_tokens // 4)))
    for above, answer in ((1, request.max_tokens), (0, least)):
        while tokens + answer > limit:
            per_token = max(1.0, sum(len(message.content) for message in messages) / max(1, tokens))
            if not draft.shorten(int((tokens + answer - limit) * per_token * 1.02) + 1, above):
                break
            messages = draft.messages()
            tokens = count(messages)
    max_tokens = max(1, min(request.max_tokens, limit - tokens))
    cuts = draft.cuts()
    if max_tokens < request.max_tokens:
        cuts.append(f"max_tokens: {request.max_tokens} -> {max_tokens}")
    return Fitted(messages, max_tokens, tuple(cuts))
