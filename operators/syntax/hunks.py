"""GEVO's genome on sources: what a kernel differs from an ancestor in, as a list of hunks that can be recombined.

Liou 2020, https://arxiv.org/abs/2004.08140: a genome is a list of edits of a base program; a child takes the edits that
both parents have, and a shuffled part of those that only one of them has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

import numpy as np

from .edits.draw import shuffled
from .tree import parse

_CUTS = ("_statement", "declaration", "_definition", "_loop", "block", "preproc_include", "preproc_def", "preproc_call")
_MAX_ANCESTORS = 6


@dataclass(frozen=True, slots=True)
class Hunk:
    """Units ``start`` … ``end`` of the base give way to ``text``; ``key`` is the text without white space."""

    start: int
    end: int
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Genomes:
    """Two kernels as edits of one base.

    Attributes:
        units: The base, cut where statements begin; joined they are its source.
        shared: Hunks that both kernels have.
        different: Hunks that only one of them has, in the order of the text, the first kernel's first.
    """

    units: tuple[str, ...]
    shared: tuple[Hunk, ...]
    different: tuple[Hunk, ...]


def genomes(base: str, one: str, other: str, grammar: str) -> Genomes:
    """Returns two sources as edits of ``base``."""
    first, second = hunks(base, one, grammar), hunks(base, other, grammar)
    keys = {(hunk.start, hunk.end, hunk.key) for hunk in first} & {(hunk.start, hunk.end, hunk.key) for hunk in second}
    shared = tuple(hunk for hunk in first if (hunk.start, hunk.end, hunk.key) in keys)
    different = tuple(hunk for hunk in (*first, *second) if (hunk.start, hunk.end, hunk.key) not in keys)
    return Genomes(units(base, grammar), shared, different)


def nearest_base(ancestors: Sequence[str], one: str, other: str, grammar: str) -> str:
    """Returns the source of which both kernels are the smallest edits: an ancestor, or the first kernel itself."""
    kept = list(dict.fromkeys([*ancestors[: _MAX_ANCESTORS - 1], *ancestors[-1:]]))
    candidates = [source for source in [*kept, one] if source != other]
    if not candidates:
        return one

    def distance(base: str) -> int:
        return len(hunks(base, one, grammar)) + len(hunks(base, other, grammar))

    return min(candidates, key=distance)  # the first of equals: the nearest ancestor


def recombined(pair: Genomes, grammar: str, rng: np.random.Generator) -> str:
    """Returns a child: the shared hunks, and a shuffled part of the others, without those that do not fit.

    Hunks that overlap one already taken are skipped, and so are those that would add syntax errors.
    """
    order = shuffled(pair.different, rng)
    cut = int(rng.integers(1, len(order) + 1)) if order else 0
    taken = list(pair.shared)
    for hunk in order[:cut]:
        if not any(_collide(hunk, other) for other in taken):
            taken.append(hunk)
    errors = parse("".join(pair.units), grammar).num_errors
    whole = _joined(pair.units, taken)
    if parse(whole, grammar).num_errors <= errors:
        return whole
    kept: list[Hunk] = []
    for hunk in taken:
        if parse(_joined(pair.units, [*kept, hunk]), grammar).num_errors <= errors:
            kept.append(hunk)
    return _joined(pair.units, kept)


@lru_cache(maxsize=256)
def hunks(base: str, source: str, grammar: str) -> tuple[Hunk, ...]:
    """Returns what must be replaced in ``base`` to give ``source``."""
    old, new = units(base, grammar), units(source, grammar)
    matcher = SequenceMatcher(None, [_key(unit) for unit in old], [_key(unit) for unit in new], autojunk=False)
    found = []
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal":
            text = "".join(new[first:last])
            found.append(Hunk(start, end, text, _key(text)))
    return tuple(found)


@lru_cache(maxsize=128)
def units(source: str, grammar: str) -> tuple[str, ...]:
    """Returns a source cut into pieces at the beginning and end of every statement; joined they are the source."""
    tree = parse(source, grammar)
    cuts = {0, len(tree.source)}
    for kind, nodes in tree.by_type.items():
        if kind.endswith(_CUTS):
            cuts.update(position for node in nodes for position in (node.start_byte, node.end_byte))
        elif kind == "compound_statement":
            cuts.update(position for node in nodes for position in (node.start_byte + 1, node.end_byte - 1))
    ordered = sorted(cuts)
    try:
        return tuple(
            tree.source[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ordered) if start < end
        )
    except UnicodeDecodeError:  # a broken source whose tree has nodes within a character
        return tuple(source.splitlines(keepends=True))


def _key(text: str) -> str:
    return " ".join(text.split())


def _collide(one: Hunk, other: Hunk) -> bool:
    return (one.start < other.end and other.start < one.end) or one.start == other.start


def _joined(base: Sequence[str], taken: Sequence[Hunk]) -> str:
    pieces: list[str] = []
    position = 0
    for hunk in sorted(taken, key=lambda each: (each.start, each.end)):
        pieces += [*base[position : hunk.start], hunk.text]
        position = hunk.end
    return "".join([*pieces, *base[position:]])
