"""The little language in which a person says which runs to show.

``task=softmax operators=llm*,hybrid best>=2 mu!=8 sweep_3`` means all of these at once. A word
without a sign is looked for in path and title.
"""

from __future__ import annotations

import difflib
import operator
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .summary import Summary

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
TERM = re.compile(r"([\w.@/-]+?)(!=|>=|<=|=|>|<)(.*)", re.DOTALL)
GROUPS = ("state", "task", "language", "target", "operators", "search", "llm", "evaluator", "novelty")
"""What runs differ in most often, and is offered for choosing."""
NO_SETTINGS = frozenset({"name", "best", "verified", "evaluations", "tokens", "elapsed_s", "experiment", "tracking"})
MOST_VALUES = 12
MOST_SETTINGS = 24


@dataclass(frozen=True, slots=True)
class Term:
    """One condition.

    Attributes:
        key: What is compared; empty for a word that is looked for.
        sign: How.
        value: With what; several values are separated by commas, and ``*`` stands for anything.
    """

    key: str
    sign: str
    value: str

    def fits(self, run: Summary) -> bool:
        """Returns whether a run fulfils it."""
        if not self.key:
            return self.value.lower() in f"{run.path} {run.title}".lower()
        found = run.values.get(self.key)
        if self.sign in SIGNS:
            return found is not None and _compare(SIGNS[self.sign], found, self.value)
        fits = found is not None and any(_equal(found, each) for each in self.value.split(","))
        return fits == (self.sign == "=")


def terms(query: str) -> list[Term]:
    """Reads a query; quotes that are not closed are taken as they stand."""
    try:
        words = shlex.split(query)
    except ValueError:
        words = query.split()
    found = (TERM.fullmatch(word) for word in words)
    return [Term(*each.groups()) if each else Term("", "", word) for each, word in zip(found, words, strict=True)]


def matching(runs: Iterable[Summary], query: str) -> list[Summary]:
    """Returns the runs that fulfil every term of a query."""
    wanted = terms(query)
    return [run for run in runs if all(term.fits(run) for term in wanted)]


def complaints(runs: Sequence[Summary], query: str) -> list[str]:
    """Returns what is odd about a query: keys that no run has."""
    known = {key for run in runs for key in run.values}
    told = []
    for term in terms(query):
        if term.key and term.key not in known:
            near = difflib.get_close_matches(term.key, known, n=1)
            told.append(f"no run has a key {term.key!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return told


def differing(runs: Sequence[Summary]) -> dict[str, list[tuple[str, int]]]:
    """Returns the settings in which runs differ, each with its values and how many runs have them.

    Groups come first, then keys of the configuration by name; a setting with more than `MOST_VALUES`
    values is left out.
    """
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        for key, value in run.values.items():
            counts.setdefault(key, Counter())[value] += 1
    names = [key for key in GROUPS if key in counts]
    names += sorted(key for key in counts.keys() - {*names, *NO_SETTINGS} if "@" not in key and "_target_" not in key)
    shown = [key for key in names if 1 < len(counts[key]) <= MOST_VALUES]
    return {key: sorted(counts[key].items(), key=lambda each: (-each[1], each[0])) for key in shown[:MOST_SETTINGS]}


def with_term(query: str, key: str, value: str) -> str:
    """Returns a query that asks for one value of a key, in place of what it asked for before."""
    kept = [term for term in terms(query) if term.key != key]
    return written([*kept, Term(key, "=", value)])


def without_key(query: str, key: str) -> str:
    """Returns a query that says nothing about a key."""
    return written([term for term in terms(query) if term.key != key])


def written(wanted: Iterable[Term]) -> str:
    """Returns terms as a query."""
    return " ".join(shlex.quote(term.value) if not term.key else _term(term) for term in wanted)


def _term(term: Term) -> str:
    value = term.value if re.fullmatch(r"[\w.,*/+-]*", term.value) else shlex.quote(term.value)
    return f"{term.key}{term.sign}{value}"


def _equal(found: str, wanted: str) -> bool:
    return found == wanted or fnmatchcase(found, wanted) or _compare(operator.eq, found, wanted)


def _compare(sign: Callable[[float, float], bool], found: str, wanted: str) -> bool:
    try:
        return sign(float(found), float(wanted))
    except ValueError:
        return False
