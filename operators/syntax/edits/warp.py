"""CUDA and HIP: a row that one thread works on is given to a warp."""

from __future__ import annotations

import numpy as np
from tree_sitter import Node

from ..edit import Edit
from ..effects import effects
from ..loops import Loop, body_text, braced, code, loops, placed
from ..tree import Tree
from .device import device_kernels, launches
from .draw import shuffled


def warp_per_row(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Gives a row that one thread works on to the 32 threads of a warp, whose partial results are joined."""
    for function in shuffled(device_kernels(tree), rng):
        body = function.child_by_field_name("body")
        index = _thread_index(tree, body) if body is not None else None
        if body is None or index is None or b"_lane" in tree.source:
            continue
        rows = [loop for loop in loops(tree) if loop.node.parent == body]
        if not rows or any(loop.step != "1" or not _is_shareable(tree, loop) for loop in rows):
            continue
        launch = _grid(tree, function)
        if launch is None:
            continue
        name, declaration, value = index
        lane = f"{name}_lane"
        edits = [(value.start_byte, value.end_byte, b"(" + tree.text(value) + b") / 32")]
        after = f"\nconst int {lane} = threadIdx.x % 32;"
        edits.append((declaration.end_byte, declaration.end_byte, placed(tree, declaration.start_byte, after)))
        for loop in rows:
            text = _by_lanes(tree, loop, lane)
            edits.append((loop.start, loop.node.end_byte, placed(tree, loop.start, text)))
        edits.append((launch.start_byte, launch.end_byte, b"(" + tree.text(launch) + b") * 32"))
        return Edit(tuple(sorted(edits)), f"a warp for each {name}")
    return None


def _thread_index(tree: Tree, body: Node) -> tuple[str, Node, Node] | None:
    """Returns name, declaration and value of the variable that numbers the threads of a grid."""
    for part in code(body):
        if part.type != "declaration":
            continue
        declarators = part.children_by_field_name("declarator")
        value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
        name = declarators[0].child_by_field_name("declarator") if value is not None else None
        text = tree.text(value) if value is not None else b""
        if (
            name is not None
            and value is not None
            and all(each in text for each in (b"blockIdx.x", b"blockDim.x", b"threadIdx.x"))
        ):
            return tree.text(name).decode("utf-8", "replace"), part, value
    return None


def _is_shareable(tree: Tree, loop: Loop) -> bool:
    """Whether the threads of a warp may take the iterations of a loop in turn."""
    found = effects(tree, loop.body)
    known = found.reductions()
    if not found.permits([loop.variable.encode()]) or any(group not in {"+", "max", "min"} for group in known.values()):
        return False
    written = found.written() - {*known}
    return all(
        any(part is not None and any(loop.variable.encode() in monomial for monomial in part) for part in access.index)
        for name in written
        for access in found.arrays.get(name, [])
        if access.update
    ) and not written & {*found.scalars}


def _grid(tree: Tree, function: Node) -> Node | None:
    """Returns the number of blocks in the only launch of a kernel, if that is one expression."""
    configurations = launches(tree, function)
    if len(configurations) != 1 or not configurations[0].named_children:
        return None
    blocks = configurations[0].named_children[0]
    return None if b"dim3" in tree.text(blocks) else blocks


def _by_lanes(tree: Tree, loop: Loop, lane: str) -> str:
    """Returns a loop whose iterations the lanes of a warp take in turn, and the joining of what they folded."""
    text = [braced(loop.head(lower=f"{loop.lower} + {lane}", step="32"), body_text(tree, loop.body))]
    shuffle = (
        "__shfl_xor_sync(0xffffffff, {0}, {1})" if b"hipStream_t" not in tree.source else "__shfl_xor({0}, {1}, 32)"
    )
    before = []
    for name, group in sorted(effects(tree, loop.body).reductions().items()):
        variable, distance, other = name.decode("utf-8", "replace"), tree.fresh("distance"), tree.fresh("other")
        joined = f"{variable} += {other};"
        if group != "+":
            sign = ">" if group == "max" else "<"
            joined = f"{variable} = {other} {sign} {variable} ? {other} : {variable};"
        else:
            before.append(f"if ({lane} != 0) {variable} = 0;")
        step = f"const auto {other} = {shuffle.format(variable, distance)};\n{joined}"
        text.append(braced(f"for (int {distance} = 16; {distance} > 0; {distance} /= 2)", step))
    return "\n".join([*before, *text])
