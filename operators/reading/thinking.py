"""Taking a model's thoughts out of its answer."""

from __future__ import annotations

import re

# An opening tag right after a word is a template argument, as in ``vector<thought>``.
_TAG = re.compile(r"(?:<(/)|(?<!\w)<)(?:think|thinking|thought|thoughts|reasoning)>", re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, bool]:
    """Removes what stands between thinking tags.

    A closing tag without an opening one ends thoughts that began with the answer (the opening tag
    is then part of the chat template).

    Returns:
        The rest of the text, and whether the last thought was never closed.
    """
    kept: list[str] = []
    depth = 0
    position = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[position : tag.start()])
        if not tag.group(1):
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
        position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept), depth > 0
