"""Looking at C-like source without parsing it: it need not be valid."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"  # comments
    r'|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"'  # raw strings
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)


def blanked(source: str, *, strings: bool = True) -> str:
    """Returns the source with comments, and strings if asked, as spaces: every position stays."""

    def spaces(match: re.Match[str]) -> str:
        text = match.group()
        if not strings and not text.startswith(("//", "/*")):
            return text
        return re.sub(r"[^\n]", " ", text)

    return _LITERAL.sub(spaces, source)


def comments(source: str) -> list[str]:
    """Returns the texts of the comments, without their marks."""
    found = [match.group() for match in _LITERAL.finditer(source)]
    return [text.strip("/*").strip() for text in found if text.startswith(("//", "/*"))]


def unclosed(source: str) -> bool:
    """Whether braces or parentheses are open at the end."""
    code = blanked(source)
    return code.count("{") > code.count("}") or code.count("(") > code.count(")")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function's definition in a C-like source.

    Attributes:
        start: Where its declaration begins, after ``extern "C"`` if that is there.
        before: Everything from there to the name: qualifiers and return type.
        parameters: Their texts, in order.
    """

    start: int
    before: str
    parameters: tuple[str, ...]


def definition(source: str, name: str) -> Definition | None:
    """Finds the last definition (not declaration or call) of a function."""
    code = blanked(source)
    found = None
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", code):
        end = _closing(code, match.end() - 1)
        if end is None or not re.match(r"\s*(noexcept\s*)?\{", code[end + 1 :]):
            continue
        start = max(code.rfind(sign, 0, match.start()) for sign in ";}{") + 1
        start = max([start, *(line.end() for line in re.finditer(r"^[ \t]*#.*$", code[: match.start()], re.MULTILINE))])
        before = code[start : match.start()]
        if not re.search(r"[A-Za-z_]", before) or re.search(r"[=(,]|\breturn\b", re.sub(r"\([^()]*\)", "", before)):
            continue
        lead = re.match(r"\s*extern\b\s*", before)
        offset = lead.end() if lead else len(before) - len(before.lstrip())
        inside = source[match.end() : end]
        found = Definition(start + offset, before[offset:].strip(), _split(blanked(inside)))
    return found


def _closing(code: str, opening: int) -> int | None:
    """Returns where the parenthesis that opens at ``opening`` closes."""
    depth = 0
    for position in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return None


def _split(parameters: str) -> tuple[str, ...]:
    parts = [" ".join(part.split()) for part in parameters.split(",")]
    return tuple(part for part in parts if part and part != "void")


def has_c_linkage(source: str, name: str, start: int) -> bool:
    """Whether the definition at ``start`` is ``extern "C"``: by itself, by a block, or by a declaration."""
    code = blanked(source, strings=False)
    if re.search(r'extern\s*"C"\s*$', code[:start]):
        return True
    if re.search(rf'extern\s*"C"\s+[\w\s*]*\b{re.escape(name)}\s*\([^()]*\)\s*;', code[:start]):
        return True
    for block in re.finditer(r'extern\s*"C"\s*\{', code[:start]):
        body = blanked(source)[block.end() : start]
        if body.count("}") <= body.count("{"):
            return True
    return False
