"""How a kernel compares with what else computes its task, in words: for the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass

from fitness import BASELINES, Evaluation


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One line of a table.

    Attributes:
        name: As in the configuration.
        meaning: In words.
        text: Speedup of the kernel over it with its interval, or why there is none.
    """

    name: str
    meaning: str
    text: str


def baseline_rows(evaluation: Evaluation | None) -> list[BaselineRow]:
    """Returns a row for each baseline of an evaluation, in the order in which they were measured."""
    rows = []
    for each in evaluation.baselines if evaluation is not None else ():
        if each.speedup is not None and each.interval is not None:
            text = f"{each.speedup:.2f}× ({each.interval[0]:.2f} – {each.interval[1]:.2f})"
        else:
            text = f"not compared: it is {each.status}; {each.log.strip().splitlines()[-1] if each.log.strip() else ''}"
        rows.append(BaselineRow(each.name, BASELINES.get(each.name, each.name), text))
    return rows
