"""One concrete change for a model to make, drawn from those that fit a kernel."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import numpy as np


@cache
def changes(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    r"""Returns what ships for a language: where a change fits, and its words; nothing where there is no such file.

    A line of ``prompts/suggestions_LANGUAGE.txt`` is a regular expression, `` | ``, and words in which ``\1`` stands
    for what its first group found.
    """
    file = files(__package__).joinpath("prompts", f"suggestions_{language}.txt")
    lines = file.read_text(encoding="utf-8").strip().splitlines() if file.is_file() else []
    pairs = [line.split(" | ", 1) for line in lines]
    return tuple((re.compile(pattern), words) for pattern, words in pairs)


def fitting(source: str, language: str) -> list[str]:
    """Returns the words of every change that fits a kernel."""
    found = [(pattern.search(source), words) for pattern, words in changes(language)]
    return [place.expand(words) for place, words in found if place is not None]


def suggestion(source: str, language: str, rng: np.random.Generator) -> str:
    """Draws one of the changes that fit a kernel; empty where none does."""
    choices = fitting(source, language)
    return choices[int(rng.integers(len(choices)))] if choices else ""
