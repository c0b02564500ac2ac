"""Edits of operands, constants, operators and loops of Python-hosted kernels, whatever their library."""

from __future__ import annotations

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..tree import Tree, ancestors, per_tree, walk
from .draw import one_of, shuffled
from .expression import changed_number

_OPERATOR_GROUPS = (
    (b"<", b"<=", b">", b">=", b"==", b"!="),
    (b"+", b"-", b"*", b"/", b"//", b"%"),
    (b"&", b"|", b"^"),
    (b"<<", b">>"),
    (b"+=", b"-=", b"*=", b"="),
)
_VALUES = frozenset({"identifier", "integer", "float", "subscript", "binary_operator", "call", "attribute"})
_SIZES = tuple(1 << power for power in range(13))


def constant(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Changes a number a little: an integer by one or by a factor of two, a fraction by some percent."""
    pool = tree.of("integer", "float")
    if not pool:
        return None
    node = one_of(pool, rng)
    text = changed_number(tree.text(node), rng)
    return replace(node, text, _note(tree, node, text)) if text is not None else None


def block_size(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Doubles, halves or redraws a power of two that is a named value: ``BLOCK = 128``, ``f(…, BM=32)``.

    Half of the time the same number goes along wherever else it stands, since grids are computed from block sizes.
    """
    named = [node for node in tree.of("integer") if _name_of(tree, node) and _is_power(tree.text(node))]
    named = [node for node in named if _name_of(tree, node) not in {b"num_warps", b"num_stages", b"axis", b"num_ctas"}]
    if not named:
        return None
    node = one_of(named, rng)
    old = int(tree.text(node))
    choices = (max(1, old // 2), old * 2) if rng.random() < 0.7 else _SIZES[4:]
    new = str(one_of([each for each in choices if each != old], rng)).encode()
    together = rng.random() < 0.5
    chosen = [each for each in tree.of("integer") if tree.text(each) == tree.text(node)] if together else [node]
    edits = tuple((each.start_byte, each.end_byte, new) for each in chosen)
    return Edit(edits, f"{new.decode()} in place of {old} at {len(edits)} places")


def operand(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Puts another value of the same function in place of an operand."""
    pool = _operands(tree)
    if not pool:
        return None
    node = one_of(pool, rng)
    function = _function_of(node)
    others = [other for other in pool if _function_of(other) == function and _alike(tree, node, other)]
    choices = sorted({tree.text(other) for other in others} - {tree.text(node)})
    if not choices:
        return None
    text = one_of(choices, rng)
    return replace(node, b"(" + text + b")" if b" " in text else text, _note(tree, node, text))


def operator(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Exchanges an operator for another of its group."""
    pool = []
    for node in tree.of("binary_operator", "comparison_operator", "augmented_assignment"):
        for child in node.children:
            for group in _OPERATOR_GROUPS:
                if not child.is_named and tree.text(child) in group and _function_of(node) is not None:
                    pool.append((child, group))
    if not pool:
        return None
    sign, group = one_of(pool, rng)
    text = one_of([each for each in group if each != tree.text(sign)], rng)
    return replace(sign, text, _note(tree, sign, text))


def loop_order(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Swaps the heads of two ``for`` loops, one of which is all that the other one holds."""
    for outer in shuffled(tree.of("for_statement"), rng):
        body = outer.child_by_field_name("body")
        inner = body.named_children[0] if body is not None and body.named_child_count == 1 else None
        if inner is None or inner.type != "for_statement":
            continue
        heads = [_head(each) for each in (outer, inner)]
        if heads[0] is None or heads[1] is None:
            continue
        names = {tree.text(node) for node in walk(heads[0][0]) if node.type == "identifier"}
        if any(tree.text(node) in names for node in walk(heads[1][1])):
            continue
        spans = [(head[0].start_byte, head[1].end_byte) for head in heads if head is not None]
        texts = [tree.source[start:end] for start, end in spans]
        return Edit(((*spans[0], texts[1]), (*spans[1], texts[0])), f"line {tree.line(spans[0][0])}: swapped two loops")
    return None


def hoist(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Moves an assignment that nothing in a loop changes to before the loop."""
    for loop in shuffled(tree.of("for_statement"), rng):
        body = loop.child_by_field_name("body")
        statements = body.named_children if body is not None else []
        for node in shuffled(statements if len(statements) > 1 else [], rng):
            inner = node.named_children[0] if node.type == "expression_statement" and node.named_child_count else None
            if inner is None or inner.type != "assignment" or not _is_fixed(tree, loop, inner):
                continue
            start = tree.source.rfind(b"\n", 0, node.start_byte) + 1
            end = tree.source.find(b"\n", node.end_byte)
            line = tree.text(node) + b"\n" + tree.indent(loop.start_byte)
            edits = ((loop.start_byte, loop.start_byte, line), (start, end + 1 if end >= 0 else node.end_byte, b""))
            return Edit(edits, f"line {tree.line(node.start_byte)}: computed before the loop")
    return None


def _is_fixed(tree: Tree, loop: Node, assignment: Node) -> bool:
    """Whether an assignment's value is the same in all iterations, and its target assigned nowhere else in the loop."""
    target, value = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if target is None or value is None or target.type != "identifier":
        return False
    head = _head(loop)
    changing = [tree.text(node) for node in walk(head[0])] if head is not None else []
    for node in walk(loop):
        left = node.child_by_field_name("left")
        if node.type in {"assignment", "augmented_assignment", "for_statement"} and left is not None:
            changing += [tree.text(each) for each in walk(left) if each.type == "identifier"]
    used = {tree.text(node) for node in walk(value) if node.type == "identifier"}
    pure = b"load" not in tree.text(value) and b"atomic" not in tree.text(value)
    return pure and changing.count(tree.text(target)) == 1 and not used & {*changing}


def _head(loop: Node) -> tuple[Node, Node] | None:
    left, right = loop.child_by_field_name("left"), loop.child_by_field_name("right")
    return (left, right) if left is not None and right is not None else None


@per_tree
def _operands(tree: Tree) -> list[Node]:
    found = []
    for node in tree.of(*sorted(_VALUES)):
        parent = node.parent
        if (
            parent is None
            or _function_of(node) is None
            or parent.type in {"parameters", "default_parameter", "typed_parameter"}
        ):
            continue
        targets = [parent.child_by_field_name(part) for part in ("left", "name", "function", "attribute")]
        is_target = node in targets and parent.type not in {"binary_operator", "comparison_operator"}
        if not is_target and parent.type not in {"attribute", "decorator", "function_definition", "type"}:
            found.append(node)
    return found


def _alike(tree: Tree, one: Node, other: Node) -> bool:
    """Whether two values may be of one kind: numbers for numbers, and no value in place of a part of itself."""
    numbers = {"integer", "float"}
    if (one.type in numbers) != (other.type in numbers):
        return False
    return not (other.start_byte <= one.start_byte and one.end_byte <= other.end_byte) and len(tree.text(other)) < 120


def _function_of(node: Node) -> Node | None:
    return next((above for above in ancestors(node) if above.type == "function_definition"), None)


def _name_of(tree: Tree, node: Node) -> bytes | None:
    """Returns the name that a value is given to, by an assignment or as an argument."""
    parent = node.parent
    if parent is None or parent.type not in {"keyword_argument", "assignment"}:
        return None
    name = parent.child_by_field_name("name") or parent.child_by_field_name("left")
    return tree.text(name) if name is not None and name != node else None


def _is_power(text: bytes) -> bool:
    return text.isdigit() and int(text) > 1 and not int(text) & (int(text) - 1)


def _note(tree: Tree, node: Node, text: bytes) -> str:
    new = " ".join(text.decode("utf-8", "replace").split())[:40]
    old = " ".join(tree.text(node).decode("utf-8", "replace").split())[:40]
    return f"line {tree.line(node.start_byte)}: {new} in place of {old}"
