"""How many kernels differ in more than names and numbers."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Literal, Name, Text

from ..records import json_lines
from .tables import Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBER = re.compile(r"\b\d[\w.]*")
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
        # A directive is one piece of text to the lexer: "#define TILE 8".
        kept = NUMBER.sub("l", text) if kind in Comment.Preproc else text.strip()
        erased.append("n" if kind in Name else "l" if kind in Literal else kept.strip())
    return hashlib.sha256("\0".join(erased).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unique_skeletons(sweep: Sweep, *, correct_only: bool = False) -> NDArray[np.float64]:
    """Returns how many distinct skeletons each run proposed; NaN where no sources are stored.

    It reads every source, about a thousand a second.

    Args:
        sweep: Runs and slots.
        correct_only: Whether to leave out kernels that failed.
    """
    slots = sweep.evaluations
    correct = slots[(slots["status"] == "ok").to_numpy()].groupby("run")["kernel"].agg(set)
    known: dict[str, str] = {}
    counts = []
    for run, path in enumerate(sweep.runs["path"]):
        found = skeletons_by_kernel(sweep.path / path, known)
        keep = correct.get(run, set()) if correct_only else found.keys()
        counts.append(len({found[kernel] for kernel in keep if kernel in found}) if found else np.nan)
    return np.array(counts, dtype=float)


def skeletons_by_kernel(run_dir: Path, known: dict[str, str] | None = None) -> dict[int, str]:
    """Returns the skeleton of each kernel that a run proposed, by the first 16 digits of its digest.

    Args:
        run_dir: Of the run; without stored sources it has none.
        known: Skeletons by whole digest, which are looked up and grow, since runs often share kernels.
    """
    known = {} if known is None else known
    path = run_dir / "kernels" / "sources.jsonl"
    found: dict[int, str] = {}
    for record in json_lines(path):
        digest = record["kernel"]
        if digest not in known:
            known[digest] = skeleton(record["source"], record["language"])
        found[int(digest[:16], 16)] = known[digest]
    return found
