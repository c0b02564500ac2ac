"""Edits for OpenCL C: work-group sizes, native functions, and edits of C++ in the words of C."""

from __future__ import annotations

import re

import numpy as np

from ..edit import Edit, Kind
from ..names import function_name
from ..tree import Tree
from .draw import one_of

_LAUNCH = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+launch\b.*$", re.MULTILINE)
_LOCAL = re.compile(rb"\blocal\s*\(([^()]*)\)")
_REQUIRED = re.compile(rb"\breqd_work_group_size\s*\(([^()]*)\)")
_AUTO = re.compile(rb"\bauto\b")
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_NATIVE = frozenset(
    {"cos", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "recip", "rsqrt", "sin", "sqrt", "tan"}
)


def work_group(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Changes a size of work-groups: in its launch, with the global size that is rounded up to it, and where required.

    A size of 1 is left: a kernel with such groups need not guard against surplus work-items.
    """
    launches = [(each, size) for each in _LAUNCH.finditer(tree.source) for size in _sizes(each.group())]
    if not launches:
        return None
    launch, old = one_of(launches, rng)
    new = one_of([each for each in _GROUPS if each != old], rng)
    edits = [(launch.start(), launch.end(), _resized(launch.group(), old, new))]
    for required in _REQUIRED.finditer(tree.source):
        edits.append((required.start(), required.end(), _resized(required.group(), old, new)))
    return Edit(tuple(sorted(edits)), f"line {tree.line(launch.start())}: groups of {new} in place of {old}")


def native_function(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Calls the fast and less exact form of a mathematical function, everywhere or at one place; or the exact one."""
    calls = [(call.child_by_field_name("function"), function_name(tree, call)) for call in tree.of("call_expression")]
    exact = [(node, name) for node, name in calls if node is not None and name in _NATIVE]
    fast = [(node, name) for node, name in calls if node is not None and name.startswith("native_")]
    if fast and (not exact or rng.random() < 0.3):
        node, name = one_of(fast, rng)
        return Edit(((node.start_byte, node.end_byte, name.removeprefix("native_").encode()),), f"{name} made exact")
    if not exact:
        return None
    chosen = exact if rng.random() < 0.5 else [one_of(exact, rng)]
    edits = tuple((node.start_byte, node.end_byte, f"native_{name}".encode()) for node, name in chosen)
    return Edit(edits, f"native functions at {len(edits)} places")


def in_c(kind: Kind) -> Kind:
    """Returns a kind of edit whose texts have no type deduction of C++ in them."""

    def edited(tree: Tree, rng: np.random.Generator) -> Edit | None:
        edit = kind(tree, rng)
        if edit is None:
            return None
        spoken = ((start, end, _AUTO.sub(b"__auto_type", text)) for start, end, text in edit.replacements)
        return Edit(tuple(spoken), edit.note)

    return edited


def _sizes(launch: bytes) -> list[int]:
    """Returns the sizes of work-groups in a launch that are numbers above 1, each once."""
    local = _LOCAL.search(launch)
    parts = [each.strip() for each in local.group(1).split(b",")] if local is not None else []
    return sorted({int(each) for each in parts if each.isdigit() and int(each) > 1})


def _resized(text: bytes, old: int, new: int) -> bytes:
    """Returns a text with another size, and with what rounds up to it."""
    known = {str(old).encode(): str(new).encode(), str(old - 1).encode(): str(new - 1).encode()}
    return re.sub(rb"\b\d+\b", lambda match: known.get(match.group(), match.group()), text)
