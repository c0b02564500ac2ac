"""Recorded runs that must replay byte for byte.

When one of these fails, something changed the trajectory of every run with the same seed and journal. If that is
meant, say so in the change log under "Changes results" and record anew: python tests/evolve/test_golden.py
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from evolve import Budget
from toy_search import POLICIES, ToyEvaluator, halves, run

GOLDEN = Path(__file__).parent / "golden"
NAMES = ["mu_plus_lambda", "steady_state_lagged", "islands_random", "uct"]


def search(name: str, folder: Path, **more: Any) -> None:
    evaluator = ToyEvaluator(fails=lambda bits: int(bits, 2) % 3 == 1, static=halves, spread=0.05)
    run(POLICIES[name](), folder, evaluator=evaluator, budget=Budget(evaluations=24), duels=True, verify=True, **more)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_replays_byte_for_byte(tmp_path: Path, name: str) -> None:
    shutil.copy(GOLDEN / name / "journal.jsonl", tmp_path)
    search(name, tmp_path, strict=True)

    assert (GOLDEN / name / "generations.jsonl").read_bytes() == (tmp_path / "generations.jsonl").read_bytes()


if __name__ == "__main__":
    for each in NAMES:
        shutil.rmtree(GOLDEN / each, ignore_errors=True)
        search(each, GOLDEN / each)
        shutil.rmtree(GOLDEN / each / "kernels")
