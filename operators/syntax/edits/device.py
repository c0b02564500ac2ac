"""Edits for CUDA and HIP: launch bounds, block sizes, unrolling, read-only and vector loads."""

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
    innermost,
    loops,
    over,
    renamed,
    renamed_body,
    stepping,
)
from ..names import names
from ..polynomial import coefficient, integer
from ..tree import Tree, ancestors, walk
from .draw import one_of, shuffled

_OPENCL_KERNEL = re.compile(rb"\b(?:__)?kernel\b[^;{}]*\Z")
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
    most = [bound for bound in _BOUNDS if bound >= _threads(tree, function)] or [_BOUNDS[-1]]
    text = f"__launch_bounds__({one_of(most, rng)}{fewest}) ".encode()
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
            words = {tree.text(node) for node in walk(accesses[0].node) if node.type == "identifier"}
            if words & found.declared:  # the address is taken before the loop
                continue
            if coefficient(index[0], loop.variable.encode()) == {(): 1}:
                text = _with_vector(tree, loop, accesses[0].node)
                return over(tree, loop, text, f"read {name.decode()} four at a time")
    return None


def device_kernels(tree: Tree) -> list[Node]:
    """Returns the functions that are launched on a device."""
    found = []
    for node in tree.of("function_definition"):
        body = node.child_by_field_name("body")
        head = tree.source[node.start_byte : body.start_byte] if body is not None else b""
        before = tree.source[max(0, node.start_byte - 200) : node.start_byte]
        if b"__global__" in head or (tree.grammar == "opencl" and _OPENCL_KERNEL.search(before + head)):
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


def _threads(tree: Tree, function: Node) -> int:
    """Returns the largest block that a kernel is launched with, as far as literals tell."""
    most = 1
    for configuration in launches(tree, function):
        threads = 1
        for node in walk(configuration.named_children[1]) if configuration.named_child_count > 1 else ():
            threads *= (integer(tree.text(node)) or 1) if node.type == "number_literal" else 1
        most = max(most, threads)
    return most


def launches(tree: Tree, function: Node) -> list[Node]:
    """Returns what stands between ``<<<`` and ``>>>`` in the launches of a kernel."""
    declarator = function.child_by_field_name("declarator")
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    calls = []
    for node in tree.of("call_expression"):
        target = node.child_by_field_name("function")
        if inner is not None and target is not None and tree.text(target) == tree.text(inner):
            calls.append(node)
    return [each for call in calls for each in call.named_children if each.type == "kernel_call_syntax"]
