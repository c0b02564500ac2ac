"""Edits of operands, constants and operators of C-like code."""

from __future__ import annotations

import re

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..names import kind_of, visible
from ..polynomial import integer
from ..tree import Tree, ancestors, per_tree, walk
from .draw import one_of, shuffled

_FLOAT_LITERAL = re.compile(rb"^(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)([fFlL]?)$")
_OPERATOR_GROUPS = (
    (b"<", b"<=", b">", b">=", b"==", b"!="),
    (b"+", b"-", b"*", b"/"),
    (b"&&", b"||"),
    (b"<<", b">>"),
    (b"&", b"|", b"^"),
    (b"=", b"+=", b"-=", b"*="),
)
_MAX_CHOICES = 24
_VALUES = frozenset({"identifier", "number_literal", "subscript_expression", "binary_expression", "call_expression"})


def operand(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Puts another value of the same kind that is visible there in place of an operand."""
    pool = _operands(tree)
    if not pool:
        return None
    node = one_of(pool, rng)
    scope = visible(tree, node.start_byte)
    kind = kind_of(tree, node, scope)
    if kind == "other":
        return None
    choices = {name.text for name in scope.values() if name.kind == kind}
    for other in shuffled(pool, rng)[:_MAX_CHOICES]:
        identifiers = [tree.text(each) for each in walk(other) if each.type == "identifier"]
        if all(name in scope for name in identifiers) and kind_of(tree, other, scope) == kind:
            choices.add(tree.text(other))
    choices.discard(tree.text(node))
    if not choices:
        return None
    text = one_of(sorted(choices), rng)
    shown, old = _shown(text), _shown(tree.text(node))
    return replace(node, _guarded(text, node), f"line {tree.line(node.start_byte)}: {shown} in place of {old}")


def constant(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Changes a number a little: an integer by one or by a factor of two, a fraction by some percent."""
    pool = _literals(tree)
    if not pool:
        return None
    start, end = one_of(pool, rng)
    text = tree.source[start:end]
    changed = changed_number(text, rng)
    if changed is None:
        return None
    return Edit(((start, end, changed),), f"line {tree.line(start)}: {_shown(changed)} in place of {_shown(text)}")


def operator(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Exchanges an operator for another of its group."""
    pool = [
        sign
        for node in tree.of("binary_expression", "assignment_expression")
        if _is_in_function(node) and (sign := node.child_by_field_name("operator")) is not None
    ]
    groups = [(sign, group) for sign in pool for group in _OPERATOR_GROUPS if tree.text(sign) in group]
    if not groups:
        return None
    sign, group = one_of(groups, rng)
    new = one_of([each for each in group if each != tree.text(sign)], rng)
    note = f"line {tree.line(sign.start_byte)}: {_shown(new)} in place of {_shown(tree.text(sign))}"
    return replace(sign, new, note)


def changed_number(text: bytes, rng: np.random.Generator) -> bytes | None:
    """Returns a number near the one that ``text`` is, in the same form, or None when it is none that float32 holds."""
    value = integer(text)
    if value is not None:
        suffix = text[len(text.rstrip(b"uUlL")) :]
        choices = sorted({value + 1, max(0, value - 1), value * 2, value // 2} - {value})
        return str(one_of(choices, rng)).encode() + suffix
    match = _FLOAT_LITERAL.match(text)
    if match is None:
        return None
    number = float(match.group(1))
    with np.errstate(over="ignore"):
        changed = float(np.float32(number * (1.0 + 0.1 * rng.standard_normal())))
    if not np.isfinite(changed):
        return None
    written = repr(changed)
    return (written if any(mark in written for mark in ".e") else written + ".0").encode() + match.group(2)


@per_tree
def _operands(tree: Tree) -> list[Node]:
    """Returns the values in function bodies that may be exchanged: no declared names, called names or targets."""
    return [node for node in tree.of(*sorted(_VALUES)) if _is_value(node) and _is_in_function(node)]


def _is_value(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in {"function_declarator", "parameter_declaration", "template_function"}:
        return False
    for part in ("function", "declarator"):
        if parent.child_by_field_name(part) == node:
            return False
    if parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
        return node.type == "identifier"
    is_target = parent.type in {"assignment_expression", "update_expression"} and parent.named_children[0] == node
    return not (is_target and node.type != "subscript_expression")


@per_tree
def _literals(tree: Tree) -> list[tuple[int, int]]:
    """Returns where numbers stand: in function bodies, in constants of the file and in macros."""
    spans = [(node.start_byte, node.end_byte) for node in tree.of("number_literal")]
    for node in tree.of("preproc_def"):
        value = node.child_by_field_name("value")
        if value is not None and integer(tree.text(value).strip()) is not None:
            leading = len(tree.text(value)) - len(tree.text(value).lstrip())
            start = value.start_byte + leading
            spans.append((start, start + len(tree.text(value).strip())))
    return sorted(spans)


def _is_in_function(node: Node) -> bool:
    return any(above.type == "compound_statement" for above in ancestors(node))


def _guarded(text: bytes, node: Node) -> bytes:
    """Returns ``text`` in parentheses where its operators could bind to what stands around ``node``."""
    is_compound = re.search(rb"[-+*/%<>=&|?]", text) and not text.endswith(b"]")
    return b"(" + text + b")" if is_compound and node.parent and "expression" in node.parent.type else text


def _shown(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())[:40]
