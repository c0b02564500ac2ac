"""Edits that know Triton: launch options, memory hints, pipelined loops (of CuTe too), masks, precision."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..tree import Tree, ancestors
from .draw import one_of

_OPTIONS = {b"num_warps": (1, 2, 4, 8, 16), b"num_stages": (1, 2, 3, 4, 5)}
_LOAD_HINTS = {
    b"eviction_policy": (b'"evict_first"', b'"evict_last"'),
    b"cache_modifier": (b'".ca"', b'".cg"', b'".cv"'),
}
_STORE_HINTS = {
    b"eviction_policy": (b'"evict_first"', b'"evict_last"'),
    b"cache_modifier": (b'".wb"', b'".cg"', b'".cs"', b'".wt"'),
}
_PROMISES = frozenset({b"tl.multiple_of", b"tl.max_contiguous"})
_FLOATS = (b"tl.float32", b"tl.float16", b"tl.bfloat16")
_LOOPS = {
    b"tl.": (b"range", b"tl.range", b"tl.static_range"),
    b"cutlass": (b"range", b"cutlass.range"),
}
"""Kinds of loops, by what a source of their language speaks of."""
_LOOP_OPTIONS: dict[bytes, list[tuple[bytes, tuple[bytes, ...]]]] = {
    b"tl.range": [(b"num_stages", (b"1", b"2", b"3", b"4")), (b"loop_unroll_factor", (b"1", b"2", b"4"))],
    b"cutlass.range": [(b"unroll", (b"1", b"2", b"4", b"8", b"16"))],
}
_PRECISIONS = (b'"ieee"', b'"tf32"', b'"tf32x3"')


def launch_option(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Sets the number of warps or of pipeline stages of a launch or configuration."""
    name = one_of(sorted(_OPTIONS), rng)
    calls = [call for call in tree.of("call") if _is_launch(tree, call)]
    if not calls:
        return None
    return _with_argument(tree, one_of(calls, rng), name, [str(each).encode() for each in _OPTIONS[name]], rng)


def memory_hint(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Adds, changes or drops a hint of a load or store to the caches."""
    calls = [call for call in tree.of("call") if _called(tree, call) in {b"tl.load", b"tl.store"}]
    if not calls:
        return None
    call = one_of(calls, rng)
    hints = _LOAD_HINTS if _called(tree, call) == b"tl.load" else _STORE_HINTS
    name = one_of(sorted(hints), rng)
    present = _argument(tree, call, name)
    if present is not None and rng.random() < 0.4:
        return _without(tree, present, f"line {tree.line(call.start_byte)}: no {name.decode()}")
    return _with_argument(tree, call, name, hints[name], rng)


def loop_kind(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Makes a loop of a kernel a pipelined, a plain or an unrolled one; knows Triton's loops and CuTe's."""
    kinds = next((kinds for word, kinds in _LOOPS.items() if word in tree.source), ())
    pool = [call for node in tree.of("for_statement") if (call := _range_of(tree, node, kinds)) is not None]
    if not pool:
        return None
    call = one_of(pool, rng)
    old = _called(tree, call)
    if old in _LOOP_OPTIONS and rng.random() < 0.6:
        return _with_argument(tree, call, *one_of(_LOOP_OPTIONS[old], rng), rng)
    text = one_of([each for each in kinds if each != old], rng)
    arguments = [tree.text(each) for each in _arguments(call) if each.type != "keyword_argument"]
    if text == b"cutlass.range":  # alone, it is a plain one
        arguments.append(b"unroll=" + one_of((b"2", b"4", b"8", b"16"), rng))
    new = text + b"(" + b", ".join(arguments) + b")"
    return replace(call, new, f"line {tree.line(call.start_byte)}: {text.decode()}")


def mask(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Drops the mask of a load or store, or what a load puts where its mask is false."""
    pool = [call for call in tree.of("call") if _called(tree, call) in {b"tl.load", b"tl.store"}]
    found = [argument for call in pool for name in (b"mask", b"other") if (argument := _argument(tree, call, name))]
    if not found:
        return None
    chosen = one_of(found, rng)
    return _without(
        tree, chosen, f"line {tree.line(chosen.start_byte)}: no {tree.text(chosen).split(b'=')[0].decode()}"
    )


def precision(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Changes the type of an accumulator or the precision of a matrix product."""
    types = [node for node in tree.of("attribute") if tree.text(node) in _FLOATS]
    products = [call for call in tree.of("call") if _called(tree, call) == b"tl.dot"]
    if products and (not types or rng.random() < 0.5):
        return _with_argument(tree, one_of(products, rng), b"input_precision", _PRECISIONS, rng)
    if not types:
        return None
    node = one_of(types, rng)
    text = one_of([each for each in _FLOATS if each != tree.text(node)], rng)
    return replace(node, text, f"line {tree.line(node.start_byte)}: {text.decode()}")


def alignment_hint(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Promises that offsets are multiples of a power of two, or contiguous in such blocks; or takes a promise back."""
    calls = tree.of("call")
    promised = [call for call in calls if _called(tree, call) in _PROMISES and _arguments(call)]
    if promised and rng.random() < 0.4:
        call = one_of(promised, rng)
        return replace(call, tree.text(_arguments(call)[0]), f"line {tree.line(call.start_byte)}: no promise")
    ranges = [call for call in calls if _called(tree, call) == b"tl.arange"]
    values = [node for call in ranges if (node := _value_of(call)) is not None]
    values = [node for node in values if not any(tree.text(node).startswith(each) for each in _PROMISES)]
    if not values:
        return None
    node, name, number = one_of(values, rng), one_of(sorted(_PROMISES), rng), str(one_of((4, 8, 16), rng)).encode()
    text = name + b"(" + tree.text(node) + b", " + number + b")"
    return replace(node, text, f"line {tree.line(node.start_byte)}: {name.decode()} {number.decode()}")


def _value_of(call: Node) -> Node | None:
    """Returns the whole value of the assignment that a call is part of."""
    for above in ancestors(call):
        if above.type == "assignment":
            return above.child_by_field_name("right")
    return None


def axis(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Exchanges the first two axes of the grid, in the kernel and where it is launched."""
    del rng
    calls = [call for call in tree.of("call") if _called(tree, call) in {b"tl.program_id", b"tl.num_programs"}]
    numbers = [_arguments(call)[0] for call in calls if _arguments(call) and _arguments(call)[0].type == "integer"]
    if {tree.text(node) for node in numbers} != {b"0", b"1"}:
        return None
    edits = [(node.start_byte, node.end_byte, b"1" if tree.text(node) == b"0" else b"0") for node in numbers]
    for assignment in tree.of("assignment"):
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is None or right is None or right.type != "tuple" or tree.text(left) != b"grid":
            continue
        first, second, *_ = [*right.named_children, None, None]
        if first is not None and second is not None:
            edits += [(first.start_byte, first.end_byte, tree.text(second))]
            edits += [(second.start_byte, second.end_byte, tree.text(first))]
    return Edit(tuple(sorted(edits)), "exchanged the axes of the grid")


def _is_launch(tree: Tree, call: Node) -> bool:
    function = call.child_by_field_name("function")
    if function is None or b"triton" not in tree.source:
        return False
    return function.type == "subscript" or tree.text(function).endswith(b"Config")


def _called(tree: Tree, call: Node) -> bytes:
    function = call.child_by_field_name("function")
    return tree.text(function) if function is not None else b""


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []


def _argument(tree: Tree, call: Node, name: bytes) -> Node | None:
    for node in _arguments(call):
        key = node.child_by_field_name("name") if node.type == "keyword_argument" else None
        if key is not None and tree.text(key) == name:
            return node
    return None


def _with_argument(
    tree: Tree, call: Node, name: bytes, choices: Sequence[bytes], rng: np.random.Generator
) -> Edit | None:
    """Gives a keyword argument another value, or adds it."""
    present = _argument(tree, call, name)
    value = present.child_by_field_name("value") if present is not None else None
    old = tree.text(value) if value is not None else b""
    text = one_of([each for each in choices if each != old], rng)
    note = f"line {tree.line(call.start_byte)}: {name.decode()}={text.decode()}"
    if value is not None:
        return replace(value, text, note)
    given = _arguments(call)
    if not given:
        return None
    return Edit(((given[-1].end_byte, given[-1].end_byte, b", " + name + b"=" + text),), note)


def _without(tree: Tree, argument: Node, note: str) -> Edit:
    """Takes an argument out, with the comma before it."""
    comma = tree.source.rfind(b",", 0, argument.start_byte)
    between = tree.source[comma + 1 : argument.start_byte]
    start = comma if comma >= 0 and not between.strip() else argument.start_byte
    return Edit(((start, argument.end_byte, b""),), note)


def _range_of(tree: Tree, loop: Node, kinds: Collection[bytes]) -> Node | None:
    call = loop.child_by_field_name("right")
    return call if call is not None and call.type == "call" and _called(tree, call) in kinds else None
