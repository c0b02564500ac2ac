"""How kernels ended, counted for a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fitness import Status

from .runs import Candidate, Run

MEANINGS: Mapping[Status, str] = {
    Status.OK: "correct in every check",
    Status.REJECTED: "refused before building",
    Status.BUILD_FAILED: "the compiler said no",
    Status.BUILD_TIMEOUT: "the compiler was stopped at its limit",
    Status.CRASHED: "died of a signal or an uncaught error",
    Status.NO_RESULT: "ended without delivering outputs",
    Status.OUT_OF_MEMORY: "wanted more memory than allowed",
    Status.RUN_TIMEOUT: "was stopped at its time limit",
    Status.WRONG_SHAPE: "output of another shape or type",
    Status.WRONG_VALUE: "output outside the tolerance",
    Status.UNREPEATABLE: "two calls on equal inputs differ",
    Status.TAMPERED: "touched memory that is not its own",
    Status.SUSPECT: "correct, but its time cannot be true",
}
EXAMPLE_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class StatusRow:
    """How many kernels got a verdict, with the log of one of them.

    Attributes:
        status: The verdict, or why a proposal held no kernel.
        count: Of candidates, each kernel once.
        founding: Of what the search started from.
        meaning: The verdict in words.
        digest: Of the example.
        log: What was said of it.
    """

    status: str
    count: int
    founding: int
    meaning: str
    digest: str
    log: str


def statuses(run: Run) -> list[StatusRow]:
    """Counts verdicts, most frequent first; failures come with the log of one example.

    The counts and the repeats of the funnel add up to what it says was proposed.
    """
    counts, founding = Counter[Status](), Counter[Status]()
    examples: dict[Status, Candidate] = {}
    for each in run.evaluated:
        if each.evaluation is not None:
            (founding if each.operator == "seed" else counts)[each.evaluation.status] += 1
            if each.evaluation.log and not each.evaluation.ok:
                examples.setdefault(each.evaluation.status, each)
    rows = []
    for status, _ in sorted((counts + founding).items(), key=lambda item: (-item[1], item[0])):
        digest, log = _example(examples.get(status))
        rows.append(StatusRow(status.value, counts[status], founding[status], MEANINGS[status], digest, log))
    outcomes = Counter(each.outcome for each in run.candidates if each.digest is None)
    for outcome, count in sorted(outcomes.items(), key=lambda item: (-item[1], item[0])):
        notes = [each.note for each in run.candidates if each.digest is None and each.outcome == outcome and each.note]
        log = notes[0][:EXAMPLE_CHARACTERS] if notes else ""
        rows.append(StatusRow(outcome, count, 0, "the proposal held no kernel", "", log))
    return rows


def _example(candidate: Candidate | None) -> tuple[str, str]:
    """Returns digest and log of a candidate that failed; nothing of none."""
    if candidate is None or candidate.evaluation is None:
        return "", ""
    return candidate.digest or "", candidate.evaluation.log[:EXAMPLE_CHARACTERS]
