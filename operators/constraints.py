"""Constraints among tunables: arithmetic that is read, never executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_MAX_LENGTH = 400


class ConstraintError(ValueError):
    """The text is no constraint; the message says what is not understood."""


@dataclass(frozen=True)
class Constraint:
    """A condition on tunables: ``+ - * / // %``, comparisons, ``and or not`` (or ``&& || !``), numbers and names.

    Attributes:
        text: As it was written.
        expression: Its tree; only nodes that `holds` understands.
    """

    text: str
    expression: ast.expr

    @classmethod
    def read(cls, text: str) -> Constraint:
        """Reads a constraint.

        Raises:
            ConstraintError: It is empty, too long or no arithmetic.
        """
        if not text or len(text) > _MAX_LENGTH:
            raise ConstraintError(f"a constraint has 1 to {_MAX_LENGTH} characters, this one {len(text)}")
        python = text.replace("&&", " and ").replace("||", " or ").replace("!=", "\0").replace("!", " not ")
        try:
            tree = ast.parse(python.replace("\0", "!=").strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ConstraintError(f"constraint {text!r} is no expression") from error
        for node in ast.walk(tree):
            if not _is_known(node):
                raise ConstraintError(f"constraint {text!r}: {type(node).__name__} is not allowed, only arithmetic is")
        return cls(text, tree)

    @property
    def names(self) -> set[str]:
        """The names that it mentions."""
        return {node.id for node in ast.walk(self.expression) if isinstance(node, ast.Name)}

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it is true; False where it cannot be computed, as in a division by zero.

        Raises:
            KeyError: A name has no value.
        """
        try:
            return bool(_computed(self.expression, values))
        except (ZeroDivisionError, TypeError, OverflowError):
            return False


def _is_known(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    known = (ast.Name, ast.Load, ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp, ast.Compare)
    return isinstance(node, (*known, *_BINARY, *_COMPARISONS, *_UNARY))


def _computed(node: ast.expr, values: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each kind of node
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=sign, right=right):
            return _BINARY[type(sign)](_computed(left, values), _computed(right, values))
        case ast.UnaryOp(op=sign, operand=inner):
            return _UNARY[type(sign)](_computed(inner, values))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_computed(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_computed(part, values) for part in parts)
        case ast.Compare(left=left, ops=signs, comparators=others):
            terms = [_computed(term, values) for term in (left, *others)]
            pairs = zip(signs, terms, terms[1:], strict=False)
            return all(_COMPARISONS[type(sign)](one, other) for sign, one, other in pairs)
        case _:
            raise TypeError(f"{type(node).__name__} is no arithmetic")
