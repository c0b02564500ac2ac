"""Loop nests in another order: interchange, tiling, fission, fusion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from ..dependence import conflicts
from ..edit import Edit
from ..effects import effects
from ..folds import folded
from ..loops import (
    LOOPS,
    Loop,
    as_loop,
    body_text,
    braced,
    code,
    header_words,
    loops,
    over,
    placed,
    renamed,
    renamed_body,
    statements,
    text_of,
)
from ..tree import Tree, walk
from .draw import one_of, shuffled

TILES = (8, 16, 32, 64, 128, 256)
"""Block sizes that tiling draws from."""


def interchange(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Swaps two loops, one directly in the other; what stands between them is first given a loop of its own."""
    for outer in shuffled(loops(tree), rng):
        inner = _sole_loop(tree, outer)
        if inner is None or not _is_rectangular(tree, outer, inner):
            continue
        parts = code(outer.body)
        edit = _swap_headers(tree, outer, inner) if len(parts) == 1 else _distributed(tree, outer, inner, parts)
        if edit is not None:
            return edit
    return None


def tile(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Cuts some loops of a perfect nest into blocks, with the loops over blocks outermost."""
    for outer in shuffled(loops(tree), rng):
        band = perfect_band(tree, outer)
        if any(loop.step != "1" or loop.relation != "<" or "?" in loop.upper for loop in band):
            continue  # the last: it is the inside of a tile already
        depth = int(rng.integers(1, len(band) + 1))
        if depth == 1 and len(band) == 1:
            continue
        chosen = sorted(int(each) for each in rng.choice(len(band), size=depth, replace=False))
        names = [loop.variable.encode() for loop in band]
        if not effects(tree, band[-1].body).permits(names):
            continue
        return _tiled(tree, band, {position: one_of(TILES, rng) for position in chosen}, rng)
    return None


def fission(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Makes two loops of one whose body has parts that do not depend on each other's other iterations."""
    for loop in shuffled(loops(tree), rng):
        parts = statements(loop.body)
        for cut in shuffled(range(1, len(parts)), rng):
            first, second = effects(tree, *parts[:cut]), effects(tree, *parts[cut:])
            if parts[cut - 1].type == "preproc_call" or conflicts(first, second, loop.variable.encode()):
                continue
            heads = text_of(tree, parts[0].start_byte, parts[cut - 1].end_byte)
            tails = text_of(tree, parts[cut].start_byte, parts[-1].end_byte)
            text = braced(loop.head(), heads) + "\n" + braced(loop.head(), tails)
            return over(tree, loop, text, f"split the loop over {loop.variable} in two")
    return None


def fusion(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Makes one loop of two neighbours with the same range."""
    for first in shuffled(loops(tree), rng):
        second = as_loop(tree, _next_statement(first.node))
        if second is None or first.key != second.key or first.type != second.type:
            continue
        if second.variable != first.variable and first.variable in body_text(tree, second.body):
            continue
        one, other = effects(tree, first.body), effects(tree, second.body)
        if one.declared & (other.declared | other.touched()) - {first.variable.encode()}:
            continue
        if first.variable != second.variable or conflicts(one, other, first.variable.encode()):
            continue
        text = braced(first.head(), body_text(tree, first.body) + "\n" + body_text(tree, second.body))
        edit = placed(tree, first.start, text)
        return Edit(((first.start, second.node.end_byte, edit),), f"joined two loops over {first.variable}")
    return None


def perfect_band(tree: Tree, outer: Loop) -> list[Loop]:
    """Returns ``outer`` and the loops that are each the only statement of the one before, bounds independent."""
    band = [outer]
    while True:
        parts = code(band[-1].body)
        inner = as_loop(tree, parts[0]) if len(parts) == 1 else None
        if inner is None or not all(_is_rectangular(tree, loop, inner) for loop in band):
            return band
        band.append(inner)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A nest ``for o { element = init; for i { element op= … } element = f(element); }``.

    Attributes:
        before: Statement that sets the first value.
        accumulator: Scalar that is declared by ``before``, or None when the element itself is folded into.
        target: The element that receives the result.
        first: The first value.
        last: The stored expression, in terms of the accumulator; None where nothing is stored afterwards.
    """

    before: Node
    accumulator: str | None
    target: Node
    first: Node
    last: Node | None


def reduction_of(tree: Tree, inner: Loop, parts: list[Node]) -> Reduction | None:
    """Reads the statements of a loop around ``inner`` as one reduction, or returns None."""
    plain = [part for part in parts if part != inner.node]
    position = next((index for index, part in enumerate(plain) if part.start_byte > inner.node.start_byte), len(plain))
    before, after = plain[:position], plain[position:]
    if len(before) != 1 or len(after) > 1:
        return None
    store = _assignment(after[0]) if after else None
    if after and store is None:
        return None
    first = _assignment(before[0])
    if first is not None:
        target, value = _sides(tree, first)
        if target is None or value is None or target.type != "subscript_expression":
            return None
        stored = _sides(tree, store)[0] if store is not None else target
        if stored is None or tree.text(stored) != tree.text(target):
            return None
        return Reduction(before[0], None, target, value, _sides(tree, store)[1] if store else None)
    return _scalar_reduction(tree, before[0], store)


def _scalar_reduction(tree: Tree, before: Node, store: Node | None) -> Reduction | None:
    declarators = before.children_by_field_name("declarator") if before.type == "declaration" else []
    if store is None or len(declarators) != 1 or declarators[0].type != "init_declarator":
        return None
    name, value = (declarators[0].child_by_field_name(part) for part in ("declarator", "value"))
    target, last = _sides(tree, store)
    if name is None or value is None or target is None or last is None or name.type != "identifier":
        return None
    if target.type != "subscript_expression" or value.type in {"initializer_list", "argument_list"}:
        return None
    return Reduction(before, tree.text(name).decode(), target, value, last)


def _distributed(tree: Tree, outer: Loop, inner: Loop, parts: list[Node]) -> Edit | None:
    """Interchanges a nest with a first value before and a store after the inner loop, through memory."""
    reduction = reduction_of(tree, inner, parts)
    if reduction is None:
        return None
    found = effects(tree, outer.body)
    names = (outer.variable.encode(), inner.variable.encode())
    if not effects(tree, inner.body).permits(names) or not found.permits(names[:1]):
        return None
    element = tree.text(reduction.target).decode("utf-8", "surrogatepass")
    swap = {reduction.accumulator: element} if reduction.accumulator else {}
    first = renamed(tree, reduction.first, swap)
    pieces = [braced(outer.head(), f"{element} = {first};")]
    pieces.append(braced(inner.head(), braced(outer.head(), renamed_body(tree, inner.body, swap))))
    if reduction.last is not None and renamed(tree, reduction.last, swap) != element:
        pieces.append(braced(outer.head(), f"{element} = {renamed(tree, reduction.last, swap)};"))
    note = f"interchanged the loops over {outer.variable} and {inner.variable}, with {element} kept in memory"
    return over(tree, outer, "\n".join(pieces), note)


def _swap_headers(tree: Tree, outer: Loop, inner: Loop) -> Edit | None:
    if not effects(tree, inner.body).permits((outer.variable.encode(), inner.variable.encode())):
        return None
    replacements = [
        (*outer.header, tree.source[slice(*inner.header)]),
        (*inner.header, tree.source[slice(*outer.header)]),
    ]
    for loop in (outer, inner):  # a pragma was meant for the loop that stood there
        if loop.start != loop.node.start_byte:
            replacements.append((loop.start, loop.node.start_byte, b""))
    note = f"interchanged the loops over {outer.variable} and {inner.variable}"
    return Edit(tuple(sorted(replacements)), note)


def _tiled(tree: Tree, band: list[Loop], sizes: dict[int, int], rng: np.random.Generator) -> Edit:
    points, blocks = [], []
    for position, loop in enumerate(band):
        if position not in sizes:
            points.append(loop.head())
            continue
        block = tree.fresh(f"{loop.variable}_block")
        kind = loop.type.removeprefix("const ")
        blocks.append(f"for ({kind} {block} = {loop.lower}; {block} < {loop.upper}; {block} += {sizes[position]})")
        end = f"({block} + {sizes[position]} < {loop.upper} ? {block} + {sizes[position]} : {loop.upper})"
        points.append(loop.head(lower=block, upper=end))
    order = list(rng.permutation(len(points))) if rng.random() < 0.5 else list(range(len(points)))
    order_of_blocks = list(rng.permutation(len(blocks)))
    heads = [blocks[each] for each in order_of_blocks] + [points[each] for each in order]
    text = body_text(tree, band[-1].body)
    for head in reversed(heads):
        text = braced(head, text)
    tiles = ", ".join(f"{band[position].variable} by {size}" for position, size in sizes.items())
    return over(tree, band[0], text, f"tiled {tiles}")


def _sole_loop(tree: Tree, outer: Loop) -> Loop | None:
    """Returns the only loop among the statements of ``outer``, if it is a counting one."""
    found = [part for part in code(outer.body) if _has_loop(part)]
    return as_loop(tree, found[0]) if len(found) == 1 else None


def _has_loop(node: Node) -> bool:
    return any(each.type in LOOPS for each in walk(node))


def _is_rectangular(tree: Tree, outer: Loop, inner: Loop) -> bool:
    """Whether the inner loop's range does not depend on the outer loop."""
    declared = effects(tree, *[part for part in statements(outer.body) if part != inner.node]).declared
    own = {name.decode("utf-8", "surrogatepass") for name in declared} | {outer.variable}
    return not header_words(tree, inner) & own


def _assignment(statement: Node) -> Node | None:
    if statement.type != "expression_statement" or statement.named_child_count != 1:
        return None
    inner = statement.named_children[0]
    return inner if inner.type == "assignment_expression" else None


def _sides(tree: Tree, assignment: Node) -> tuple[Node | None, Node | None]:
    operator = assignment.child_by_field_name("operator")
    if operator is None or (tree.text(operator) != b"=" and folded(tree, assignment) is None):
        return None, None
    if tree.text(operator) != b"=":
        return None, None
    return assignment.child_by_field_name("left"), assignment.child_by_field_name("right")


def _next_statement(node: Node) -> Node | None:
    current = node.next_named_sibling
    while current is not None and current.type in {"comment", "preproc_call"}:
        current = current.next_named_sibling
    return current
