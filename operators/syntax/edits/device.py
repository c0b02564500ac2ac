"""Edits for CUDA and HIP: launch bounds, block sizes, unrolling, read-only and vector loads, a warp a row."""

from __future__ import annotations

import re
import textwrap

import numpy as np
from tree_sitter import Node

from ..edit import Edit
from ..effects import effects
from ..loops import (
    Loop,
    body_text,
    braced,
    can_step,
    code,
    innermost,
    loops,
    over,
    placed,
    renamed,
    renamed_body,
    stepping,
)
from ..names import names
from ..polynomial import coefficient, integer
from ..tree import Tree, ancestors, walk
from .draw import one_of, shuffled

_BOUNDS = (64, 128, 256, 512, 1024)


def launch_bounds(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Promises the largest block of a kernel, changes the promise or takes it back."""
    kernels = device_kernels(tree)
    if not kernels:
        return None
    function = one_of(kernels, rng)
    declarator = function.child_by_field_name("declarator")
    if declarator is None:
        return None
    head = tree.source[function.start_byte : declarator.start_byte]
    match = re.search(rb"__launch_bounds__\s*\([^)]*\)\s*", head)
    fewest = one_of(("", "", ", 1", ", 2", ", 4"), rng)
    text = f"__launch_bounds__({one_of(_BOUNDS, rng)}{fewest}) ".encode()
    line = tree.line(function.start_byte)
    if match is None:
        return Edit(((declarator.start_byte, declarator.start_byte, text),), f"line {line}: {text.decode()}")
    start = function.start_byte + match.start()
    new = b"" if rng.random() < 0.3 else text
    return Edit(((start, start + len(match.group()), new),), f"line {line}: {new.decode() or 'no launch bounds'}")


def block_size(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Doubles or halves a power of two wherever it stands, and ``n - 1`` of a division that rounds up with it."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for node in tree.of("number_literal"):
        spans.setdefault(integer(tree.text(node)) or 0, []).append((node.start_byte, node.end_byte))
    for node in tree.of("preproc_def"):
        value = node.child_by_field_name("value")
        text = tree.text(value) if value is not None else b""
        if value is not None and integer(text.strip()) is not None:
            start = value.start_byte + len(text) - len(text.lstrip())
            spans.setdefault(integer(text.strip()) or 0, []).append((start, start + len(text.strip())))
    powers = [value for value in sorted(spans) if 4 <= value <= 2048 and not value & (value - 1)]
    if not powers:
        return None
    old = one_of(powers, rng)
    new = min(1024, old * 2) if rng.random() < 0.5 else max(1, old // 2)
    places = spans[old] if rng.random() < 0.8 else [one_of(spans[old], rng)]
    edits = [(start, end, str(new).encode()) for start, end in places]
    if len(places) == len(spans[old]):
        edits += [(start, end, str(new - 1).encode()) for start, end in spans.get(old - 1, ())]
    return Edit(tuple(sorted(edits)), f"{new} in place of {old} at {len(edits)} places")


def device_unroll(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Inserts, changes or drops ``#pragma unroll``."""
    pool = [loop for loop in loops(tree) if _kernel_of(loop.node, tree) is not None]
    if not pool:
        return None
    loop = one_of(pool, rng)
    text = one_of(
        ("#pragma unroll", "#pragma unroll 1", "#pragma unroll 2", "#pragma unroll 4", "#pragma unroll 8"), rng
    )
    line = text.encode() + b"\n" + tree.indent(loop.node.start_byte)
    if loop.start != loop.node.start_byte and rng.random() < 0.4:
        line = b""
    parent = loop.node.parent
    if parent is not None and parent.type == "compound_statement":
        return Edit(((loop.start, loop.node.start_byte, line),), f"line {tree.line(loop.node.start_byte)}: {text}")
    return None


def read_only_load(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Reads a constant parameter through ``__ldg``, everywhere or at one place; or takes it back."""
    known = {
        name.text for name in names(tree) if name.is_parameter and name.kind.endswith("*") and b"const" in name.type
    }
    reads, wrapped = [], []
    for node in tree.of("subscript_expression"):
        base = node.child_by_field_name("argument")
        if base is None or tree.text(base) not in known or _kernel_of(node, tree) is None:
            continue
        parent = node.parent
        if parent is not None and parent.type == "pointer_expression":
            call = _load_around(tree, parent)
            if call is not None:
                wrapped.append((call, node))
        else:
            reads.append(node)
    if wrapped and (not reads or rng.random() < 0.3):
        call, node = one_of(wrapped, rng)
        return Edit(((call.start_byte, call.end_byte, tree.text(node)),), "plain load in place of __ldg")
    if not reads:
        return None
    chosen = reads if rng.random() < 0.5 else [one_of(reads, rng)]
    chosen = [node for node in chosen if not any(above in chosen for above in ancestors(node))]
    edits = tuple((node.start_byte, node.end_byte, b"__ldg(&" + tree.text(node) + b")") for node in chosen)
    return Edit(edits, f"__ldg at {len(edits)} places")


def shared_padding(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Adds or takes away one column of a shared array of two dimensions, against bank conflicts."""
    pool = []
    for node in tree.of("declaration"):
        if b"__shared__" in tree.text(node):
            arrays = [each for each in walk(node) if each.type == "array_declarator"]
            if len(arrays) == 2 and (size := arrays[0].child_by_field_name("size")) is not None:
                pool.append(size)
    if not pool:
        return None
    size = one_of(pool, rng)
    text = tree.text(size)
    padded = re.fullmatch(rb"(.+?)\s*\+\s*1", text)
    value = integer(text)
    if value is not None:
        new = str(value - 1 if value % 2 else value + 1).encode()
    else:
        new = padded.group(1) if padded else text + b" + 1"
    return Edit(((size.start_byte, size.end_byte, new),), f"{new.decode('utf-8', 'replace')} columns in a shared array")


def vector_load(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Reads four neighbouring elements at once as a ``float4``, where the address is aligned."""
    for loop in shuffled(innermost(tree), rng):
        found = effects(tree, loop.body)
        if not can_step(loop) or not found.is_plain or _kernel_of(loop.node, tree) is None:
            continue
        readable = {name.text for name in names(tree) if name.type.split() == [b"const", b"float"]}
        for name in shuffled(sorted(found.touched() - found.written()), rng):
            accesses = found.arrays.get(name, [])
            texts = {tree.text(access.node) for access in accesses}
            index = accesses[0].index if accesses else ()
            if name not in readable or len(texts) != 1 or len(index) != 1 or index[0] is None:
                continue
            if coefficient(index[0], loop.variable.encode()) == {(): 1}:
                text = _with_vector(tree, loop, accesses[0].node)
                return over(tree, loop, text, f"read {name.decode()} four at a time")
    return None


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


def device_kernels(tree: Tree) -> list[Node]:
    """Returns the functions that are launched on a device."""
    found = []
    for node in tree.of("function_definition"):
        body = node.child_by_field_name("body")
        if body is not None and b"__global__" in tree.source[node.start_byte : body.start_byte]:
            found.append(node)
    return found


def _kernel_of(node: Node, tree: Tree) -> Node | None:
    kernels = device_kernels(tree)
    return next((above for above in ancestors(node) if above in kernels), None)


def _load_around(tree: Tree, pointer: Node) -> Node | None:
    arguments = pointer.parent
    call = arguments.parent if arguments is not None else None
    function = call.child_by_field_name("function") if call is not None else None
    return call if function is not None and tree.text(function) == b"__ldg" else None


def _with_vector(tree: Tree, loop: Loop, element: Node) -> str:
    vector = tree.fresh("four")
    text = tree.text(element).decode("utf-8", "surrogatepass")
    copies = [f"const float4 {vector} = *reinterpret_cast<const float4*>(&{text});"]
    for place, part in enumerate("xyzw"):
        moved = f"({loop.variable} + {place})" if place else loop.variable
        copy = renamed_body(tree, loop.body, {text: f"{vector}.{part}", loop.variable: moved})
        copies.append("{\n" + textwrap.indent(copy, "  ") + "\n}")
    first = renamed(tree, element, {loop.variable: f"({loop.lower})"})
    fast = "\n".join(stepping(tree, loop, 4, "\n".join(copies)))
    slow = braced(loop.head(), body_text(tree, loop.body))
    return braced(f"if (reinterpret_cast<unsigned long long>(&{first}) % 16 == 0)", fast) + "\n" + braced("else", slow)


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
    declarator = function.child_by_field_name("declarator")
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    if inner is None:
        return None
    calls = []
    for node in tree.of("call_expression"):
        target = node.child_by_field_name("function")
        if target is not None and tree.text(target) == tree.text(inner):
            calls.append(node)
    configurations = [each for call in calls for each in call.named_children if each.type == "kernel_call_syntax"]
    if len(calls) != 1 or len(configurations) != 1 or not configurations[0].named_children:
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
