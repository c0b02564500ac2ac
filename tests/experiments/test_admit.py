"""The command that says whether a task is fit for search."""

from __future__ import annotations

import re
import shutil

import pytest

from experiments import admit

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
SMALL = ["task.time_sizes=[{M: 33, N: 65}]", "evaluator=quick"]


@needs_compiler
def test_a_fit_task_is_admitted_with_one_table_of_all_demands(capsys):
    status = admit.main(["task=row_sum", *SMALL])
    output = capsys.readouterr().out
    assert 0 == status
    assert "task row_sum: fit for search" in output
    for demand in ("zeros fail", "constants fail", "input matters: x", "well conditioned", "seed kernel in cpp passes"):
        assert demand in output
    assert 1 == output.count("demand")


@needs_compiler
def test_several_tasks_share_one_table(capsys):
    assert 0 == admit.main(["task=row_sum,prefix_sum", *SMALL])
    lines = capsys.readouterr().out.splitlines()
    assert ["row_sum", "prefix_sum"] == [re.split(r"\W+", line)[1] for line in lines if "of 17" in line]


TASK = """
import numpy as np
from fitness.tasks import RowSum

class Loose(RowSum):
    def tolerance(self, inputs, expected):
        return {"y": 10.0 * np.abs(inputs["x"].astype(np.float64)).sum(axis=1)}
"""


@needs_compiler
def test_an_unfit_task_of_ones_own_is_refused_with_the_reason(tmp_path, monkeypatch, capsys):
    (tmp_path / "loose_task.py").write_text(TASK)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "loose.yaml").write_text("_target_: loose_task.Loose\ntime_sizes: [{M: 33, N: 65}]\n")
    monkeypatch.syspath_prepend(tmp_path)
    status = admit.main(["task=loose", "--config-dir", str(tmp_path), "evaluator=quick"])
    output = capsys.readouterr().out
    assert 1 == status
    assert "NOT fit for search" in output
    assert "within tolerance at time-33x65" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["task=sofmax"], "error: task=sofmax: unknown task; did you mean softmax?"),
        ([], "error: task: missing; give task=…"),
        (["task=,"], "error: task: give a name"),
        (["task=softmax", "colour=red"], "colour"),
    ],
)
def test_a_usage_error_is_one_line_and_status_2(arguments, message, capsys):
    assert 2 == admit.main(arguments)
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_all_names_every_task_that_needs_no_values():
    names = admit.task_names("all", None)
    assert {"softmax", "matmul", "attention"} <= set(names)
    assert sorted(names) == names
