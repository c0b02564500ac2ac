"""The kinds of edits, by grammar and name. Each is a function of a tree and a generator."""

from __future__ import annotations

from collections.abc import Mapping

from ..edit import Kind
from . import (
    arithmetic,
    condition,
    device,
    expression,
    launch,
    numba,
    opencl,
    pragma,
    python_code,
    reduction,
    restructure,
    shared_tile,
    statement,
    triton,
    unroll,
    warp,
)

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

_OF_A_CPU = ("pragma", "simd", "attribute", "vector_functions")

CUDA: Mapping[str, Kind] = {
    **{name: kind for name, kind in C_LIKE.items() if name not in _OF_A_CPU},
    "launch_bounds": device.launch_bounds,
    "block_size": device.block_size,
    "block_shape": launch.block_shape,
    "device_unroll": device.device_unroll,
    "read_only_load": device.read_only_load,
    "shared_tile": shared_tile.shared_tile,
    "shared_padding": device.shared_padding,
    "vector_load": device.vector_load,
    "warp_per_row": warp.warp_per_row,
}

OPENCL: Mapping[str, Kind] = {
    **{name: opencl.in_c(kind) for name, kind in C_LIKE.items() if name not in _OF_A_CPU},
    "block_size": device.block_size,
    "device_unroll": device.device_unroll,
    "work_group": opencl.work_group,
    "native_function": opencl.native_function,
}

PYTHON: Mapping[str, Kind] = {
    **STATEMENTS,
    "operand": python_code.operand,
    "constant": python_code.constant,
    "operator": python_code.operator,
    "block_size": python_code.block_size,
    "interchange": python_code.loop_order,
    "hoist": python_code.hoist,
    "launch_option": triton.launch_option,
    "memory_hint": triton.memory_hint,
    "loop_kind": triton.loop_kind,
    "mask": triton.mask,
    "precision": triton.precision,
    "axis": triton.axis,
    "alignment_hint": triton.alignment_hint,
    "compile_option": numba.compile_option,
    "hold_in_variable": numba.hold_in_variable,
}

KINDS: Mapping[str, Mapping[str, Kind]] = {"cpp": C_LIKE, "cuda": CUDA, "opencl": OPENCL, "python": PYTHON}
"""By the grammar of a source."""

WEIGHTS: Mapping[str, float] = {
    **dict.fromkeys(STATEMENTS, 0.3),
    **dict.fromkeys(("operand", "constant", "operator"), 0.3),
    "pragma": 1.0,
    "simd": 3.0,
    "restrict": 1.0,
    "attribute": 1.0,
    "vector_functions": 3.0,
    "interchange": 4.0,
    "tile": 2.0,
    "fission": 1.0,
    "fusion": 1.0,
    "unroll": 1.0,
    "jam": 2.0,
    "partial_results": 3.0,
    "hold_in_scalar": 3.0,
    "accumulator_block": 3.0,
    "hoist": 1.5,
    "reciprocal": 2.0,
    "single_precision": 2.0,
    "variable_type": 1.0,
    "guard_to_bounds": 3.0,
    "search": 2.0,
    "launch_bounds": 1.5,
    "block_size": 4.0,
    "block_shape": 2.0,
    "device_unroll": 1.5,
    "read_only_load": 1.5,
    "shared_tile": 3.0,
    "shared_padding": 1.0,
    "vector_load": 2.0,
    "warp_per_row": 3.0,
    "launch_option": 3.0,
    "memory_hint": 2.0,
    "loop_kind": 2.0,
    "mask": 0.5,
    "precision": 1.0,
    "axis": 1.0,
    "alignment_hint": 1.0,
    "compile_option": 1.0,
    "hold_in_variable": 1.5,
    "work_group": 4.0,
    "native_function": 2.0,
}
"""How often each kind is drawn where it applies.

Set by hand, after looking at which kinds made faster children in trials of single edits and in short searches on the
ten C++ tasks that come with the project; those for CUDA, OpenCL and Python-hosted kernels are guesses by analogy.
"""

__all__ = ["KINDS", "WEIGHTS"]
