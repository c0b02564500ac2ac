"""CUDA and HIP: the shape of blocks, one axis at a time, with the grid that rounds up to it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product

import numpy as np
from tree_sitter import Node

from ..definitions import index_nodes
from ..edit import Edit
from ..polynomial import integer
from ..tree import Tree, walk
from .device import device_kernels, launches
from .draw import one_of, shuffled

_WARP, _MOST_THREADS = 32, 1024
_SIZES = tuple(1 << power for power in range(11))
_BOUNDS = re.compile(rb"__launch_bounds__\s*\(\s*(\d+)")


def block_shape(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Draws another size of one axis of a block, for which another axis may make up, as in 32 x 8 for 16 x 16.

    Launch bounds that the block outgrows grow with it, and shared arrays with an element for each thread of an axis.
    """
    found = [(kernel, launch) for kernel in device_kernels(tree) for launch in launches(tree, kernel)]
    for kernel, launch in shuffled(found, rng):
        grid, block = (axes(tree, node) for node in [*launch.named_children, launch, launch][:2])
        old = [integer(tree.text(axis)) or 0 if axis.type == "number_literal" else 0 for axis in block]
        shapes = _shapes(old) if all(old) else []
        if not shapes:
            continue
        new = one_of(shapes, rng)
        edits = [_sized(block[at], size) for at, size in enumerate(new)]
        for at, axis in enumerate(grid[: len(new)]):
            edits += _rounded(tree, axis, old[at], new[at])
        head = tree.source[kernel.start_byte : kernel.end_byte]
        bounds = _BOUNDS.search(head)
        if bounds is not None and int(bounds[1]) < math.prod(new):
            start, end = (kernel.start_byte + at for at in bounds.span(1))
            edits.append((start, end, str(math.prod(new)).encode()))
        edits += [_sized(size, new[at]) for size, at in _tile_sizes(tree, kernel, old) if old[at] != new[at]]
        kept = tuple(edit for edit in sorted(edits) if edit[2] != tree.source[edit[0] : edit[1]])
        return Edit(kept, f"line {tree.line(launch.start_byte)}: blocks of {' x '.join(map(str, new))}")
    return None


def _shapes(old: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns other sizes of a block's axes: one differs, and maybe another that makes up for it."""
    found = set()
    for at, size in product(range(len(old)), _SIZES):
        one = (*old[:at], size, *old[at + 1 :])
        found.add(one)
        for other in {*range(len(old))} - {at}:
            found.add((*one[:other], max(1, old[at] * old[other] // size), *one[other + 1 :]))
    return sorted(shape for shape in found - {tuple(old)} if _WARP <= math.prod(shape) <= _MOST_THREADS)


def axes(tree: Tree, node: Node) -> list[Node]:
    """Returns what stands for each axis of a grid or a block."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is not None and arguments is not None and tree.text(function) == b"dim3":
        return arguments.named_children
    return [node]


def _tile_sizes(tree: Tree, kernel: Node, block: Sequence[int]) -> list[tuple[Node, int]]:
    """Returns sizes of shared arrays that are those of an axis of the block, whose threads they are indexed by."""
    shared: dict[bytes, list[Node | None]] = {}
    for declaration in (each for each in tree.of("declaration") if b"__shared__" in tree.text(each)):
        for array in (each for each in declaration.named_children if each.type == "array_declarator"):
            sizes: list[Node | None] = []
            name = array
            while name.type == "array_declarator" and (inner := name.child_by_field_name("declarator")) is not None:
                sizes.insert(0, name.child_by_field_name("size"))
                name = inner
            shared[tree.text(name)] = sizes
    found: dict[int, tuple[Node, int]] = {}
    for element in (each for each in walk(kernel) if each.type == "subscript_expression"):
        indices = index_nodes(element)
        base = tree.text(element).split(b"[")[0].strip()
        for size, index in zip(shared.get(base, ()), indices, strict=False):
            for at, axis in enumerate((b"threadIdx.x", b"threadIdx.y", b"threadIdx.z")[: len(block)]):
                if size is not None and tree.text(index) == axis and integer(tree.text(size)) == block[at]:
                    found[size.start_byte] = (size, at)
    return list(found.values())


def _sized(axis: Node, size: int) -> tuple[int, int, bytes]:
    return axis.start_byte, axis.end_byte, str(size).encode()


def _rounded(tree: Tree, axis: Node, old: int, new: int) -> list[tuple[int, int, bytes]]:
    """Returns the edits of a grid's axis that divides by the old size of a block and rounds up."""
    literals = [node for node in walk(axis) if node.type == "number_literal"]
    changes = {old: new, old - 1: new - 1} if any(integer(tree.text(each)) == old for each in literals) else {}
    numbers = [(node, integer(tree.text(node))) for node in literals]
    return [_sized(node, changes[number]) for node, number in numbers if number in changes]
