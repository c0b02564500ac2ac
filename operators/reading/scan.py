"""Looking at C-like source without parsing it: it need not be valid."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"  # comments
    r'|R"(?P<d>[^()\s\\"]{0,16})\((?:.*?\)(?P=d)"|.*\Z)'  # raw strings
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
LONGEST_DECLARATION = 4000
"""Characters in front of a function's name: what is longer declares nothing."""

_DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_BODY = re.compile(r"\s*(noexcept\s*)?\{")


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
    parentheses, braces = _closings(code, "()"), _closings(code, "{}")
    directives = [match.span() for match in _DIRECTIVE.finditer(code)]
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", code):
        end = parentheses.get(match.end() - 1)
        body = _BODY.match(code, end + 1) if end is not None else None
        if end is None or body is None:
            continue
        begin = max(code.rfind(sign, 0, match.start()) for sign in ";}{") + 1
        earlier = bisect_left(directives, (match.start(), 0))
        if earlier:
            begin = max(begin, min(directives[earlier - 1][1], match.start()))
        before = code[begin : match.start()]
        if len(before.strip()) > LONGEST_DECLARATION:
            continue
        if not re.search(r"[A-Za-z_]", before) or re.search(r"[=(,]|\breturn\b", re.sub(r"\([^()]*\)", "", before)):
            continue
        lead = re.match(r"\s*extern\b\s*", before)
        offset = lead.end() if lead else len(before) - len(before.lstrip())
        parameters = _split(blanked(source[match.end() : end]))
        close = braces.get(body.end() - 1)
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


def _closings(code: str, pair: str) -> dict[int, int]:
    """Returns, for each parenthesis or brace that is closed, where; in one pass, as a model may write thousands."""
    opened: list[int] = []
    found = {}
    for match in re.finditer(rf"[{re.escape(pair)}]", code):
        if match.group() == pair[0]:
            opened.append(match.start())
        elif opened:
            found[opened.pop()] = match.start()
    return found


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
    plain = blanked(source)
    for block in re.finditer(r'extern\s*"C"\s*\{', code[:start]):
        body = plain[block.end() : start]
        if body.count("}") <= body.count("{"):
            return True
    return False
