"""What programs say, made fit for a report and a prompt: no escape sequences, no paths, no text of foreign files."""

from __future__ import annotations

import os
import posixpath
import re
import signal

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f]")
_OWN = re.compile(r"^(?:In file included from )?(?:\./)?kernel\.\w+:")
_PLACED = re.compile(r"^(?P<before>In file included from |\s+from )?(?P<path>[^\s:]+):(?P<line>\d+)(?P<rest>[:,].*)?$")
_QUOTED = re.compile(r"^\s+(?:\d+\s*)?\|")
_SYSTEM_HEADERS = re.compile(r"^/(?:usr|nix|gnu|opt)/(?:.*/)?include/")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+([\w.+-]*)")


def scrub(log: str, limit: int = 6000) -> str:
    """Returns a compiler's output without escape sequences, paths, and text of files that are not the kernel's.

    A kernel may include any file that the compiler can read; the lines that the compiler would quote from it, and
    its tokens in messages, are left out.
    """
    kept: list[str] = []
    foreign = False
    for line in _ANSI.sub("", log).splitlines():
        placed = _PLACED.match(line)
        if placed and not placed["before"]:
            foreign = not _OWN.match(line) and not _SYSTEM_HEADERS.match(posixpath.normpath(placed["path"]))
            if foreign:
                kept.append("an included file: its text is not shown")
                continue
        if foreign and (_QUOTED.match(line) or not placed):
            continue
        kept.append(_without_paths(line)[:400])
    return _clipped("\n".join(line for index, line in enumerate(kept) if index == 0 or line != kept[index - 1]), limit)


def plain(text: str, limit: int = 20000) -> str:
    """Returns what a kernel printed, or what is said of it, without escape sequences and paths of this machine.

    What is no Unicode character, as half of a surrogate pair, becomes a question mark: a record can be encoded.
    """
    return _clipped(_without_paths(_ANSI.sub("", text.encode("utf-8", "replace").decode())), limit)


def killed_by(status: int) -> str:
    """Returns which signal a wait status tells of; most of those for real time have no name."""
    number = os.WTERMSIG(status)
    named = number in {*signal.Signals}
    return f"killed by {signal.Signals(number).name if named else f'signal {number}'}"


def _clipped(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n[... {len(text) - limit} characters left out ...]\n{text[-limit // 2 :]}"


def _without_paths(text: str) -> str:
    return _PATH.sub(lambda match: match[1] or "…", text)
