"""Mutation by random edits of the syntax tree, without a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fitness import Kernel, Language

from .operator import Brief, Parent, Proposal
from .syntax import Kind, Tree, applied, parse
from .syntax.edits import KINDS, WEIGHTS

_MAX_DRAWS = 40


class SyntacticMutation:
    """Applies one or a few random edits to its parent's syntax tree.

    The kinds of edits are GEVO's on statements, operands, constants and operators (Liou 2020,
    https://arxiv.org/abs/2004.08140), which know nothing of what the code means, and restructurings as a
    performance engineer makes them, which keep the meaning as far as a tree can tell. An edit that changes nothing or
    adds a syntax error is drawn again, since that costs no evaluation; nothing is compiled or run here.

    Args:
        weights: How often each kind is drawn, by name; kinds that are not named keep their default, 0 switches a kind
            off. The names are the keys of `WEIGHTS`.
        kinds: The only kinds that may be drawn; None for all. GEVO's alone make the arm of published random edits.
        initial_edits: Edits of a parent that is a seed, i.e. has no ancestors (GEVO: 3).
        more_edits: Probability of a further edit after each one.
        max_source_bytes: Edits that make a source longer than this are drawn again.

    Raises:
        ValueError: A kind is unknown, a weight is negative or not finite, all weights are zero, or a number is
            out of its range.
    """

    name = "syntactic_mutation"
    arity = 1
    memory = frozenset({"ancestors"})
    takes_failures = False

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        kinds: Sequence[str] | None = None,
        initial_edits: int = 3,
        more_edits: float = 0.3,
        max_source_bytes: int = 16_000,
    ) -> None:
        unknown = sorted({*(weights or {}), *(kinds or ())} - {*WEIGHTS})
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no kind of edit; known are {', '.join(WEIGHTS)}")
        allowed = {*WEIGHTS} if kinds is None else {*kinds}
        drawn = {**WEIGHTS, **(weights or {})}
        self.weights = {name: weight if name in allowed else 0.0 for name, weight in drawn.items()}
        proper = all(math.isfinite(weight) and weight >= 0 for weight in self.weights.values())
        if not proper or not any(self.weights.values()):
            raise ValueError("weights: at least one must be positive, and none negative or not finite")
        if initial_edits < 1 or not 0 <= more_edits < 1 or max_source_bytes < 1:
            raise ValueError("initial_edits must be at least 1, more_edits in [0, 1), max_source_bytes positive")
        self.initial_edits = initial_edits
        self.more_edits = more_edits
        self.max_source_bytes = max_source_bytes

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns the parent with some edits, or a proposal without a kernel where none applies."""
        parent = parents[0].kernel
        if not is_text(parent.source):
            return Proposal(None, self.name, (parent.digest,), "no_edit", "the source is no valid Unicode")
        grammar = grammar_of(brief.language)
        source, notes = parent.source, list[str]()
        seen = {source}
        for _ in range(self._count(brief, rng)):
            found = self._edited(Form(source, grammar, parent.entry_point), seen, rng)
            if found is None:
                break
            source, note = found
            seen.add(source)
            notes.append(note)
        if not notes:
            return Proposal(None, self.name, (parent.digest,), "no_edit", "no edit applies to this source")
        kernel = Kernel(source, parent.language, parent.entry_point)
        return Proposal(kernel, self.name, (parent.digest,), note="; ".join(notes))

    def _count(self, brief: Brief, rng: np.random.Generator) -> int:
        count = 1 if brief.memory.ancestors else self.initial_edits
        while rng.random() < self.more_edits:
            count += 1
        return count

    def _edited(self, form: Form, seen: set[str], rng: np.random.Generator) -> tuple[str, str] | None:
        """Returns a source with one edit, and what it was; never a source that was ``seen``."""
        kinds = {name: kind for name, kind in KINDS.get(form.grammar, {}).items() if self.weights[name]}
        if not kinds:
            return None
        tree = parse(form.source, form.grammar)
        for _ in range(_MAX_DRAWS):
            if not kinds:
                return None
            name = _drawn(kinds, self.weights, rng)
            found = _applied(kinds[name], tree, form.entry_point, rng)
            if found is None:
                kinds.pop(name)
                continue
            new, note = found
            if new is not None and new not in seen and len(new) <= max(self.max_source_bytes, len(form.source)):
                return new, f"{name}: {note}"
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """A source on its way from parent to child."""

    source: str
    grammar: str
    entry_point: str


def is_text(source: str) -> bool:
    """Whether a source can be written to a file: it has no half of a surrogate pair."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True


def grammar_of(language: Language) -> str:
    """Returns the grammar that reads a language's dialect: that of CUDA, HIP or OpenCL where the language says C++."""
    return {"cuda": "cuda", "hip": "cuda", "opencl": "opencl"}.get(language.name, language.grammar)


def _drawn(kinds: Mapping[str, Kind], weights: Mapping[str, float], rng: np.random.Generator) -> str:
    names = list(kinds)
    edges = np.cumsum([weights[name] for name in names])
    return names[int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))]


def _applied(kind: Kind, tree: Tree, entry_point: str, rng: np.random.Generator) -> tuple[str | None, str] | None:
    """Returns the edited source (None where it is none) and a note; None when the kind finds nothing to do."""
    edit = kind(tree, rng)
    return None if edit is None else (applied(edit, tree, entry_point), edit.note)
