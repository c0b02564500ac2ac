"""Unrolling: plain, and with the inner loops of the copies jammed into one."""

from __future__ import annotations

import textwrap

import numpy as np
from tree_sitter import Node

from ..dependence import Effects
from ..edit import Edit
from ..effects import effects
from ..loops import Loop, as_loop, braced, can_step, code, header_words, loops, over, renamed, renamed_body, stepping
from ..names import bare_declarator
from ..tree import Tree, walk
from .draw import one_of, shuffled

FACTORS = (2, 4, 8)


def unroll(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Repeats the body of a loop, with the rest of the range in a loop of its own."""
    for loop in shuffled(loops(tree), rng):
        if not can_step(loop) or not effects(tree, loop.body).is_plain or not code(loop.body):
            continue
        factor = one_of(FACTORS, rng)
        copies = [
            renamed_body(tree, loop.body, {loop.variable: _shifted(loop.variable, each)}) for each in range(factor)
        ]
        if any(part.type == "declaration" for part in code(loop.body)):
            copies = [f"{{\n{textwrap.indent(copy, '  ')}\n}}" for copy in copies]
        text = "\n".join(stepping(tree, loop, factor, "\n".join(copies)))
        return over(tree, loop, text, f"unrolled the loop over {loop.variable} by {factor}")
    return None


def jam(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Unrolls a loop that has loops in it, and lets the copies share these (register tiling)."""
    for loop in shuffled(loops(tree), rng):
        parts = code(loop.body)
        if not can_step(loop) or not any(part.type == "for_statement" for part in parts):
            continue
        found = effects(tree, loop.body)
        if not found.permits([loop.variable.encode()]) or not _has_free_loops(tree, loop, found):
            continue
        factor = one_of(FACTORS, rng)
        lines = stepping(tree, loop, factor, _jammed(tree, parts, loop.variable, factor, {}))
        return over(
            tree,
            loop,
            "\n".join(lines),
            f"unrolled the loop over {loop.variable} by {factor} and jammed its inner loops",
        )
    return None


def _jammed(tree: Tree, parts: list[Node], variable: str, factor: int, suffixed: dict[str, str]) -> str:
    """Returns ``factor`` copies of statements, with one copy of each loop among them around copies of its body.

    Args:
        tree: Holds ``parts``.
        parts: Statements.
        variable: Of the loop that is unrolled.
        factor: Number of copies.
        suffixed: Variables of which every copy has its own, with the stem of their new names.
    """
    own = {**suffixed}
    pieces = []
    for part in parts:
        if _is_shared(tree, part, {variable, *own}):
            pieces.append(renamed(tree, part, {}))
            continue
        own.update({name: tree.fresh(f"{name}_") for name in _declared(tree, part)})
        inner = as_loop(tree, part)
        if inner is not None:
            pieces.append(braced(inner.head(), _jammed(tree, code(inner.body), variable, factor, own)))
            continue
        for copy in range(factor):
            names = {name: f"{stem}{copy}" for name, stem in own.items()}
            pieces.append(renamed(tree, part, {variable: _shifted(variable, copy), **names}))
    return "\n".join(pieces)


def _has_free_loops(tree: Tree, loop: Loop, found: Effects) -> bool:
    """Whether all loops inside are counting ones, with ranges that do not depend on the unrolled loop."""
    shared: set[str] = set()
    varying = {loop.variable}
    for node in walk(loop.body):
        if node.type == "declaration":
            (shared if _is_shared(tree, node, varying) else varying).update(_declared(tree, node))
    for node in walk(loop.body):
        if node.type in {"while_statement", "do_statement", "for_range_loop"}:
            return False
        if node.type == "for_statement":
            inner = as_loop(tree, node)
            parent = node.parent
            if inner is None or parent is None or parent.type == "if_statement":
                return False
            used = header_words(tree, inner)
            if used & ({_decoded(name) for name in found.declared} - {inner.variable} - shared | {loop.variable}):
                return False
    return True


def _is_shared(tree: Tree, part: Node, varying: set[str]) -> bool:
    """Whether a statement declares a constant that is the same in all copies."""
    words = {_decoded(tree.text(node)) for node in walk(part) if node.type == "identifier"}
    return part.type == "declaration" and tree.text(part).startswith(b"const ") and not words & varying


def _declared(tree: Tree, part: Node) -> list[str]:
    if part.type != "declaration":
        return []
    found = [bare_declarator(each) for each in part.children_by_field_name("declarator")]
    return [tree.text(each).decode() for each in found if each is not None]


def _shifted(variable: str, by: int) -> str:
    return f"({variable} + {by})" if by else variable


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")
