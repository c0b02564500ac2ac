"""Edits of whole statements, as GEVO makes them of instructions; none of them looks at what the code means.

Liou 2020, https://arxiv.org/abs/2004.08140.
"""

from __future__ import annotations

import textwrap

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..loops import placed, text_of
from ..tree import Tree, ancestors, per_tree
from .draw import one_of

_STATEMENTS = frozenset(
    {
        "expression_statement",
        "declaration",
        "if_statement",
        "for_statement",
        "while_statement",
        "do_statement",
        "for_range_loop",
        "return_statement",
        "break_statement",
        "continue_statement",
        # Python
        "with_statement",
        "assert_statement",
        "delete_statement",
        "raise_statement",
    }
)
_BODIES = frozenset({"compound_statement", "block"})


@per_tree
def statements_in_functions(tree: Tree) -> list[Node]:
    """Returns every statement that stands in a list of statements inside a function."""
    bodies = [body for body in tree.of("compound_statement", "block") if not _is_class_body(body)]
    return [child for body in bodies for child in body.named_children if child.type in _STATEMENTS]


def delete(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Takes a statement out."""
    pool = statements_in_functions(tree)
    if not pool:
        return None
    node = one_of(pool, rng)
    return Edit((_removal(tree, node),), f"deleted line {tree.line(node.start_byte)}")


def duplicate(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Puts a copy of a statement behind another one."""
    pair = _pair(tree, rng)
    if pair is None:
        return None
    source, target = pair if rng.random() < 0.5 else (pair[0], pair[0])
    note = f"copied line {tree.line(source.start_byte)} behind line {tree.line(target.start_byte)}"
    return Edit((_insertion(tree, source, target),), note)


def swap(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Exchanges two statements."""
    pair = _pair(tree, rng, apart=True)
    if pair is None:
        return None
    one, other = sorted(pair, key=lambda node: node.start_byte)
    replacements = (
        (one.start_byte, one.end_byte, _fitted(tree, other, one)),
        (other.start_byte, other.end_byte, _fitted(tree, one, other)),
    )
    return Edit(replacements, f"exchanged lines {tree.line(one.start_byte)} and {tree.line(other.start_byte)}")


def move(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Takes a statement out and puts it behind another one."""
    pair = _pair(tree, rng, apart=True)
    if pair is None:
        return None
    source, target = pair
    removal, insertion = _removal(tree, source), _insertion(tree, source, target)
    if removal[0] <= insertion[0] < removal[1]:
        return None
    note = f"moved line {tree.line(source.start_byte)} behind line {tree.line(target.start_byte)}"
    return Edit((removal, insertion), note)


def overwrite(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Puts a copy of a statement in place of another one."""
    pair = _pair(tree, rng)
    if pair is None:
        return None
    source, target = pair
    note = f"line {tree.line(source.start_byte)} in place of line {tree.line(target.start_byte)}"
    return replace(target, _fitted(tree, source, target), note)


def _pair(tree: Tree, rng: np.random.Generator, *, apart: bool = False) -> tuple[Node, Node] | None:
    """Draws two different statements of one function; with ``apart`` neither is inside the other."""
    pool = statements_in_functions(tree)
    if len(pool) < 2:
        return None
    one = one_of(pool, rng)
    function = _function_of(one)
    others = [other for other in pool if other != one and not (apart and _overlap(one, other))]
    others = [other for other in others if _function_of(other) == function]
    return (one, one_of(others, rng)) if others else None


def _function_of(node: Node) -> Node | None:
    return next((above for above in ancestors(node) if above.type == "function_definition"), None)


def _overlap(one: Node, other: Node) -> bool:
    return one.start_byte < other.end_byte and other.start_byte < one.end_byte


def _removal(tree: Tree, node: Node) -> tuple[int, int, bytes]:
    """Replacement that takes a statement out, and its line where it stands alone; never the last one of a block."""
    parent = node.parent
    if parent is not None and parent.type == "block" and parent.named_child_count == 1:
        return node.start_byte, node.end_byte, b"pass"
    start = tree.source.rfind(b"\n", 0, node.start_byte) + 1
    end = tree.source.find(b"\n", node.end_byte)
    alone = (
        not tree.source[start : node.start_byte].strip() and end >= 0 and not tree.source[node.end_byte : end].strip()
    )
    return (start, end + 1, b"") if alone else (node.start_byte, node.end_byte, b"")


def _insertion(tree: Tree, source: Node, target: Node) -> tuple[int, int, bytes]:
    line = b"\n" + tree.indent(target.start_byte) + _fitted(tree, source, target)
    return target.end_byte, target.end_byte, line


def _fitted(tree: Tree, source: Node, target: Node) -> bytes:
    """Returns a statement's text, indented as ``target`` is."""
    return placed(tree, target.start_byte, textwrap.dedent(text_of(tree, source.start_byte, source.end_byte)))


def _is_class_body(body: Node) -> bool:
    return body.parent is not None and body.parent.type in {"class_definition", "module"}
