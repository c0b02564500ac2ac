"""CUDA's and HIP's two additions to C++ syntax, rewritten so that an ordinary C++ compiler reads them.

``name<<<grid, block>>>(…)`` becomes a call of ``kernelwright::launcher``, and ``extern __shared__``
arrays become pointers. `fitness/workers/simt.h` and `cuda_host.h` define what these mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MASKED = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|\bu?8?R"([^()\s\\]{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*"|\b\d\w*(?:'\w+)+|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_DYNAMIC_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s+|alignas\s*\(\s*\d+\s*\)\s+)?"
    r"([A-Za-z_][\w\s:]*?)\s+(\w+)\s*\[\s*\]\s*;"
)
_LAUNCHER = re.compile(r'\bextern\s*"C"\s*(?!\s*\{)')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n{])*+$", re.MULTILINE)
_MARKING_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*\b__(?:global|device)__[^\n]*)", re.MULTILINE)
_FUNCTION = re.compile(r"\)\s*(?:noexcept\s*|->[\w\s:<>*&]+)?\{")
_HOST_ONLY = re.compile(
    r"\bkernelwright_launch\b|\b(?:cuda[A-Z]\w*|fprintf|exit|abort)\s*\(|\bstderr\b"
    r"|(?<!::)\bstd\s*::\s*(?:vector|array|string|map|unordered_map|min|max|cerr|cout|runtime_error)\b"
)
_CONSTANT = re.compile(
    r"\b(?:constexpr|const)\s+[\w:]+(?:\s+\w+)?\s+(\w+)\s*=[^;{}]{,200};|\busing\s+(\w+)\s*=[^;{}]{,200};"
)
_MOST_HEAD = 1 << 13  # characters between the mark of a function and its body
_STATEMENTS = {"if", "else", "for", "while", "switch", "catch", "do", "return"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A source without launch syntax.

    Attributes:
        source: Lines are where they were.
        kernels: The name of every launched kernel, template arguments included, in order.
    """

    source: str
    kernels: tuple[str, ...]


def rewrite_launches(source: str, call: str = "::kernelwright::launcher({name}, {configuration})") -> Rewritten:
    """Replaces every launch by ``call`` and every dynamic shared array by a pointer.

    Args:
        source: A whole CUDA or HIP source; broken text comes back as it is.
        call: What to write; ``{name}``, ``{text}`` (the name as a C string) and
            ``{configuration}`` are filled in.
    """
    source = _DYNAMIC_SHARED.sub(r"KERNELWRIGHT_DYNAMIC_SHARED(\1, \2);", source)
    masked = mask(source)
    pieces: list[str] = []
    kernels: list[str] = []
    done = 0
    for opening in re.finditer("<<<", masked):
        closing = masked.find(">>>", opening.end())
        begin = _name_start(masked, opening.start())
        if closing < 0 or begin < done or begin == opening.start():
            continue
        name = source[begin : opening.start()].strip()
        arguments = source[opening.end() : closing]
        text = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        configuration = f"::kernelwright::Configuration({arguments})"
        pieces += [source[done:begin], call.format(name=name, text=text, configuration=configuration)]
        kernels.append(name)
        done = closing + 3
    return Rewritten("".join([*pieces, source[done:]]), tuple(dict.fromkeys(kernels)))


def mask(source: str) -> str:
    """Blanks comments, strings and characters; every other character stays where it is."""
    return _MASKED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def _name_start(masked: str, end: int) -> int:
    """Returns where the (possibly qualified, possibly templated) name that ends at ``end`` begins."""
    at = end
    while at and masked[at - 1].isspace():
        at -= 1
    if at and masked[at - 1] == ">":
        depth = 0
        while at:
            at -= 1
            depth += {">": 1, "<": -1}.get(masked[at], 0)
            if depth == 0:
                break
    while at and (masked[at - 1].isalnum() or masked[at - 1] in "_:"):
        at -= 1
    return at


def host_part(source: str) -> str:
    """Returns ``source`` with the bodies of device-only functions removed.

    What is left is what a host compiler needs: declarations, host functions, constants.
    """
    masked = mask(source)
    code = _without_directives(masked)
    pairs, bodies = _pairs(code), []
    for marker in _markers(masked, alone=True).finditer(code):
        body = _body(code, marker.end(), pairs)
        if body is not None and "__host__" not in code[_declaration_start(code, marker.start()) : body[0]]:
            bodies.append(body)
    return _without(source, bodies)


def device_part(source: str, kernels: Iterable[str] = ()) -> str:
    """Returns ``source`` with the bodies removed of functions that are nothing for the device.

    They are not marked as the device's, and are ``extern "C"``, or launch something, or call the runtime or what of
    C++'s library a device does not have. ``__host__``, which NVRTC refuses, is blanked.

    Args:
        source: A whole source without launch syntax; broken text comes back as it is.
        kernels: Names of launched kernels; constants and types of removed bodies that their template arguments name
            are appended.
    """
    masked = mask(source)
    code, marked = _without_directives(masked), _markers(masked)
    pairs = _pairs(code)
    bodies = []
    for launcher in _LAUNCHER.finditer(source):
        body = _body(code, launcher.end(), pairs) if code.startswith("extern", launcher.start()) else None
        if body is not None and not marked.search(code, launcher.end(), body[0]):
            bodies.append(body)
    done = 0
    for found in _FUNCTION.finditer(code):
        brace = found.end() - 1
        if brace < done or brace not in pairs:
            continue
        opening = pairs.get(found.start(), 0)
        head = code[_declaration_start(code, opening) : opening].rstrip()
        words = re.findall(r"\w+", head)
        if (
            len(words) > 1 and not _STATEMENTS & {*words} and not head.endswith("]")
        ):  # or it is a constructor or a lambda
            done = pairs[brace] + 1
            if not marked.search(head) and _HOST_ONLY.search(code, brace, done):
                bodies.append((brace, done))
    left = _without(source, bodies)
    for found in re.finditer(r"\b__host__\b", mask(left)):
        left = left[: found.start()] + " " * len(found[0]) + left[found.end() :]
    constants = _constants(source, code, bodies, kernels)
    told = [text for name, text in constants if not re.search(rf"\b{name}\s*=|#\s*define\s+{name}\b", left)]
    return left + "".join(f"{text}\n" for text in dict.fromkeys(told))


def _constants(
    source: str, code: str, bodies: Iterable[tuple[int, int]], kernels: Iterable[str]
) -> list[tuple[str, str]]:
    """Returns names and definitions of constants and types in some functions that template arguments need."""
    needed = {word for name in kernels for word in re.findall(r"\w+", name.partition("<")[2])}
    found: list[tuple[str, str]] = []
    for start, end in bodies:
        for each in reversed([*_CONSTANT.finditer(code, start, end)]):
            name, text = each[1] or each[2], source[each.start() : each.end()]
            if name in needed:
                needed |= {*re.findall(r"\w+", text)}
                found.insert(0, (name, text))
    return found


def _without(source: str, bodies: Iterable[tuple[int, int]]) -> str:
    """Returns ``source`` with function bodies removed; lines stay where they are."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(bodies):
        if start >= done:
            pieces += [source[done:start], ";", "\n" * source.count("\n", start, end)]
            done = end
    return "".join([*pieces, source[done:]])


def _without_directives(masked: str) -> str:
    """Blanks the preprocessor's lines; a macro with a function's body in it stays."""
    return _DIRECTIVE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), masked)


def _markers(masked: str, *, alone: bool = False) -> re.Pattern[str]:
    """Returns what marks a function as the device's: CUDA's words, and the source's macros that stand for them.

    ``alone`` leaves out macros that mark functions of both sides.
    """
    macros = [name for name, text in _MARKING_MACRO.findall(masked) if not (alone and "__host__" in text)]
    return re.compile(rf"\b(?:{'|'.join(['__global__', '__device__', *macros])})\b")


def _pairs(code: str) -> dict[int, int]:
    """Returns where each parenthesis begins that closes at a place, and where each brace closes that opens at one."""
    pairs: dict[int, int] = {}
    parentheses: list[int] = []
    braces: list[int] = []
    for at in (found.start() for found in re.finditer(r"[(){}]", code)):
        if code[at] in "({":
            (parentheses if code[at] == "(" else braces).append(at)
        elif code[at] == ")" and parentheses:
            pairs[at] = parentheses.pop()
        elif code[at] == "}" and braces:
            pairs[braces.pop()] = at
    return pairs


def _declaration_start(masked: str, at: int) -> int:
    """Returns where the declaration around ``at`` begins."""
    return max(masked.rfind(";", 0, at), masked.rfind("}", 0, at), masked.rfind("{", 0, at)) + 1


def _body(code: str, at: int, pairs: Mapping[int, int]) -> tuple[int, int] | None:
    """Returns the span of the function body that follows, or None before a plain declaration."""
    depth = 0
    for found in re.compile(r"[()\[\];={]").finditer(code, at, at + _MOST_HEAD):
        char = found[0]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif depth == 0 and char in ";=":
            return None
        elif depth == 0 and char == "{":
            end = pairs.get(found.start())
            return None if end is None else (found.start(), end + 1)
    return None
