"""Variables that are used where nobody has declared them: a mistake that a tree shows without a compiler."""

from __future__ import annotations

from .names import names
from .tree import Tree, ancestors


def num_undeclared(tree: Tree, known: frozenset[bytes]) -> int:
    """Returns how often one of the ``known`` variables is named where it is not visible.

    Args:
        tree: Of a C-like source.
        known: Variables that this source or the one that it was made from declares; what neither declares may be a
            macro or come from a header.
    """
    spans: dict[bytes, list[tuple[int, int]]] = {}
    declared = set()
    for name in names(tree):
        spans.setdefault(name.text, []).append((name.start, name.end))
        declared.add(name.declarator.id)
    count = 0
    for node in tree.by_type.get("identifier", ()):
        text, position = tree.text(node), node.start_byte
        if text not in known or any(start <= position < end for start, end in spans.get(text, ())):
            continue
        parent = node.parent
        if node.id in declared or parent is None or parent.type.endswith(("_declarator", "parameter_declaration")):
            value = parent.child_by_field_name("value") if parent is not None else None
            if value != node:
                continue
        count += any(above.type == "compound_statement" for above in ancestors(node))
    return count


def declared_names(tree: Tree) -> frozenset[bytes]:
    """Returns every variable that a source declares."""
    return frozenset(name.text for name in names(tree))
