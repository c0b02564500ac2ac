"""Foldings: statements that combine a value into a variable or an element, in any order but for rounding."""

from __future__ import annotations

from tree_sitter import Node

from .names import function_name
from .tree import Tree, walk

_GROUPS = {b"+=": "+", b"-=": "+", b"*=": "*", b"|=": "|", b"&=": "&", b"^=": "^"}
_EXTREMES = {"max": "max", "fmax": "max", "fmaxf": "max", "min": "min", "fmin": "min", "fminf": "min"}


def folded(tree: Tree, node: Node) -> tuple[Node, str, Node] | None:
    """Reads ``s += e``, ``s = s + e``, ``s = max(s, e)`` and the like.

    Returns:
        The variable or element, the operation as in `Access`, and ``e``; None for everything else.
    """
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if node.type != "assignment_expression" or left is None or right is None or operator is None:
        return None
    sign, target = tree.text(operator), tree.text(left)
    if sign in _GROUPS:
        return left, _GROUPS[sign], right
    if sign != b"=":
        return None
    if right.type == "binary_expression":
        sides = [right.child_by_field_name("left"), right.child_by_field_name("right")]
        inner = right.child_by_field_name("operator")
        group = _GROUPS.get((tree.text(inner) if inner else b"") + b"=")
        if group and sides[0] is not None and sides[1] is not None and tree.text(sides[0]) == target:
            return left, group, sides[1]
    if right.type == "call_expression":
        group = _EXTREMES.get(function_name(tree, right))
        arguments = right.child_by_field_name("arguments")
        values = arguments.named_children if arguments is not None else []
        if group and len(values) == 2 and target in (tree.text(values[0]), tree.text(values[1])):
            return left, group, values[1] if tree.text(values[0]) == target else values[0]
    return None


def guarded_extreme(tree: Tree, node: Node) -> tuple[Node, str, Node] | None:
    """Reads ``if (e > s) s = e;`` as the maximum of ``s`` and ``e``, as `folded` does; None for everything else."""
    condition, consequence = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    if condition is None or consequence is None or node.child_by_field_name("alternative") is not None:
        return None
    while consequence.type in {"compound_statement", "expression_statement"} and consequence.named_child_count == 1:
        consequence = consequence.named_children[0]
    test = next((each for each in walk(condition) if each.type == "binary_expression"), None)
    if test is None or consequence.type != "assignment_expression" or test.parent != condition:
        return None
    target, value = consequence.child_by_field_name("left"), consequence.child_by_field_name("right")
    sign = consequence.child_by_field_name("operator")
    one, relation, other = (test.child_by_field_name(part) for part in ("left", "operator", "right"))
    if None in (target, value, sign, one, relation, other):
        return None
    assert target and value and sign and one and relation and other  # noqa: PT018  narrows the types
    sides = (tree.text(one), tree.text(other))
    if tree.text(sign) != b"=" or {*sides} != {tree.text(target), tree.text(value)}:
        return None
    is_greater = tree.text(relation).startswith(b">") == (sides[0] == tree.text(value))
    return (target, "max" if is_greater else "min", value) if tree.text(relation)[:1] in b"<>" else None
