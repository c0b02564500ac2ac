"""Conditions: guards that become loop bounds, searches that need no early exit."""

from __future__ import annotations

import textwrap

import numpy as np
from tree_sitter import Node

from ..definitions import definitions
from ..edit import Edit
from ..effects import effects
from ..loops import Loop, body_text, braced, code, loops, over, placed, renamed, text_of
from ..polynomial import Polynomial, added, coefficient, polynomial, without, written_out
from ..tree import Tree, walk
from .draw import shuffled


def guard_to_bounds(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Runs a loop only over the range in which the condition on its variable holds."""
    for loop in shuffled(loops(tree), rng):
        parts = code(loop.body)
        if not parts or parts[-1].type != "if_statement" or loop.step != "1" or loop.relation != "<":
            continue
        guard = parts[-1]
        if (
            any(part.type != "declaration" for part in parts[:-1])
            or guard.child_by_field_name("alternative") is not None
        ):
            continue
        if not effects(tree, *parts[:-1]).is_plain:
            continue
        edit = _bounded(tree, loop, parts[:-1], guard)
        if edit is not None:
            return edit
    return None


def counting_search(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Turns ``while (n < bound && test(n)) n++;`` into counting or bisection, right where the test is monotonic."""
    for node in shuffled(tree.of("while_statement"), rng):
        search = _search(tree, node)
        if search is None:
            continue
        variable, bound, test = search
        if rng.random() < 0.5:
            text, how = _counted(tree, variable, bound, test), "counting"
        else:
            text, how = _bisected(tree, variable, bound, test), "bisection"
        edit = (node.start_byte, node.end_byte, placed(tree, node.start_byte, text))
        return Edit((edit,), f"line {tree.line(node.start_byte)}: search for {variable} by {how}")
    return None


def _bounded(tree: Tree, loop: Loop, before: list[Node], guard: Node) -> Edit | None:
    condition, consequence = guard.child_by_field_name("condition"), guard.child_by_field_name("consequence")
    inner = condition.named_children[0] if condition is not None and condition.named_child_count == 1 else None
    if inner is None or consequence is None:
        return None
    lower, upper, kept = [loop.lower], [loop.upper], []
    for test in _conjuncts(tree, inner):
        limit = _limit(tree, test, loop)
        if limit is None:
            kept.append(tree.text(test).decode("utf-8", "surrogatepass"))
        else:
            (lower if limit[0] == "lower" else upper).append(limit[1])
    if len(lower) + len(upper) == 2:
        return None
    first, last = tree.fresh("first"), tree.fresh("last")
    kind = loop.type.removeprefix("const ")
    lines = [f"{kind} {first} = {lower[0]};", *(f"if ({first} < {each}) {first} = {each};" for each in lower[1:])]
    lines += [f"{kind} {last} = {upper[0]};", *(f"if ({last} > {each}) {last} = {each};" for each in upper[1:])]
    body = body_text(tree, consequence)
    if kept:
        body = braced(f"if ({' && '.join(kept)})", body)
    declarations = [text_of(tree, part.start_byte, part.end_byte) for part in before]
    lines.append(braced(loop.head(lower=first, upper=last), "\n".join([*declarations, body])))
    text = "{\n" + textwrap.indent("\n".join(lines), "  ") + "\n}"
    return over(tree, loop, text, f"turned a condition on {loop.variable} into bounds")


def _conjuncts(tree: Tree, node: Node) -> list[Node]:
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        sign = current.child_by_field_name("operator")
        if current.type == "binary_expression" and sign is not None and tree.text(sign) == b"&&":
            stack.extend(reversed(current.named_children))
        else:
            found.append(current)
    return found


def _limit(tree: Tree, test: Node, loop: Loop) -> tuple[str, str] | None:
    """Returns which bound a comparison means for the loop's variable, and its value."""
    sides = [test.child_by_field_name(part) for part in ("left", "right")]
    sign = test.child_by_field_name("operator")
    if test.type != "binary_expression" or sign is None or sides[0] is None or sides[1] is None:
        return None
    relation = tree.text(sign)
    one, other = (polynomial(tree, side, definitions(tree)) for side in sides if side is not None)
    if one is None or other is None or relation not in {b"<", b"<=", b">", b">="}:
        return None
    # difference > 0 or >= 0
    difference = added(one, other, -1) if relation.startswith(b">") else added(other, one, -1)
    if not relation.endswith(b"="):
        difference = added(difference, {(): 1}, -1)
    factor = coefficient(difference, loop.variable.encode())
    rest = without(difference, loop.variable.encode())
    changing = effects(tree, loop.body).declared
    if factor not in ({(): 1}, {(): -1}) or _names(rest) & changing:
        return None
    if factor == {(): 1}:  # v + rest >= 0
        return "lower", written_out(added({}, rest, -1))
    return "upper", written_out(added(rest, {(): 1}))  # rest - v >= 0


def _names(of: Polynomial) -> set[bytes]:
    return {name for monomial in of for name in monomial}


def _search(tree: Tree, node: Node) -> tuple[str, str, Node] | None:
    """Reads ``while (n < bound && test) n++;``."""
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    inner = condition.named_children[0] if condition is not None and condition.named_child_count == 1 else None
    parts = code(body) if body is not None else []
    if inner is None or len(parts) != 1 or parts[0].named_child_count != 1:
        return None
    update = parts[0].named_children[0]
    tests = _conjuncts(tree, inner)
    target = update.child_by_field_name("argument")
    if update.type != "update_expression" or target is None or len(tests) != 2 or b"++" not in tree.text(update):
        return None
    left, sign, right = (tests[0].child_by_field_name(part) for part in ("left", "operator", "right"))
    variable = tree.text(target)
    if left is None or sign is None or right is None or tree.text(left) != variable or tree.text(sign) != b"<":
        return None
    if variable in {tree.text(each) for each in walk(right)} or not effects(tree, tests[1]).is_plain:
        return None
    return variable.decode("utf-8", "surrogatepass"), tree.text(right).decode("utf-8", "surrogatepass"), tests[1]


def _counted(tree: Tree, variable: str, bound: str, test: Node) -> str:
    index, count = tree.fresh("probe"), tree.fresh("count")
    holds = renamed(tree, test, {variable: index})
    head = f"for (auto {index} = {variable}; {index} < {bound}; ++{index})"
    lines = [f"int {count} = 0;", braced(head, f"{count} += ({holds}) ? 1 : 0;"), f"{variable} += {count};"]
    return "{\n" + textwrap.indent("\n".join(lines), "  ") + "\n}"


def _bisected(tree: Tree, variable: str, bound: str, test: Node) -> str:
    end, middle = tree.fresh("end"), tree.fresh("middle")
    holds = renamed(tree, test, {variable: middle})
    body = f"auto {middle} = {variable} + ({end} - {variable}) / 2;\n"
    body += f"if ({holds}) {variable} = {middle} + 1; else {end} = {middle};"
    lines = [f"auto {end} = {variable};", f"{end} = {bound};", braced(f"while ({variable} < {end})", body)]
    return "{\n" + textwrap.indent("\n".join(lines), "  ") + "\n}"
