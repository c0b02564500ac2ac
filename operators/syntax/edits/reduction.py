"""Reductions: partial results, blocks of accumulators, elements held in a scalar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from ..dependence import Access, Effects
from ..edit import Edit
from ..effects import effects
from ..loops import (
    Loop,
    as_loop,
    braced,
    can_step,
    code,
    header_words,
    innermost,
    loops,
    over,
    placed,
    renamed,
    renamed_body,
    stepping,
)
from ..names import visible
from ..tree import Tree
from .draw import one_of, shuffled
from .restructure import Reduction, reduction_of

WIDTHS = (4, 8, 16, 32, 64)
"""Numbers of results that are computed side by side."""


@dataclass(frozen=True, slots=True)
class Fold:
    """What a loop folds into: the variable or element, the operation, and the type of its values."""

    name: str
    group: str
    type: str


def partial_results(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Folds into several accumulators in turn, so that the compiler may use vector registers."""
    for loop in shuffled(innermost(tree), rng):
        found = effects(tree, loop.body)
        if not can_step(loop) or not found.permits([loop.variable.encode()]):
            continue
        for name, group in shuffled(_folds(tree, loop, found), rng):
            kind = _value_type(tree, loop, name)
            if group in {"+", "max", "min"} and kind is not None:
                width = one_of(WIDTHS, rng)
                text = _in_parts(tree, loop, Fold(name, group, kind), width)
                return over(tree, loop, text, f"{width} partial results for {name}")
    return None


def hold_in_scalar(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Keeps an array element that a loop folds into in a scalar, and stores it after the loop."""
    for loop in shuffled(loops(tree), rng):
        found = effects(tree, loop.body)
        for name in shuffled(sorted(found.written()), rng):
            element = _fixed_element(tree, loop, found, found.arrays.get(name, []))
            if element is None or not found.is_plain:
                continue
            return _held(tree, loop, element)
    return None


def accumulator_block(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Computes a block of neighbouring results together, with their accumulators in a local array."""
    for outer in shuffled(loops(tree), rng):
        parts = code(outer.body)
        inner = next((loop for part in parts if (loop := as_loop(tree, part)) is not None), None)
        if inner is None or not can_step(outer) or outer.variable in header_words(tree, inner):
            continue
        reduction = reduction_of(tree, inner, parts)
        names = (outer.variable.encode(), inner.variable.encode())
        if reduction is None or not effects(tree, inner.body).permits(names):
            continue
        kind = _value_type(tree, outer, _decoded(tree.text(reduction.target)))
        if kind is None or not effects(tree, outer.body).permits(names[:1]):
            continue
        width = one_of(WIDTHS[1:], rng)
        text = _in_block(tree, (outer, inner), reduction, kind, width)
        return over(tree, outer, text, f"{width} results over {outer.variable} at once")
    return None


def _held(tree: Tree, loop: Loop, element: str) -> Edit:
    """Returns the edit that keeps ``element`` in a scalar; a first value just before the loop goes there at once."""
    scalar = tree.fresh(f"{element.split('[', maxsplit=1)[0]}_held")
    body = renamed_body(tree, loop.body, {element: scalar})
    before = loop.node.prev_named_sibling
    first = _stored_value(tree, before, element) if before is not None and loop.start == loop.node.start_byte else None
    kind = _value_type(tree, loop, element) or "auto"
    value = element if first is None else _decoded(tree.text(first))
    text = f"{kind} {scalar} = {value};\n{braced(loop.head(), body)}\n{element} = {scalar};"
    note = f"held {element} in a scalar"
    if first is None or before is None:
        return over(tree, loop, text, note)
    return Edit(((before.start_byte, loop.node.end_byte, placed(tree, before.start_byte, text)),), note)


def _stored_value(tree: Tree, statement: Node, element: str) -> Node | None:
    """Returns the value that a statement stores into ``element``, if it is such a statement."""
    inner = statement.named_children[0] if statement.named_child_count == 1 else None
    if statement.type != "expression_statement" or inner is None or inner.type != "assignment_expression":
        return None
    target, sign, value = (inner.child_by_field_name(part) for part in ("left", "operator", "right"))
    if target is None or sign is None or value is None or tree.text(sign) != b"=":
        return None
    return value if tree.text(target) == element.encode("utf-8", "surrogatepass") else None


def _in_parts(tree: Tree, loop: Loop, fold: Fold, width: int) -> str:
    """Returns the loop with ``width`` partial results, the rest of the range, and the joining of the parts."""
    name, group = fold.name, fold.group
    parts, lane = tree.fresh("part"), tree.fresh("lane")
    here = f"{parts}[{lane}]"
    lanes = f"for (int {lane} = 0; {lane} < {width}; ++{lane})"
    body = renamed_body(tree, loop.body, {loop.variable: f"({loop.variable} + {lane})", name: here})
    sign = ">" if group == "max" else "<"
    joined = f"{name} += {here};" if group == "+" else f"{name} = {here} {sign} {name} ? {here} : {name};"
    lines = [
        f"{fold.type} {parts}[{width}];",
        braced(lanes, f"{here} = {'0' if group == '+' else name};"),
        *stepping(tree, loop, width, braced(lanes, body)),
        braced(lanes, joined),
    ]
    return "\n".join(lines)


def _in_block(tree: Tree, nest: tuple[Loop, Loop], reduction: Reduction, kind: str, width: int) -> str:
    """Returns the outer loop in blocks of ``width``, with a local array of accumulators, and the rest of the range."""
    outer, inner = nest
    accumulators, lane = tree.fresh("block"), tree.fresh("lane")
    here = f"{accumulators}[{lane}]"
    lanes = f"for (int {lane} = 0; {lane} < {width}; ++{lane})"
    shift = {outer.variable: f"({outer.variable} + {lane})"}
    held = reduction.accumulator or _decoded(tree.text(reduction.target))
    last = renamed(tree, reduction.last, {**shift, held: here}) if reduction.last is not None else here
    lines = [
        f"{kind} {accumulators}[{width}];",
        braced(lanes, f"{here} = {renamed(tree, reduction.first, shift)};"),
        braced(inner.head(), braced(lanes, renamed_body(tree, inner.body, {**shift, held: here}))),
        braced(lanes, f"{renamed(tree, reduction.target, shift)} = {last};"),
    ]
    return "\n".join(stepping(tree, outer, width, "\n".join(lines)))


def _folds(tree: Tree, loop: Loop, found: Effects) -> list[tuple[str, str]]:
    """Returns the scalars and fixed elements that a loop folds into, with the operation."""
    folds = [(_decoded(name), group) for name, group in found.reductions().items()]
    for name in sorted(found.written()):
        accesses = found.arrays.get(name, [])
        element = _fixed_element(tree, loop, found, accesses)
        updates = {access.update for access in accesses}
        if element is not None and len(updates) == 1:
            folds.append((element, updates.pop()))
    return folds


def _fixed_element(tree: Tree, loop: Loop, found: Effects, accesses: list[Access]) -> str | None:
    """Returns the text of the only element that ``accesses`` mean, if it is the same in every iteration."""
    texts = {tree.text(access.node) for access in accesses}
    if len(texts) != 1:
        return None
    changing = found.declared | found.written() | {loop.variable.encode()}
    for part in accesses[0].index:
        if part is None or {factor for monomial in part for factor in monomial} & changing:
            return None
    return _decoded(texts.pop())


def _value_type(tree: Tree, loop: Loop, name: str) -> str | None:
    """Returns the declared type of a variable, or of the elements of an array."""
    variable = visible(tree, loop.node.start_byte).get(name.split("[", maxsplit=1)[0].encode())
    if variable is None or b"auto" in variable.type:
        return None
    words = [word for word in _decoded(variable.type).split() if word not in {"const", "static", "__shared__"}]
    return " ".join(words) or None


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
