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
        begin: Where its text begins, ``extern "C"`` included.
        start: Where its declaration begins, after ``extern "C"`` if that is there.
        end: One past its closing brace; None when that is missing.
        before: Everything from ``start`` to the name: qualifiers and return type.
        parameters: Their texts, in order.
    """

    begin: int
    start: int
    end: int | None
    before: str
    parameters: tuple[str, ...]


def definition(source: str, name: str) -> Definition | None:
    """Finds the last definition (not declaration or call) of a function."""
    found = definitions(source, name)
    return found[-1] if found else None


def definitions(source: str, name: str) -> list[Definition]:
    """Finds the definitions of a function, in order."""
    code = blanked(source)
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", code):
        end = _closing(code, match.end() - 1, "()")
        body = re.match(r"\s*(noexcept\s*)?\{", code[end + 1 :]) if end is not None else None
        if end is None or body is None:
            continue
        begin = max(code.rfind(sign, 0, match.start()) for sign in ";}{") + 1
        begin = max([begin, *(line.end() for line in re.finditer(r"^[ \t]*#.*$", code[: match.start()], re.MULTILINE))])
        before = code[begin : match.start()]
        if not re.search(r"[A-Za-z_]", before) or re.search(r"[=(,]|\breturn\b", re.sub(r"\([^()]*\)", "", before)):
            continue
        lead = re.match(r"\s*extern\b\s*", before)
        offset = lead.end() if lead else len(before) - len(before.lstrip())
        parameters = _split(blanked(source[match.end() : end]))
        close = _closing(code, end + body.end(), "{}")
        finish = close + 1 if close is not None else None
        found.append(Definition(begin, begin + offset, finish, before[offset:].strip(), parameters))
    return found


def top_level_end(source: str) -> int:
    """Returns one past the last brace that closes to the top level; 0 when there is none."""
    code, depth, end = blanked(source), 0, 0
    for position, sign in enumerate(code):
        if sign in "{}":
            depth += 1 if sign == "{" else -1
            end = position + 1 if depth == 0 else end
    return end


def _closing(code: str, opening: int, pair: str) -> int | None:
    """Returns where the parenthesis or brace that opens at ``opening`` closes."""
    depth = 0
    for position in range(opening, len(code)):
        depth += {pair[0]: 1, pair[1]: -1}.get(code[position], 0)
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
