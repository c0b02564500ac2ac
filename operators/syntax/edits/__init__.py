"""The kinds of edits, by grammar and name. Each is a function of a tree and a generator."""

from __future__ import annotations

from collections.abc import Mapping

from ..edit import Kind
from . import arithmetic, condition, expression, pragma, reduction, restructure, statement, unroll

STATEMENTS: Mapping[str, Kind] = {
    "delete": statement.delete,
    "duplicate": statement.duplicate,
    "swap": statement.swap,
    "move": statement.move,
    "overwrite": statement.overwrite,
}
"""GEVO's kinds, for every grammar."""

C_LIKE: Mapping[str, Kind] = {
    **STATEMENTS,
    "operand": expression.operand,
    "constant": expression.constant,
    "operator": expression.operator,
    "pragma": pragma.pragma,
    "simd": pragma.simd,
    "restrict": pragma.restrict,
    "attribute": pragma.attribute,
    "vector_functions": pragma.vector_functions,
    "interchange": restructure.interchange,
    "tile": restructure.tile,
    "fission": restructure.fission,
    "fusion": restructure.fusion,
    "unroll": unroll.unroll,
    "jam": unroll.jam,
    "partial_results": reduction.partial_results,
    "hold_in_scalar": reduction.hold_in_scalar,
    "accumulator_block": reduction.accumulator_block,
    "hoist": arithmetic.hoist,
    "reciprocal": arithmetic.reciprocal,
    "single_precision": arithmetic.single_precision,
    "variable_type": arithmetic.variable_type,
    "guard_to_bounds": condition.guard_to_bounds,
    "search": condition.counting_search,
}

KINDS: Mapping[str, Mapping[str, Kind]] = {"cpp": C_LIKE}

WEIGHTS: Mapping[str, float] = dict.fromkeys(C_LIKE, 1.0)

__all__ = ["KINDS", "WEIGHTS"]
