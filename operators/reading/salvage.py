"""A whole kernel inside code that is not whole: cut off behind it, or defined more than once."""

from __future__ import annotations

import ast
import re

from .checks import parsed_python
from .scan import Definition, blanked, definitions, top_level_end, unclosed

_PREAMBLE = re.compile(r"^[ \t]*(#\s*(?:include|define)\b[^\n]*|using\s[^\n]*;)[ \t]*$", re.MULTILINE)
_CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|else|elif)\b", re.MULTILINE)


def salvaged_c(code: str, entry_point: str) -> tuple[str, list[str]]:
    """Returns C-like code without an unfinished end and without earlier versions of the entry point.

    Returns:
        The code, unchanged when there is nothing to do or nothing to be done, and what was done.
    """
    remarks = []
    if unclosed(code) and any(each.end for each in definitions(code, entry_point)):
        kept = code[: top_level_end(code)]
        if any(each.end for each in definitions(kept, entry_point)):
            code = kept.rstrip() + "\n"
            remarks.append("dropped an unfinished end")
        else:
            code = _alone(code, definitions(code, entry_point))
            remarks.append("kept the one whole definition")
    found = definitions(code, entry_point)
    if len(found) > 1 and all(each.end for each in found) and not _CONDITIONAL.search(code):
        for each in reversed(found[:-1]):
            code = code[: each.begin].rstrip() + "\n" + code[each.end :]
        remarks.append(f"kept the last of {len(found)} definitions")
    return code, remarks


def _alone(code: str, found: list[Definition]) -> str:
    """Returns the last whole definition with the directives in front of it."""
    last = [each for each in found if each.end][-1]
    preamble = dict.fromkeys(match.group(1) for match in _PREAMBLE.finditer(code[: last.begin]))
    return "\n".join([*preamble, "", code[last.begin : last.end].strip(), ""]).lstrip("\n")


def salvaged_python(code: str, entry_point: str, cut_off: bool) -> tuple[str, list[str]]:
    """Returns Python code without an unfinished last statement, if the entry point is before it.

    Args:
        code: The code.
        entry_point: The function that must be left.
        cut_off: Whether the last statement may be unfinished although it parses.
    """
    tree = parsed_python(code)
    if isinstance(tree, ast.Module) and not cut_off:
        return code, []
    lines = code.split("\n")
    starts = [i for i, line in enumerate(lines) if line[:1].strip() and line[0] not in ")]}#"]
    for start in reversed(starts[-3:]):
        kept = "\n".join(lines[:start]).rstrip() + "\n"
        tree = parsed_python(kept)
        if isinstance(tree, ast.Module) and _defines(tree, entry_point):
            return kept, ["dropped an unfinished end"]
    return code, []


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def whole(code: str, entry_point: str, python: bool) -> bool:
    """Whether code that may be cut off defines its entry point to the end."""
    if python:
        tree = parsed_python(code)
        # The last function of a text that was cut off may have lost lines without a trace.
        return isinstance(tree, ast.Module) and _defines(ast.Module(tree.body[:-1], []), entry_point)
    called = re.search(rf"\b{re.escape(entry_point)}\b", blanked(code))
    return not called or any(each.end for each in definitions(code, entry_point))
