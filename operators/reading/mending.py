"""Characters that copy and paste, or a model's typography, put into code."""

from __future__ import annotations

import html
import re

from .scan import blanked

_PLAIN = {
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("–—−‐‑‒―", "-"),
    **dict.fromkeys("\u00a0\u2007\u202f\u2002\u2003\u2009\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    "…": "...",
}
_TABLE = str.maketrans(_PLAIN)
_OWN_HEADER = re.compile(r'^[ \t]*#\s*include\s*"([^"\n]*)"[^\n]*\n', re.MULTILINE)
_SYSTEM_HEADER = re.compile(
    r"(assert|float|limits|math|stdbool|stddef|stdint|stdio|stdlib|string|omp|\w+intrin)\.h|(cuda|hip)[\w/]*\.h"
    r"|c(math|stdlib|stdint|stddef|string|float|assert|limits)|algorithm|array|bit|limits|numeric|thread|utility|vector"
)
_HEADING = re.compile(
    r"^[ \t]*#+(?![ \t]*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|warning|line)\b)"
    r"[ \t]*(?=\w)",
    re.MULTILINE,
)
_ENTITY = re.compile(r"&(lt|gt|quot|#39|amp;?&amp);")


def mended(code: str) -> tuple[str, list[str]]:
    """Replaces what has exactly one plain counterpart.

    Returns:
        The code, and one remark for each kind of repair.
    """
    remarks = []
    if "\r" in code:
        code = code.replace("\r\n", "\n").replace("\r", "\n")
    if _ENTITY.search(blanked(code)) and not re.search(r"[^&]&[^&\w\s]*<", code):
        code = html.unescape(code)
        remarks.append("unescaped HTML")
    if any(character in _PLAIN for character in blanked(code)):
        code = code.translate(_TABLE)
        remarks.append("replaced typographic characters")
    return code, remarks


def without_own_headers(code: str) -> tuple[str, list[str]]:
    """Drops ``#include "…"`` of a model's own headers: a kernel is one file, so that they cannot exist."""
    dropped = [name for name in _OWN_HEADER.findall(code) if not _SYSTEM_HEADER.fullmatch(name)]
    kept = _OWN_HEADER.sub(lambda each: "" if each.group(1) in dropped else each.group(), code)
    return kept, [f'dropped #include "{name}"' for name in dropped]


def headings_as_comments(code: str) -> tuple[str, list[str]]:
    """Makes comments of lines such as ``# Kernel``, which a model takes over from the prompt's headings."""
    plain = _HEADING.sub("// ", code)
    return plain, ["made headings comments"] if plain != code else []


def odd_characters(code: str, python: bool) -> str:
    """Returns the characters, outside of comments and strings, that no compiler reads."""
    bare = (
        re.sub(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*'", "", code, flags=re.DOTALL)
        if python
        else blanked(code)
    )
    odd = {character for character in bare if not character.isascii() and not character.isidentifier()}
    control = {character for character in bare if ord(character) < 32 and character not in "\n\t\f\v"}
    return "".join(sorted(odd | control))
