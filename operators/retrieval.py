"""Finding documents for a prompt: by what the evaluation showed, and by their words (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fitness import Status

from .operator import Brief, Parent

_SHIPPED = Path(__file__).parent / "knowledge"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")

K1, B = 1.2, 0.75
"""BM25's usual parameters: saturation of a word's count, weight of a document's length."""

MEMORY_BOUND, COMPUTE_BOUND = 4.0, 16.0
"""Flops per byte below and above which memory or arithmetic is surely the limit on today's hardware."""


@dataclass(frozen=True)
class Document:
    """A short text for prompts.

    Attributes:
        name: Folder and file, e.g. ``"cpp/errors"``.
        title: Its first line.
        languages: For which it is meant; empty for all.
        triggers: What in an evaluation calls for it: statuses, or names that `triggers` gives.
        body: The text.
    """

    name: str
    title: str
    languages: frozenset[str]
    triggers: frozenset[str]
    body: str

    @cached_property
    def words(self) -> Counter[str]:
        """Counts of the words of title and body, in lower case."""
        return Counter(_words(f"{self.title} {self.body}"))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def read_document(path: Path, name: str) -> Document:
    """Reads a file: ``# Title``, optional lines ``languages: a, b`` and ``when: a, b``, then the text.

    Raises:
        ValueError: There is no title.
    """
    lines = path.read_text(encoding="utf-8").strip().split("\n")
    if not lines[0].startswith("# "):
        raise ValueError(f"{path}: a document begins with '# Title'")
    fields: dict[str, frozenset[str]] = {}
    position = 1
    while position < len(lines) and (match := re.match(r"(languages|when):(.*)$", lines[position])):
        fields[match.group(1)] = frozenset(word.strip() for word in match.group(2).split(",") if word.strip())
        position += 1
    none: frozenset[str] = frozenset()
    body = "\n".join(lines[position:]).strip()
    return Document(name, lines[0][2:].strip(), fields.get("languages", none), fields.get("when", none), body)


def triggers(brief: Brief, parents: Sequence[Parent]) -> frozenset[str]:
    """Returns what the evaluations of the parents, and the task, call for.

    Statuses by their names; ``draft`` without parents; ``crossover`` with several; ``memory_bound``
    or ``compute_bound`` by the task's flops per byte; ``single_threaded``, ``register_spills`` and
    ``low_occupancy`` by measurement and static metrics.
    """
    found = {str(parent.evaluation.status) for parent in parents}
    found |= {"draft"} if not parents else {"crossover"} if len(parents) > 1 else set()
    costs = [brief.task.cost(workload) for workload in brief.task.time_workloads]
    flops, moved = sum(cost.flops for cost in costs), sum(cost.bytes for cost in costs)
    if moved and flops / moved < MEMORY_BOUND:
        found.add("memory_bound")
    if moved and flops / moved > COMPUTE_BOUND:
        found.add("compute_bound")
    for parent in parents:
        measured = parent.evaluation.measurements
        may_use_threads = brief.hardware.get("threads") != "1"
        ratios = [each.cpu_ratio for each in measured if each.cpu_ratio is not None]
        if may_use_threads and ratios and max(ratios) < 1.2:
            found.add("single_threaded")
        static = parent.evaluation.static
        if any(value > 0 for name, value in static.items() if "spill" in name):
            found.add("register_spills")
        if any(value < 0.5 for name, value in static.items() if "occupancy" in name):
            found.add("low_occupancy")
    return frozenset(found)


class Library:
    """The shipped documents and those of a user's own folder.

    Args:
        folder: A folder of further ``*.md`` files; a file of the same relative name replaces ours.
        shipped: Whether ours are there at all.

    Raises:
        ValueError: The folder does not exist, or a file in it has no title.
    """

    def __init__(self, folder: str | None = None, shipped: bool = True) -> None:
        found: dict[str, Document] = {}
        for root in [*([_SHIPPED] if shipped else []), *([Path(folder)] if folder else [])]:
            if not root.is_dir():
                raise ValueError(f"the folder of documents {root} does not exist")
            for path in sorted(root.rglob("*.md")):
                name = path.relative_to(root).with_suffix("").as_posix()
                found[name] = read_document(path, name)
        self.documents = tuple(found.values())

    def retrieve(self, brief: Brief, parents: Sequence[Parent], most: int) -> list[Document]:
        """Returns up to ``most`` documents: those with most triggers first, then those with most of the words.

        When a kernel failed, its status counts twice, and the words are those of its log; else they
        are those of task and source.
        """
        called_for = triggers(brief, parents)
        statuses = frozenset(str(parent.evaluation.status) for parent in parents)
        fitting = [each for each in self.documents if not each.languages or brief.language.name in each.languages]
        failed = [parent for parent in parents if parent.evaluation.status is not Status.OK]
        query = " ".join(parent.evaluation.log for parent in failed)
        if not query.strip():
            query = f"{brief.task.name} {brief.task.description} " + " ".join(each.kernel.source for each in parents)
        scores = self._scores(fitting, query)
        called = [len(each.triggers & called_for) + len(each.triggers & statuses) for each in fitting]
        ranked = sorted(range(len(fitting)), key=lambda i: (-called[i], -scores[i], fitting[i].name))
        useful = [i for i in ranked if called[i] or scores[i] > 0]
        return [fitting[i] for i in useful[:most]]

    @staticmethod
    def _scores(documents: Sequence[Document], query: str) -> list[float]:
        """Returns BM25 of each document; every word of the query counts once."""
        lengths = [sum(document.words.values()) for document in documents]
        mean = sum(lengths) / max(1, len(lengths))
        scores = [0.0] * len(documents)
        for word in sorted(set(_words(query))):
            counts = [document.words[word] for document in documents]
            containing = sum(count > 0 for count in counts)
            rarity = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
            for i, count in enumerate(counts):
                scores[i] += (
                    rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[i] / mean)) if count else 0.0
                )
        return scores
