"""CUDA's and HIP's two additions to C++ syntax, rewritten so that an ordinary C++ compiler reads them.

``name<<<grid, block>>>(…)`` becomes a call of ``kernelwright::launcher``, and ``extern __shared__``
arrays become pointers. `fitness/workers/simt.h` and `cuda_host.h` define what these mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MASKED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DYNAMIC_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s+|alignas\s*\(\s*\d+\s*\)\s+)?"
    r"([A-Za-z_][\w\s:]*?)\s+(\w+)\s*\[\s*\]\s*;"
)
_LAUNCHER = re.compile(r'\bextern\s*"C"\s*(?!\s*\{)')
_DEVICE_ONLY = re.compile(r"\b__(?:global|device)__\b")


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
    pieces: list[str] = []
    done = 0
    for marker in _DEVICE_ONLY.finditer(masked):
        if marker.start() < done:
            continue
        body = _body(masked, marker.end())
        if body is None or "__host__" in masked[_declaration_start(masked, marker.start()) : body[0]]:
            continue
        removed = source[body[0] : body[1]]
        pieces += [source[done : body[0]], ";", "\n" * removed.count("\n")]
        done = body[1]
    return "".join([*pieces, source[done:]])


def device_part(source: str) -> str:
    """Returns ``source`` with the bodies of launchers, ``extern "C"`` and for the host, removed.

    What is left is what a device compiler needs. It must not see what they call of the runtime or of C++'s library.
    """
    masked = mask(source)
    pieces: list[str] = []
    done = 0
    for marker in _LAUNCHER.finditer(source):
        if marker.start() < done or not masked.startswith("extern", marker.start()):
            continue
        body = _body(masked, marker.end())
        if body is None or _DEVICE_ONLY.search(masked, marker.end(), body[0]):
            continue
        removed = source[body[0] : body[1]]
        pieces += [source[done : body[0]], ";", "\n" * removed.count("\n")]
        done = body[1]
    return "".join([*pieces, source[done:]])


def _declaration_start(masked: str, at: int) -> int:
    """Returns where the declaration around ``at`` begins."""
    return max(masked.rfind(";", 0, at), masked.rfind("}", 0, at), masked.rfind("{", 0, at)) + 1


def _body(masked: str, at: int) -> tuple[int, int] | None:
    """Returns the span of the function body that follows, or None before a plain declaration."""
    depth = 0
    for index in range(at, len(masked)):
        char = masked[index]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif depth == 0 and char in ";=":
            return None
        elif depth == 0 and char == "{":
            end = _matching_brace(masked, index)
            return None if end is None else (index, end)
    return None


def _matching_brace(masked: str, at: int) -> int | None:
    """Returns the index after the brace that closes the one at ``at``."""
    depth = 0
    for index in range(at, len(masked)):
        depth += {"{": 1, "}": -1}.get(masked[index], 0)
        if depth == 0:
            return index + 1
    return None
