"""Crossover of two sources by their edits since a common ancestor, without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fitness import Kernel

from .operator import Brief, Parent, Proposal
from .syntactic_mutation import grammar_of, is_text
from .syntax import applied, parse
from .syntax.edit import is_sound
from .syntax.edits import KINDS
from .syntax.hunks import Genomes, genomes, nearest_base, recombined
from .syntax.splice import splice

_MAX_DRAWS = 8


class SyntacticCrossover:
    """Recombines the edits in which two parents differ from the ancestor that explains both best.

    GEVO's crossover (Liou 2020, https://arxiv.org/abs/2004.08140): what both have is kept, the rest is shuffled and
    cut at one point. A kernel is its source, so its edits are recovered by comparing statements. Parents too
    different for that, or without anything to recombine, exchange a loop nest or a statement.

    Args:
        min_shared: Share of the base's statements that both parents must still have; below it they count as unrelated.

    Raises:
        ValueError: ``min_shared`` is not between 0 and 1.
    """

    name = "syntactic_crossover"
    arity = 2
    memory = frozenset({"ancestors"})
    takes_failures = False

    def __init__(self, min_shared: float = 0.2) -> None:
        if not 0 <= min_shared <= 1:
            raise ValueError(f"min_shared must be between 0 and 1, is {min_shared}")
        self.min_shared = min_shared

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns a child that is neither parent, or a proposal without a kernel where there is none."""
        first, second = parents[0].kernel, parents[1].kernel
        digests = (first.digest, second.digest)
        grammar = grammar_of(brief.language)
        if grammar not in KINDS or not (is_text(first.source) and is_text(second.source)):
            return Proposal(None, self.name, digests, "no_edit", "the parents are no sources that can be parsed")
        ancestors = [ancestor.kernel.source for ancestor in brief.memory.ancestors]
        ancestors = [source for source in ancestors if is_text(source)]
        base = nearest_base(ancestors, first.source, second.source, grammar)
        pair = genomes(base, first.source, second.source, grammar)
        known = {first.source, second.source, *ancestors}
        for _ in range(_MAX_DRAWS if self._is_related(pair) and len(pair.different) > 1 else 0):
            child = recombined(pair, grammar, rng)
            if child not in known and self._is_sound(child, first, grammar):
                note = f"{len(pair.shared)} shared edits, {len(pair.different)} different ones recombined"
                return Proposal(Kernel(child, first.language, first.entry_point), self.name, digests, note=note)
        tree, donor = parse(first.source, grammar), parse(second.source, grammar)
        for _ in range(_MAX_DRAWS):
            edit = splice(tree, donor, rng)
            child_or_none = applied(edit, tree, first.entry_point) if edit is not None else None
            if edit is not None and child_or_none is not None and child_or_none not in known:
                kernel = Kernel(child_or_none, first.language, first.entry_point)
                return Proposal(kernel, self.name, digests, note=edit.note)
        return Proposal(None, self.name, digests, "no_edit", "the parents have nothing to recombine")

    def _is_sound(self, child: str, first: Kernel, grammar: str) -> bool:
        return is_sound(parse(child, grammar), parse(first.source, grammar), first.entry_point)

    def _is_related(self, pair: Genomes) -> bool:
        changed = {unit for hunk in (*pair.shared, *pair.different) for unit in range(hunk.start, hunk.end)}
        return len(pair.units) - len(changed) >= self.min_shared * max(1, len(pair.units))
