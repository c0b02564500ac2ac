"""Splices of two sources that have no common ancestor: parts of one at the matching place of the other."""

from __future__ import annotations

import textwrap

import numpy as np
from tree_sitter import Node

from .edit import Edit
from .edits.draw import one_of, shuffled
from .loops import placed, text_of
from .tree import Tree, ancestors

_PARTS = ("for_statement", "while_statement", "if_statement", "expression_statement", "declaration", "with_statement")


def splice(tree: Tree, donor: Tree, rng: np.random.Generator) -> Edit | None:
    """Puts a loop nest or statement of ``donor`` in place of one of the same type and depth in ``tree``."""
    places: dict[tuple[str, int], tuple[list[Node], list[Node]]] = {}
    for position, whole in enumerate((tree, donor)):
        for node in whole.of(*_PARTS):
            places.setdefault((node.type, _depth(node)), ([], []))[position].append(node)
    pairs = [pair for _, pair in sorted(places.items()) if pair[0] and pair[1]]
    for targets, sources in shuffled(pairs, rng):
        target, source = one_of(targets, rng), one_of(sources, rng)
        text = textwrap.dedent(text_of(donor, source.start_byte, source.end_byte))
        new = placed(tree, target.start_byte, text)
        if new != tree.text(target):
            note = f"line {donor.line(source.start_byte)} of the other in place of line {tree.line(target.start_byte)}"
            return Edit(((target.start_byte, target.end_byte, new),), note)
    return None


def _depth(node: Node) -> int:
    """How many loops and conditions are around ``node``; -1 outside of functions."""
    above = [each.type for each in ancestors(node)]
    inside = any(kind in {"function_definition"} for kind in above)
    return sum(kind.endswith(("for_statement", "while_statement", "if_statement")) for kind in above) if inside else -1
