"""CUDA and HIP: what threads of a block read alike in a loop is brought to shared memory, a tile at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from tree_sitter import Node

from ..definitions import index_nodes
from ..edit import Edit
from ..effects import changed_names, effects
from ..loops import LOOPS, Loop, braced, can_step, code, header_words, loops, placed, renamed, renamed_body
from ..names import names
from ..polynomial import integer
from ..tree import Tree, ancestors, walk
from .device import device_kernels, launches
from .draw import one_of, shuffled
from .launch import axes

_DEPTHS = (8, 16, 32)
_MOST_ELEMENTS = 49152 // 8
"""Of all tiles of a loop: what every GPU has of shared memory, in elements of any type."""

Axes = frozenset[str]
_ALL: Axes = frozenset("xyz")
_SOMETIMES = LOOPS | {"if_statement", "conditional_expression", "switch_statement"}


@dataclass(frozen=True, slots=True)
class _Read:
    """An element that a loop reads, and how a block shares it.

    Attributes:
        node: The element.
        type: Of the element.
        own: The axis of the block along which threads read different elements; empty where all read the same.
        along: The axis along which they read the same, so that they can share the work of reading.
        width: Size of the block along ``own``; 1 where all read the same.
        unless: Conditions under which the element may not be there.
    """

    node: Node
    type: str
    own: str
    along: str
    width: int
    unless: tuple[str, ...]


def shared_tile(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Splits a loop into tiles; a block's threads bring each to shared memory together and read it from there.

    Threads that would have returned before stay until after the loop, as all must arrive at its barriers.
    """
    for function in shuffled(device_kernels(tree), rng):
        body, block = function.child_by_field_name("body"), _block(tree, function)
        if body is None or not block:
            continue
        known = _dependence(tree, body)
        for loop in shuffled([loop for loop in loops(tree) if loop.node.parent == body], rng):
            guard = _guard(tree, body, loop)
            reads = _reads(tree, loop, guard, known, block)
            depths = [each for each in _DEPTHS if each * sum(read.width for read in reads) <= _MOST_ELEMENTS]
            if reads and depths and _is_uniform(tree, body, loop, guard, known):
                return _tiled(tree, loop, guard, reads, one_of(depths, rng))
    return None


def _block(tree: Tree, function: Node) -> Mapping[str, int]:
    """Returns the sizes of the axes of a kernel's blocks that have several threads; empty where they are not known."""
    configurations = launches(tree, function)
    if len(configurations) != 1 or configurations[0].named_child_count < 2:
        return {}
    sizes = [integer(tree.text(axis)) for axis in axes(tree, configurations[0].named_children[1])]
    if any(size is None for size in sizes):
        return {}
    return {name: size for name, size in zip("xyz", sizes, strict=False) if size is not None and size > 1}


def _dependence(tree: Tree, body: Node) -> dict[bytes, Axes]:
    """Returns by what axes of the block the variables of a function differ."""
    known: dict[bytes, Axes] = {}
    changed = changed_names(tree, body)
    for name in names(tree):
        if name.is_parameter or not body.start_byte <= name.start < body.end_byte:
            continue
        value = name.declarator.child_by_field_name("value")
        is_clear = value is not None and name.text not in changed and name.text not in known
        known[name.text] = _axes_of(tree, value, known) if is_clear and value is not None else _ALL
    return known


def _axes_of(tree: Tree, node: Node, known: Mapping[bytes, Axes]) -> Axes:
    """Returns by what axes of the block a value differs."""
    found: set[str] = set()
    for each in walk(node):
        text = tree.text(each)
        if each.type == "field_expression" and text.startswith(b"threadIdx."):
            found.add(text[-1:].decode())
        elif each.type == "identifier":
            found |= known.get(text, frozenset())
    return frozenset(found)


def _guard(tree: Tree, body: Node, loop: Loop) -> Node | None:
    """Returns the statement before a loop that sends threads home which have nothing to do, if there is one."""
    for part in code(body):
        if part.start_byte > loop.start:
            break
        taken = part.child_by_field_name("consequence") if part.type == "if_statement" else None
        if taken is not None and part.child_by_field_name("alternative") is None:
            inner = code(taken) if taken.type == "compound_statement" else [taken]
            if [tree.text(each) for each in inner] == [b"return;"]:
                return part
    return None


def _is_uniform(tree: Tree, body: Node, loop: Loop, guard: Node | None, known: Mapping[bytes, Axes]) -> bool:
    """Whether all threads of a block can run a loop alike, those too that the guard sends home."""
    if any(known.get(word.encode(), frozenset()) for word in header_words(tree, loop) - {loop.variable}):
        return False
    leaves = [node for node in walk(body) if node.type == "return_statement" and node.start_byte < loop.start]
    if guard is None:
        return not leaves
    between = [part for part in code(body) if guard.end_byte <= part.start_byte < loop.start]
    is_harmless = all(
        part.type == "declaration"
        and not any(node.type in {"subscript_expression", "pointer_expression"} for node in walk(part))
        for part in between
    )
    return len(leaves) == 1 and is_harmless and all(len(_axes_of(tree, each, known)) < 2 for each in _reasons(guard))


def _reasons(guard: Node | None) -> Iterator[Node]:
    """Yields what a guard's condition joins by ``||``."""
    stack = [guard.child_by_field_name("condition")] if guard is not None else []
    while stack:
        node = stack.pop()
        operator = node.child_by_field_name("operator") if node is not None else None
        if node is None:
            continue
        if node.type in {"condition_clause", "parenthesized_expression"}:
            stack += node.named_children
        elif operator is not None and operator.type == "||":
            stack += [node.child_by_field_name("right"), node.child_by_field_name("left")]
        else:
            yield node


def _reads(
    tree: Tree, loop: Loop, guard: Node | None, known: Mapping[bytes, Axes], block: Mapping[str, int]
) -> list[_Read]:
    """Returns the elements of constant parameters that a loop reads and its block can share, one of each text."""
    found = effects(tree, loop.body)
    if not can_step(loop) or not found.is_plain or not loop.type:
        return []
    constant = {name.text: name for name in names(tree) if name.is_parameter and b"const" in name.type.split()}
    reads: dict[bytes, _Read] = {}
    for name in sorted(found.touched() - found.written()):
        for access in found.arrays.get(name, []) if name in constant else []:
            words = {tree.text(node) for node in walk(access.node) if node.type == "identifier"}
            if len(index_nodes(access.node)) != 1 or loop.variable.encode() not in words or name not in words:
                continue
            if words & (found.declared | found.written()) or _is_conditional(tree, access.node, loop):
                continue
            outside = {word: axes for word, axes in known.items() if word != loop.variable.encode()}
            own = _axes_of(tree, access.node, outside) & {*block}
            along = sorted({*block} - own)
            if len(own) < 2 and along:
                kind = constant[name].type.replace(b"const", b"").strip().decode("utf-8", "replace")
                reasons = [each for each in _reasons(guard) if _axes_of(tree, each, known) <= own]
                unless = tuple(tree.text(each).decode("utf-8", "replace") for each in reasons)
                axis, width = next(iter(own), ""), max((block[each] for each in own), default=1)
                reads[tree.text(access.node)] = _Read(access.node, kind, axis, along[0], width, unless)
    return list(reads.values())


def _is_conditional(tree: Tree, node: Node, loop: Loop) -> bool:
    """Whether an iteration may leave an element out, which then may not be there at all."""
    inside = takewhile(lambda above: above != loop.node, ancestors(node))
    return any(
        above.type in _SOMETIMES
        or (above.type == "binary_expression" and {b"&&", b"||"} & {tree.text(each) for each in above.children})
        for above in inside
    )


def _tiled(tree: Tree, loop: Loop, guard: Node | None, reads: Sequence[_Read], depth: int) -> Edit:
    """Returns the edit that brings the reads of a loop to shared memory."""
    kind, upper = loop.type.removeprefix("const "), loop.upper if loop.upper.isidentifier() else f"({loop.upper})"
    start, end, at = (tree.fresh(f"{loop.variable}_{part}") for part in ("tile", "end", "in_tile"))
    idle = tree.fresh("is_idle") if guard is not None else ""
    declared, brought, replacements = [], [], {}
    for number, read in enumerate(reads):
        tile = tree.fresh(f"tile{number or ''}")
        declared.append(f"__shared__ {read.type} {_element(tile, read, str(read.width), str(depth))};")
        inside = " && ".join([*(f"!({each})" for each in read.unless), f"{start} + {at} < {upper}"])
        head = f"for (int {at} = threadIdx.{read.along}; {at} < {depth}; {at} += blockDim.{read.along})"
        here, there = (
            _element(tile, read, f"threadIdx.{read.own}", place) for place in (at, f"{loop.variable} - {start}")
        )
        element = renamed(tree, read.node, {loop.variable: f"({start} + {at})"})
        brought.append(f"{head}\n  if ({inside}) {here} = {element};")
        replacements[tree.text(read.node).decode("utf-8", "surrogatepass")] = there
    last = f"const {kind} {end} = {start} + {depth} < {upper} ? {start} + {depth} : {upper};"
    inner = braced(loop.head(lower=start, upper=end), renamed_body(tree, loop.body, replacements))
    steps = [*brought, "__syncthreads();", last, f"if (!{idle})\n{inner}" if idle else inner, "__syncthreads();"]
    outer = f"for ({kind} {start} = {loop.lower}; {start} < {upper}; {start} += {depth})"
    text = "\n".join([*declared, braced(outer, "\n".join(steps)), *([f"if ({idle}) return;"] if idle else [])])
    edits = [(loop.start, loop.node.end_byte, placed(tree, loop.start, text))]
    if guard is not None:
        condition = guard.child_by_field_name("condition")
        asked = tree.text(condition).decode("utf-8", "replace") if condition is not None else ""
        edits.append((guard.start_byte, guard.end_byte, f"const bool {idle} = {asked};".encode()))
    return Edit(tuple(sorted(edits)), f"{', '.join(replacements)} through shared memory, {depth} at a time")


def _element(tile: str, read: _Read, own: str, place: str) -> str:
    """Returns an element of a tile, in which threads that follow each other (along ``x``) find theirs side by side."""
    if not read.own:
        return f"{tile}[{place}]"
    return f"{tile}[{place}][{own}]" if read.own == "x" else f"{tile}[{own}][{place}]"
