"""Array indices as polynomials: ``i * N + j`` is ``{(N, i): 1, (j,): 1}``, however it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tree_sitter import Node

from .tree import Tree

Polynomial = Mapping[tuple[bytes, ...], int]
"""Integer coefficients by monomial; a monomial is its sorted factors, ``()`` the constant.

A factor is an identifier, or the text of a quotient such as ``(K - 1) / 2``, which is taken as a whole.
"""

_WORD = re.compile(rb"[A-Za-z_]\w*")
_MAX_DEPTH = 40
_MAX_TERMS = 64


def polynomial(  # noqa: PLR0911 - one for each type of node
    tree: Tree, node: Node, definitions: Mapping[bytes, Polynomial] | None = None, depth: int = 0
) -> Polynomial | None:
    """Returns the polynomial that an expression computes, or None where it is no polynomial.

    Args:
        tree: Holds ``node``.
        node: An expression.
        definitions: What to put in place of an identifier.
        depth: Of the recursion so far.
    """
    if depth > _MAX_DEPTH:
        return None
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return polynomial(tree, node.named_children[0], definitions, depth + 1)
    if node.type == "number_literal":
        value = integer(tree.text(node))
        return None if value is None else ({(): value} if value else {})
    if node.type in {"identifier", "field_expression"}:
        name = tree.text(node)
        return (definitions or {}).get(name, {(name,): 1})
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return None
        one = polynomial(tree, left, definitions, depth + 1)
        other = polynomial(tree, right, definitions, depth + 1)
        if tree.text(operator) == b"/" and one is not None and other is not None:
            known = {*(definitions or {})}
            return None if known & {*_WORD.findall(tree.text(node))} else {(tree.text(node),): 1}
        return _combined(one, tree.text(operator), other)
    return None


def integer(text: bytes) -> int | None:
    """Returns the value of an integer literal, or None when it is none."""
    digits = text.rstrip(b"uUlL").replace(b"'", b"")
    try:
        return int(digits, 16) if digits[:2] in {b"0x", b"0X"} else int(digits)
    except ValueError:
        return None


def coefficient(of: Polynomial, variable: bytes) -> Polynomial | None:
    """Returns what ``variable`` is multiplied with, or None where it occurs in a power or not linearly."""
    found: dict[tuple[bytes, ...], int] = {}
    for monomial, factor in of.items():
        count = monomial.count(variable)
        if count > 1 or any(name != variable and mentions(name, variable) for name in monomial):
            return None
        if count == 1:
            rest = tuple(name for name in monomial if name != variable)
            found[rest] = factor
    return found


def without(of: Polynomial, variable: bytes) -> Polynomial:
    """Returns the terms in which ``variable`` does not occur."""
    return {monomial: factor for monomial, factor in of.items() if variable not in monomial}


def added(one: Polynomial, other: Polynomial, sign: int = 1) -> Polynomial:
    """Returns ``one + sign * other``."""
    total = dict(one)
    for monomial, factor in other.items():
        total[monomial] = total.get(monomial, 0) + sign * factor
    return {monomial: factor for monomial, factor in total.items() if factor}


def mentions(factor: bytes, variable: bytes) -> bool:
    """Whether ``variable`` occurs in a factor of a monomial."""
    return variable in words(factor)


def words(factor: bytes) -> list[bytes]:
    """Returns the identifiers in a factor of a monomial."""
    return _WORD.findall(factor)


def written_out(of: Polynomial) -> str:
    """Returns the expression that a polynomial stands for."""
    terms = []
    for monomial, factor in of.items():
        names = (
            [name.decode() if _WORD.fullmatch(name) else f"({name.decode()})" for name in monomial] if monomial else []
        )
        size = [] if abs(factor) == 1 and names else [str(abs(factor))]
        terms.append(("-" if factor < 0 else "+", " * ".join([*size, *names])))
    terms.sort(key=lambda term: term[0] == "-")  # a leading minus only where there is no other way
    if not terms:
        return "0"
    sign, first = terms[0]
    return ("-" if sign == "-" else "") + first + "".join(f" {sign} {term}" for sign, term in terms[1:])


def _combined(one: Polynomial | None, operator: bytes, other: Polynomial | None) -> Polynomial | None:
    if one is None or other is None:
        return None
    if operator in {b"+", b"-"}:
        return added(one, other, 1 if operator == b"+" else -1)
    if operator != b"*" or len(one) * len(other) > _MAX_TERMS:
        return None
    total: Polynomial = {}
    for monomial, factor in one.items():
        for second, weight in other.items():
            total = added(total, {tuple(sorted(monomial + second)): factor * weight})
    return total
