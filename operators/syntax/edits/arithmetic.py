"""Cheaper arithmetic: invariant code out of loops, reciprocals, single precision, other integer types."""

from __future__ import annotations

import re
import textwrap

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..effects import effects
from ..loops import Loop, enclosing_loops, loops, placed
from ..names import FUNCTION_SUFFIXES, function_name, is_math, kind_of, names, visible
from ..tree import Tree, ancestors, walk
from .draw import one_of, shuffled

_INDEX_TYPES = ("long", "int", "unsigned", "unsigned long")
_DOUBLE_LITERAL = re.compile(rb"^(?=.*[.eE])[0-9.]+(?:[eE][-+]?\d+)?$")


def hoist(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Computes an expression that is the same in every iteration once, before the loop."""
    for loop in shuffled(loops(tree), rng):
        changing = _changing(tree, loop)
        if changing is None:
            continue
        pool = [node for node in walk(loop.body) if node.type in {"binary_expression", "call_expression"}]
        for node in shuffled(pool, rng):
            if _is_invariant(tree, node, changing) and not _is_within(node, pool, tree, changing):
                name = tree.fresh("fixed")
                same = [
                    each for each in walk(loop.body) if each.type == node.type and tree.text(each) == tree.text(node)
                ]
                value = tree.text(node).decode("utf-8", "surrogatepass")
                edits = [(each.start_byte, each.end_byte, name.encode()) for each in same]
                return _with_definition(tree, loop, f"const auto {name} = {value};", edits, f"computed {value} once")
    return None


def reciprocal(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Multiplies by the reciprocal of a divisor that is the same in every iteration."""
    for node in shuffled(tree.of("binary_expression", "assignment_expression"), rng):
        sign, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
        if sign is None or right is None or tree.text(sign) not in {b"/", b"/="}:
            continue
        around = enclosing_loops(tree, node)
        if not around:
            continue
        loop = around[0]
        changing = _changing(tree, loop)
        is_float = kind_of(tree, right, visible(tree, node.start_byte)) == "float"
        if changing is None or not is_float or not _is_invariant(tree, right, changing):
            continue
        name = tree.fresh("inverse")
        value = tree.text(right).decode("utf-8", "surrogatepass")
        edits = [
            (sign.start_byte, sign.end_byte, tree.text(sign).replace(b"/", b"*")),
            (right.start_byte, right.end_byte, name.encode()),
        ]
        return _with_definition(tree, loop, f"const auto {name} = 1 / ({value});", edits, f"multiplied by 1 / {value}")
    return None


def single_precision(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Narrows doubles to floats: types of locals, literals, functions; everywhere or at one place."""
    sites = [*_double_types(tree), *_double_literals(tree), *_double_calls(tree)]
    if not sites:
        return None
    chosen = sites if rng.random() < 0.5 else [one_of(sites, rng)]
    return Edit(tuple(sorted(chosen)), f"single precision at {len(chosen)} places")


def variable_type(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Gives a local variable another type of its kind."""
    pool = [name for name in names(tree) if not name.is_parameter and name.kind in {"int", "float"}]
    pool = [name for name in pool if b"auto" not in name.type and _is_local(name.declarator)]
    if not pool:
        return None
    name = one_of(pool, rng)
    declaration = name.declarator.parent
    node = declaration.child_by_field_name("type") if declaration is not None else None
    if node is None:
        return None
    choices = _INDEX_TYPES if name.kind == "int" else ("float", "double")
    others = [each for each in choices if each.encode() != tree.text(node)]
    new = one_of(others, rng)
    return replace(node, new.encode(), f"line {tree.line(node.start_byte)}: type {new}")


def _changing(tree: Tree, loop: Loop) -> set[bytes] | None:
    """Returns what differs between the iterations of a loop; None when that cannot be told."""
    found = effects(tree, loop.body)
    if found.is_opaque:
        return None
    return found.declared | found.written() | {loop.variable.encode()}


def _is_invariant(tree: Tree, node: Node, changing: set[bytes]) -> bool:
    for each in walk(node):
        if each.type in {"assignment_expression", "update_expression", "pointer_expression", "lambda_expression"}:
            return False
        if each.type == "call_expression" and not is_math(function_name(tree, each)):
            return False
        if each.type == "identifier" and tree.text(each) in changing:
            return False
    return any(each.type == "identifier" for each in walk(node))


def _is_within(node: Node, pool: list[Node], tree: Tree, changing: set[bytes]) -> bool:
    """Whether an expression around ``node`` could be taken out of the loop as a whole."""
    wider = [
        each for each in pool if each.start_byte <= node.start_byte and node.end_byte <= each.end_byte and each != node
    ]
    return any(_is_invariant(tree, each, changing) for each in wider)


def _with_definition(tree: Tree, loop: Loop, line: str, edits: list[tuple[int, int, bytes]], note: str) -> Edit:
    """Puts a definition before a loop, in a block of their own where only one statement may stand."""
    parent = loop.node.parent
    if parent is not None and parent.type == "compound_statement":
        first = placed(tree, loop.start, line + "\n")
        edits = [(loop.start, loop.start, first + tree.indent(loop.start)), *edits]
    else:
        inside = (
            b"{\n" + tree.indent(loop.start) + textwrap.indent(line, "  ").encode() + b"\n" + tree.indent(loop.start)
        )
        edits = [(loop.start, loop.start, inside), *edits, (loop.node.end_byte, loop.node.end_byte, b"\n}")]
    return Edit(tuple(edits), note)


def _double_types(tree: Tree) -> list[tuple[int, int, bytes]]:
    pool = [node for node in tree.of("primitive_type") if tree.text(node) == b"double" and _is_local(node)]
    return [(node.start_byte, node.end_byte, b"float") for node in pool]


def _double_literals(tree: Tree) -> list[tuple[int, int, bytes]]:
    pool = [node for node in tree.of("number_literal") if _DOUBLE_LITERAL.match(tree.text(node)) and _is_local(node)]
    return [(node.end_byte, node.end_byte, b"f") for node in pool]


def _double_calls(tree: Tree) -> list[tuple[int, int, bytes]]:
    found = []
    for call in tree.of("call_expression"):
        function, name = call.child_by_field_name("function"), function_name(tree, call)
        if function is not None and name in FUNCTION_SUFFIXES and _is_local(call) and name != "rsqrt":
            found.append((function.start_byte, function.end_byte, f"{name}f".encode()))
    return found


def _is_local(node: Node) -> bool:
    return any(above.type == "compound_statement" for above in ancestors(node))
