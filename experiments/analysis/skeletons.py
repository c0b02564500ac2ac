"""How many kernels differ in more than names and numbers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Literal, Name, Text

from .tables import Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEXERS = {"cpp": "cpp", "cuda": "cuda", "hip": "cuda", "opencl": "c"}
"""Lexer by language; every other language is hosted by Python."""


def skeleton(source: str, language: str) -> str:
    """Returns a digest of a source without its names, literals, comments and spaces.

    Two kernels with equal skeletons are the same text up to renaming and other constants.
    """
    erased = []
    for kind, text in get_lexer_by_name(LEXERS.get(language, "python")).get_tokens(source):
        if kind in Text or (kind in Comment and kind not in Comment.Preproc):
            continue
        erased.append("n" if kind in Name else "l" if kind in Literal else text.strip())
    return hashlib.sha256("\0".join(erased).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unique_skeletons(sweep: Sweep) -> NDArray[np.float64]:
    """Returns how many distinct skeletons each run proposed; NaN where no sources are stored.

    It reads every source, about a thousand a second.
    """
    known: dict[str, str] = {}
    counts = [_count(sweep.path / path / "kernels" / "sources.jsonl", known) for path in sweep.runs["path"]]
    return np.array(counts, dtype=float)


def _count(path: Path, known: dict[str, str]) -> float:
    """Counts the skeletons in one file of sources.

    Args:
        path: Of ``sources.jsonl``.
        known: Skeletons by digest of the kernel; grows, since runs often share kernels.
    """
    if not path.exists():
        return float("nan")
    found = set()
    with path.open(encoding="utf-8", errors="surrogatepass") as file:
        for line in file:
            if line.endswith("\n"):
                record = json.loads(line)
                if record["kernel"] not in known:
                    known[record["kernel"]] = skeleton(record["source"], record["language"])
                found.add(known[record["kernel"]])
    return float(len(found))
