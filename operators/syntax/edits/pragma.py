"""Advice to the compiler: pragmas, ``__restrict__``, function attributes, vector forms of mathematical functions."""

from __future__ import annotations

import re

import numpy as np

from ..dependence import Access
from ..edit import Edit
from ..effects import effects
from ..loops import Loop, enclosing_loops, innermost, loops
from ..names import FUNCTION_SUFFIXES, bare_declarator, function_name
from ..tree import Tree
from .draw import one_of, shuffled

_OPTIONS = (
    '"fast-math"',
    '"associative-math", "no-signed-zeros", "no-trapping-math"',
    '"no-math-errno", "no-trapping-math"',
    '"unroll-loops"',
    '"O2"',
    '"Ofast"',
)
_TWO_ARGUMENTS = frozenset({"pow", "atan2", "hypot"})
_VECTOR_FUNCTIONS = FUNCTION_SUFFIXES - {
    *("ceil", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "rint", "round", "rsqrt", "sqrt", "tgamma", "trunc")
} | {"atan2"}
_REDUCTION_SIGNS = {"+": "+", "*": "*", "max": "max", "min": "min", "|": "|", "&": "&", "^": "^"}


def simd(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Asks for a vectorised innermost loop, with the reductions that can be recognised."""
    for loop in shuffled(innermost(tree), rng):
        text = simd_text(tree, loop)
        if text is not None and text not in _pragmas(tree, loop):
            return _inserted(tree, loop, text)
    return None


def pragma(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Inserts, changes or drops a pragma of a loop."""
    pool = loops(tree)
    if not pool:
        return None
    loop = one_of(pool, rng)
    text = _drawn(tree, loop, rng)
    if loop.start == loop.node.start_byte:
        return _inserted(tree, loop, text) if text else None
    line = tree.line(loop.start)
    change = text is not None and rng.random() < 0.6
    new = text.encode() + b"\n" + tree.indent(loop.node.start_byte) if change and text else b""
    return Edit(((loop.start, loop.node.start_byte, new),), f"line {line}: {'changed' if new else 'dropped'} a pragma")


def restrict(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Promises that pointers do not overlap, for all parameters of a function or for one; or takes it back."""
    functions = tree.of("function_declarator")
    if not functions:
        return None
    function = one_of(functions, rng)
    parameters = function.child_by_field_name("parameters")
    promised, open_ = [], []
    for parameter in parameters.named_children if parameters is not None else []:
        declarator = parameter.child_by_field_name("declarator")
        name = bare_declarator(declarator) if declarator is not None else None
        if declarator is None or name is None or declarator.type != "pointer_declarator":
            continue
        between = tree.source[declarator.start_byte : name.start_byte]
        match = re.search(rb"\b__restrict(__)?\b\s*", between)
        if match:
            start = declarator.start_byte + match.start()
            promised.append((start, start + len(match.group()), b""))
        else:
            open_.append((name.start_byte, name.start_byte, b"__restrict__ "))
    line = tree.line(function.start_byte)
    if open_ and (not promised or rng.random() < 0.75):
        chosen = open_ if rng.random() < 0.5 else [one_of(open_, rng)]
        return Edit(tuple(chosen), f"line {line}: __restrict__ on {len(chosen)} parameters")
    return Edit((one_of(promised, rng),), f"line {line}: dropped a __restrict__") if promised else None


def attribute(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Gives a function its own optimisation options, changes or drops them."""
    functions = [node for node in tree.of("function_definition") if node.child_by_field_name("type") is not None]
    if not functions:
        return None
    function = one_of(functions, rng)
    declarator = function.child_by_field_name("declarator")
    head = tree.source[function.start_byte : declarator.start_byte if declarator else function.start_byte]
    text = b"__attribute__((optimize(" + one_of(_OPTIONS, rng).encode() + b"))) "
    match = re.search(rb"__attribute__\s*\(\(\s*optimize\s*\([^)]*\)\s*\)\)\s*", head)
    line = tree.line(function.start_byte)
    if match is None:
        return Edit(((function.start_byte, function.start_byte, text),), f"line {line}: options for a function")
    start = function.start_byte + match.start()
    new = b"" if rng.random() < 0.5 else text
    return Edit(((start, start + len(match.group()), new),), f"line {line}: other options for a function")


def vector_functions(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Declares the vector forms of the mathematical functions in use, and asks for vectorised loops around them."""
    del rng
    calls = [(call, function_name(tree, call)) for call in tree.of("call_expression")]
    wanted: dict[str, str] = {}
    chosen: dict[int, Loop] = {}
    for call, name in calls:
        bare = name if name in _VECTOR_FUNCTIONS else name.removesuffix("f")
        around = enclosing_loops(tree, call)
        if bare in _VECTOR_FUNCTIONS and around:
            wanted[bare] = name
            if around[0].node.start_byte not in chosen and simd_text(tree, around[0]) is not None:
                chosen[around[0].node.start_byte] = around[0]
    lines = [line for bare in sorted(wanted) for line in _declarations(bare) if line.encode() not in tree.source]
    if not lines:
        return None
    position = _after_includes(tree)
    edits = [(position, position, ("\n".join(lines) + "\n").encode())]
    for _, loop in sorted(chosen.items()):
        text = simd_text(tree, loop)
        if text is not None and text not in _pragmas(tree, loop):
            edits += _inserted(tree, loop, text).replacements
    return Edit(tuple(edits), f"vector forms of {', '.join(sorted(wanted))}")


def simd_text(tree: Tree, loop: Loop) -> str | None:
    """Returns the pragma that allows an innermost loop to be vectorised, or None where it may not be."""
    found = effects(tree, loop.body)
    if not found.is_plain or not found.permits([loop.variable.encode()]):
        return None
    clauses: dict[str, list[str]] = {}
    for name, group in found.reductions().items():
        if group not in _REDUCTION_SIGNS:
            return None
        clauses.setdefault(_REDUCTION_SIGNS[group], []).append(name.decode("utf-8", "replace"))
    fixed = [name for name, accesses in found.arrays.items() if name in found.written() and _is_fixed(loop, accesses)]
    if fixed:
        return None
    reductions = "".join(f" reduction({sign}:{', '.join(names)})" for sign, names in clauses.items())
    return f"#pragma omp simd{reductions}"


def _is_fixed(loop: Loop, accesses: list[Access]) -> bool:
    """Whether an element is written that is the same in all iterations: no clause can say so portably."""
    variable = loop.variable.encode()
    return any(
        all(part is not None and not any(variable in monomial for monomial in part) for part in access.index)
        for access in accesses
    )


def _drawn(tree: Tree, loop: Loop, rng: np.random.Generator) -> str | None:
    choice = one_of(("parallel", "unroll", "ivdep", "simd"), rng)
    if choice == "unroll":
        return f"#pragma GCC unroll {one_of((1, 2, 4, 8, 16), rng)}"
    if choice == "ivdep":
        return "#pragma GCC ivdep"
    text = simd_text(tree, loop)
    if text is None or choice == "simd":
        return text
    return text.replace("omp simd", one_of(("omp parallel for", "omp parallel for simd"), rng))


def _pragmas(tree: Tree, loop: Loop) -> str:
    return tree.source[loop.start : loop.node.start_byte].decode("utf-8", "replace")


def _inserted(tree: Tree, loop: Loop, text: str) -> Edit:
    """Puts a pragma before a loop, in place of the one that it has: compilers want them right before the loop."""
    note = f"line {tree.line(loop.node.start_byte)}: {text}"
    parent = loop.node.parent
    start, end, indent = loop.node.start_byte, loop.node.end_byte, tree.indent(loop.node.start_byte)
    line = text.encode() + b"\n" + indent
    if loop.start != start:
        return Edit(((loop.start, start, line),), note)
    if parent is not None and parent.type == "compound_statement":
        alone = not tree.source[tree.source.rfind(b"\n", 0, start) + 1 : start].strip()
        return Edit(((start, start, line if alone else b"\n" + indent + line),), note)
    return Edit(((start, start, b"{\n" + indent + line), (end, end, b"\n" + indent + b"}")), note)


def _declarations(bare: str) -> list[str]:
    lines = []
    for kind, suffix in (("float", "f"), ("double", "")):
        parameters = f"{kind}, {kind}" if bare in _TWO_ARGUMENTS else kind
        attribute_ = '__attribute__((simd("notinbranch")))'
        lines.append(f'extern "C" {attribute_} {kind} {bare}{suffix}({parameters}) noexcept;')
    return lines


def _after_includes(tree: Tree) -> int:
    includes = tree.of("preproc_include")
    return includes[-1].end_byte if includes else 0
