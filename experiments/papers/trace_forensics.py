"""Number 13: trace forensics (EvoTrace, https://arxiv.org/abs/2605.20086).

Source: 121 runs of four frameworks on 16 tasks; about 30 % of the added lines are byte-identical to lines that the
same lineage had deleted, and much of the gain comes from tuned constants, hence a ceiling by tuning a single program
should be reported.

Here: every correct child is compared with its first parent, line by line; edits are classed as constants only (same
text but for numbers), names and layout only, or structure. An added line counts as re-introduced when an ancestor had
it and a nearer one had not. The ceiling is the same budget spent on the declared constants of one kernel, at random
and by a Gaussian process. The source has nine classes, drawn by a model; ours are three, decided by the text. CPU
scale: a matrix product, edits of the syntax tree, 60 evaluations, 5 seeds.

Here, GPU scale (scale=gpu): a model's rewrites and diffs, ten Triton kernels, 150 evaluations, 10 seeds. Any stored
sweep can be looked at the same way: `findings` reads nothing but records.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..analysis.result import Result
from ..analysis.skeletons import NUMBER, skeleton
from ..records import load_run
from ..runs import Candidate, Run
from .finding import Finding
from .question import answer

if TYPE_CHECKING:
    import pandas as pd

NAME = "trace_forensics"
KINDS = ("constants", "names_or_layout", "structure")


def kind_of(parent: str, child: str, language: str) -> str:
    """Returns of which of `KINDS` an edit is."""
    if skeleton(parent, language) != skeleton(child, language):
        return "structure"
    return "constants" if NUMBER.sub("0", parent) == NUMBER.sub("0", child) else "names_or_layout"


def lines_of(source: str) -> frozenset[str]:
    """Returns the lines that hold something."""
    return frozenset(stripped for line in source.splitlines() if (stripped := line.strip()) not in ("", "{", "}"))


def added_lines(run: Run, child: Candidate) -> tuple[int, int]:
    """Returns how many lines a child adds to its first parent, and how many of them an older ancestor had."""
    line = lineage(run.first, child)
    sources = [lines_of(run.sources[each.digest]) for each in line if each.digest is not None]
    if len(sources) < 2:
        return 0, 0
    added = sources[0] - sources[1]
    return len(added), len(added & frozenset().union(*sources[2:]))


def lineage(first: Mapping[str, Candidate], child: Candidate) -> list[Candidate]:
    """Returns a candidate, its first parent, that one's first parent and so on."""
    line = [child]
    while line[-1].parents and (parent := first.get(line[-1].parents[0])) is not None and parent not in line:
        line.append(parent)
    return line


def findings(result: Result) -> list[Finding]:
    """Classes the edits of every finished run."""
    import pandas as pd

    counts: dict[str, Counter[str]] = {}
    runs = result.sweep.runs
    for arm, path in zip(runs["arm"], runs["path"], strict=True):
        if (result.sweep.path / path / "result.json").exists():
            counts.setdefault(arm, Counter()).update(_edits(load_run(result.sweep.path / path)))
    caption = "Edits that gave a correct kernel, by kind, and lines that come back."
    table: pd.DataFrame = pd.DataFrame([{"arm": arm, **_row(count)} for arm, count in sorted(counts.items())])
    return [Finding("edits", caption, table)]


def _edits(run: Run) -> Counter[str]:
    """Counts edits and lines of one run."""
    count: Counter[str] = Counter()
    for child in run.evaluated:
        parent = run.first.get(child.parents[0]) if child.parents else None
        if parent is None or parent.digest is None or child.digest is None or child.speedup is None:
            continue
        kind = kind_of(run.sources[parent.digest], run.sources[child.digest], run.language)
        count[kind] += 1
        count[f"{kind}_faster"] += child.speedup > (parent.speedup or 0.0)
        added, again = added_lines(run, child)
        count["added"] += added
        count["again"] += again
    return count


def _row(count: Counter[str]) -> dict[str, float]:
    """Returns shares of edits, of them that were faster than the parent as measured, and of lines that came back."""
    total = sum(count[kind] for kind in KINDS)
    shares = {kind: count[kind] / total if total else float("nan") for kind in KINDS}
    faster = {
        f"{kind}_faster": count[f"{kind}_faster"] / count[kind] if count[kind] else float("nan") for kind in KINDS
    }
    added = count["added"]
    return {
        "edits": total,
        **shares,
        **faster,
        "added_lines": added,
        "reintroduced": count["again"] / added if added else 0.0,
    }


if __name__ == "__main__":
    sys.exit(answer(NAME))
