"""Names of a C-like source: where they are declared, what kind of value they hold, where they are visible."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from .tree import Tree, ancestors, per_tree

FUNCTION_SUFFIXES = frozenset(
    [
        "acos",
        "asin",
        "atan",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "hypot",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow",
        "rint",
        "round",
        "rsqrt",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
    ]
)
"""Mathematical functions of C, without the ``f`` of their single-precision forms."""

_INTEGER = re.compile(rb"\b(int|long|short|char|bool|unsigned|signed|size_t|ssize_t|ptrdiff_t|u?int\d+_t)\b")
_FLOAT = re.compile(rb"\b(float|double|half|__half|bfloat16|__nv_bfloat16|_Float16)\b")
_SCOPES = frozenset({"compound_statement", "for_statement", "function_definition", "lambda_expression"})


@dataclass(frozen=True, slots=True)
class Name:
    """A declared variable.

    Attributes:
        text: The identifier.
        kind: ``"int"``, ``"float"``, ``"int*"``, ``"float*"`` (pointers and arrays) or ``"other"``.
        type: The declared type without pointers, e.g. ``b"const float"``.
        declarator: The node that declares it: an ``init_declarator``, or the bare declarator.
        start: From where it is visible, in bytes.
        end: Up to where.
        is_parameter: Whether it is a parameter of a function.
    """

    text: bytes
    kind: str
    type: bytes
    declarator: Node
    start: int
    end: int
    is_parameter: bool


@per_tree
def names(tree: Tree) -> tuple[Name, ...]:
    """Returns every variable that the source declares, in the order of the text."""
    declarations = tree.of("declaration", "parameter_declaration", "for_range_loop")
    found = [name for node in declarations for name in _declared(tree, node)]
    return tuple(sorted(found, key=lambda name: name.start))


def visible(tree: Tree, position: int) -> dict[bytes, Name]:
    """Returns the variables that may be named at ``position``; inner ones hide outer ones."""
    return {name.text: name for name in names(tree) if name.start <= position < name.end}


def kind_of(  # noqa: PLR0911 - one for each type of node
    tree: Tree, node: Node, scope: dict[bytes, Name], depth: int = 0
) -> str:
    """Returns the kind of value of an expression, as in `Name`."""
    if depth > 40:
        return "other"
    if node.type == "number_literal":
        text = tree.text(node).lower()
        is_float = not text.startswith(b"0x") and any(mark in text for mark in (b".", b"e", b"f"))
        return "float" if is_float else "int"
    if node.type == "identifier":
        name = scope.get(tree.text(node))
        return name.kind if name else "other"
    if node.type == "subscript_expression":
        inner = node.child_by_field_name("argument")
        kind = kind_of(tree, inner, scope, depth + 1) if inner else "other"
        return kind.removesuffix("*")
    if node.type == "call_expression":
        return "float" if is_math(function_name(tree, node)) else "other"
    if node.type == "cast_expression":
        target = node.child_by_field_name("type")
        return _kind(tree.text(target), is_pointer=b"*" in tree.text(target)) if target else "other"
    if node.type == "field_expression":
        return "int" if re.match(rb"(thread|block|grid)(Idx|Dim)\b", tree.text(node)) else "other"
    if node.type in {"binary_expression", "parenthesized_expression", "unary_expression", "conditional_expression"}:
        return _joined([kind_of(tree, child, scope, depth + 1) for child in node.named_children])
    return "other"


def function_name(tree: Tree, call: Node) -> str:
    """Returns the name that a call expression calls, without its namespace."""
    function = call.child_by_field_name("function")
    text = tree.text(function).decode("utf-8", "replace") if function else ""
    return text.rsplit("::", 1)[-1].split("<", 1)[0]


def is_math(name: str) -> bool:
    """Whether ``name`` is a mathematical function without side effects, in any precision."""
    bare = name.removeprefix("__")
    return bare in FUNCTION_SUFFIXES or bare.removesuffix("f") in FUNCTION_SUFFIXES or bare in {"max", "min", "abs"}


def bare_declarator(node: Node) -> Node | None:
    """Returns the identifier inside a declarator: ``p`` of ``*__restrict__ p`` and of ``p[4] = {}``."""
    current: Node | None = node
    while current is not None and current.type != "identifier":
        if current.type not in _DECLARATORS:
            return None
        inner = current.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (child for child in current.named_children if child.type in {*_DECLARATORS, "identifier"}), None
            )
        current = inner
    return current


_DECLARATORS = frozenset(
    {"init_declarator", "pointer_declarator", "array_declarator", "reference_declarator", "parenthesized_declarator"}
)


def _declared(tree: Tree, node: Node) -> list[Name]:
    kind_node = node.child_by_field_name("type")
    if kind_node is None:
        return []
    is_parameter = node.type == "parameter_declaration"
    scope = _scope(node, is_parameter=is_parameter)
    found = []
    for declarator in node.children_by_field_name("declarator"):
        identifier = bare_declarator(declarator)
        if identifier is None:
            continue
        before = tree.source[node.start_byte : declarator.start_byte].strip()
        kind = _kind(before, is_pointer=_is_pointer(declarator))
        if kind == "other" and b"auto" in before:
            kind = _kind_of_value(tree, declarator)
        start = node.end_byte if node.type == "declaration" else identifier.end_byte
        text = tree.text(identifier)
        found.append(Name(text, kind, before, declarator, start, scope, is_parameter))
    return found


def _kind_of_value(tree: Tree, declarator: Node) -> str:
    value = declarator.child_by_field_name("value")
    if value is None:
        return "other"
    shallow = kind_of(tree, value, {})
    return shallow if shallow != "other" else ("float" if b"." in tree.text(value) else "other")


def _scope(node: Node, *, is_parameter: bool) -> int:
    for above in ancestors(node):
        if above.type in _SCOPES and not (is_parameter and above.type == "compound_statement"):
            return above.end_byte
    return 1 << 62


def _is_pointer(declarator: Node) -> bool:
    current: Node | None = declarator
    while current is not None:
        if current.type in {"pointer_declarator", "array_declarator"}:
            return True
        if current.type not in _DECLARATORS:
            return False
        current = current.child_by_field_name("declarator")
    return False


def _kind(type_text: bytes, *, is_pointer: bool) -> str:
    kind = "float" if _FLOAT.search(type_text) else "int" if _INTEGER.search(type_text) else "other"
    return f"{kind}*" if is_pointer and kind != "other" else kind


def _joined(kinds: list[str]) -> str:
    for kind in ("float", "float*", "int*", "int"):
        if kind in kinds:
            return kind
    return "other"
