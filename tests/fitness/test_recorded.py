"""Recorded spaces in the place of task and evaluator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitness import Kernel, Restricted, Status, TaskError, ToolchainError
from fitness.spaces import RecordedEvaluator, RecordedLanguage, RecordedSpace, RecordedTarget
from operators import Tunables
from spaces_samples import PARAMETERS, write_space


@pytest.fixture
def task(tmp_path: Path) -> RecordedSpace:
    return RecordedSpace(write_space(tmp_path / "toy.json"))


def kernel(task: RecordedSpace, *values: Any) -> Kernel:
    return task.kernel(task.space.position(values))


def test_a_kernel_declares_the_parameters_as_tunables(task: RecordedSpace) -> None:
    tunables = Tunables.read(kernel(task, 64, 2, 1, "column", 15).source)

    assert {name: tuple(values) for name, values in PARAMETERS.items()} == tunables.choices == task.parameters
    assert {"block": 64, "tile": 2, "unroll": 1, "layout": "column", "fixed": 15} == tunables.values


def test_every_configuration_is_read_back_as_itself(task: RecordedSpace) -> None:
    found = [task.position(task.kernel(position)) for position in range(len(task.space))]

    assert list(range(len(task.space))) == found


def test_a_kernel_that_a_tunable_was_changed_in_is_another_configuration(task: RecordedSpace) -> None:
    tunables = Tunables.read(task.seed_kernel("recorded").source)
    setting = {"block": 32, "tile": 2, "unroll": 0, "layout": "row", "fixed": 15}

    assert task.space.position((32, 2, 0, "row", 15)) == task.position(
        Kernel(tunables.with_values(setting), "recorded")
    )


def test_which_settings_exist(task: RecordedSpace) -> None:
    setting = {"block": 64, "tile": 2, "unroll": 1, "layout": "column", "fixed": 15}

    assert isinstance(task, Restricted)
    assert task.exists(setting)
    assert not task.exists({**setting, "tile": 1})
    assert not task.exists({**setting, "tile": 3})
    assert not task.exists({"block": 64})


def test_odd_names_and_values_become_words(tmp_path: Path) -> None:
    odd: list[list[Any]] = [["a b", "c,d"], [True, False], [0.5, 1e-7], ["nan", "x"], [-1, 2]]
    names = ["size-x", "on", "rate", "word", "shift"]
    rows = [dict(zip(names, [values[i] for values in odd], strict=True)) for i in range(2)]
    content = {
        "tune_params_keys": names,
        "tune_params": dict(zip(names, odd, strict=True)),
        "cache": {str(i): {**row, "time": 1.0 + i} for i, row in enumerate(rows)},
    }
    (tmp_path / "odd.json").write_text(json.dumps(content))
    task = RecordedSpace(tmp_path / "odd.json")

    assert [0, 1] == [task.position(task.kernel(position)) for position in range(2)]
    assert all(task.exists(Tunables.read(task.kernel(position).source).values) for position in range(2))


def test_the_seed_is_the_configuration_of_median_time(task: RecordedSpace) -> None:
    times = task.space.times_ms
    valid = np.sort(times[np.isfinite(times)])
    position = task.position(task.seed_kernel("recorded"))

    assert position is not None
    assert valid[(len(valid) - 1) // 2] == times[position]


def test_an_evaluation_is_what_was_recorded(task: RecordedSpace) -> None:
    evaluator = RecordedEvaluator(task)
    calibration = evaluator.calibrate()
    found = evaluator.evaluate(kernel(task, 64, 2, 1, "column", 15), calibration)
    (timing,) = found.measurements

    assert Status.OK is found.status
    assert 1000.0 == found.latency_us
    assert pytest.approx((990.0, 1010.0)) == timing.samples_us
    assert calibration.reference_latency_us["recorded"] / 1000.0 == found.speedup
    assert found.interval is not None
    assert found.interval[0] < found.speedup < found.interval[1]


@pytest.mark.parametrize(
    ("values", "status"),
    [((128, 2, 0, "row", 15), Status.BUILD_FAILED), ((16, 4, 0, "column", 15), Status.CRASHED)],
)
def test_what_failed_fails_as_recorded(task: RecordedSpace, values: tuple[Any, ...], status: Status) -> None:
    evaluator = RecordedEvaluator(task)
    found = evaluator.evaluate(kernel(task, *values), evaluator.calibrate())

    assert status is found.status
    assert found.latency_us is None


def test_what_is_not_in_the_file_is_rejected(task: RecordedSpace) -> None:
    evaluator = RecordedEvaluator(task)
    source = kernel(task, 128, 2, 0, "column", 15).source.replace("define tile 2", "define tile 4")
    found = [evaluator.evaluate(Kernel(text, "recorded"), evaluator.calibrate()) for text in (source, "", "int x;")]

    assert [Status.REJECTED] * 3 == [each.status for each in found]


def test_duels_are_won_by_what_was_faster(task: RecordedSpace) -> None:
    evaluator = RecordedEvaluator(task)
    fast, slow = kernel(task, 64, 2, 1, "column", 15), kernel(task, 16, 2, 0, "row", 15)
    calibration = evaluator.calibrate()

    assert evaluator.duel(fast, slow, calibration).won
    assert not evaluator.duel(slow, fast, calibration).won
    assert not evaluator.duel(fast, fast, calibration).won
    with pytest.raises(TaskError, match="recorded time"):
        evaluator.duel(fast, kernel(task, 16, 4, 0, "column", 15), calibration)


def test_the_key_depends_on_what_is_recorded(task: RecordedSpace, tmp_path: Path) -> None:
    (tmp_path / "same").mkdir()
    (tmp_path / "changed").mkdir()
    same, changed = write_space(tmp_path / "same" / "toy.json"), write_space(tmp_path / "changed" / "toy.json")
    content = json.loads(changed.read_text())
    content["cache"]["64,2,1,column,15"]["time"] = 1.5
    changed.write_text(json.dumps(content))
    key = RecordedEvaluator(task).key

    assert key == RecordedEvaluator(RecordedSpace(same)).key
    assert key != RecordedEvaluator(RecordedSpace(changed)).key


def test_there_is_nothing_to_compute_or_build(task: RecordedSpace, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for ask in (
        lambda: task.make_inputs(task.time_workloads[0], rng),
        lambda: task.reference({}),
        lambda: task.tolerance({}, {}),
    ):
        with pytest.raises(TaskError, match="searched, not computed"):
            ask()
    with pytest.raises(ToolchainError, match="cannot be built"):
        RecordedLanguage().build(task.seed_kernel("recorded"), RecordedTarget(), tmp_path)
    with pytest.raises(TaskError, match=r"task\.path=FILE"):
        RecordedSpace()
