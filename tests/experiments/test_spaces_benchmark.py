"""Search policies on recorded spaces: accounting, records, tables, and what a person is told."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.benchmarks import spaces
from experiments.benchmarks.space_runs import POLICIES, best_so_far_ms
from experiments.benchmarks.space_tables import outcome, rows
from fitness.spaces import RecordedSpace
from spaces_samples import write_space

BUDGET = 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_space(tmp_path / "toy.json")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_is_a_curve_of_recorded_times(path: Path, policy: str) -> None:
    task = RecordedSpace(path)
    curve = best_so_far_ms(task, policy, BUDGET, seed=0, repeat=1)

    assert (BUDGET,) == curve.shape
    assert (curve[1:] <= curve[:-1]).all()
    for time in curve[np.isfinite(curve)]:
        assert 0.0 == pytest.approx(np.nanmin(np.abs(task.space.times_ms - time)), abs=1e-9)


@pytest.mark.parametrize("policy", ["surrogate", "random_sampling"])
def test_a_budget_of_the_whole_space_finds_the_optimum(path: Path, policy: str) -> None:
    task = RecordedSpace(path)
    curve = best_so_far_ms(task, policy, len(task.space) + 5, seed=0, repeat=0)

    assert task.space.optimum_ms == pytest.approx(curve[-1])


def test_random_search_takes_as_long_as_calculated(path: Path) -> None:
    from fitness.spaces import random_search_fraction

    task = RecordedSpace(path)
    curves = [best_so_far_ms(task, "random_sampling", 8, seed=0, repeat=repeat) for repeat in range(60)]
    found = (task.space.optimum_ms / np.array(curves)).mean(axis=0)

    np.testing.assert_allclose(random_search_fraction(task.space.times_ms, 8), found, atol=0.12)


def test_all_policies_start_from_the_same_draws(path: Path) -> None:
    task = RecordedSpace(path)
    first = {best_so_far_ms(task, policy, 3, seed=4, repeat=2)[0] for policy in POLICIES}

    assert 1 == len(first)


def test_fraction_and_area_are_those_of_the_contract(path: Path) -> None:
    found = outcome(RecordedSpace(path).space, "f", "p", 3, np.array([np.inf, 4.0, 2.0, 1.0]))

    assert {
        "policy": "p",
        "file": "f",
        "budget": 4,
        "repeat": 3,
        "fraction": 1.0,
        "area": (0.0 + 0.25 + 0.5 + 1.0) / 4,
    } == found.record()


def test_files_have_equal_weight_and_intervals_hold_the_mean(path: Path) -> None:
    space = RecordedSpace(path).space
    times = {"a": (1.0, 2.0), "b": (4.0, 4.0)}
    found = [
        outcome(space, file, "p", repeat, np.array([time]))
        for file, pair in times.items()
        for repeat, time in enumerate(pair)
    ]
    (row,) = rows(found, seed=0)
    mean, low, high = row.figures["fraction"]

    assert ((1.0 + 0.5) / 2 + 0.25) / 2 == mean
    assert low <= mean <= high


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_command_stores_one_record_a_policy_file_budget_and_repeat(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: int
) -> None:
    output = tmp_path / "out.json"
    arguments = ["--budgets", "10,5", "--repeats", "2", "--policies", "surrogate,random_sampling"]
    status = spaces.main([str(path), *arguments, "--json", str(output), "--jobs", str(jobs)])
    records = json.loads(output.read_text())
    keys = [(each["policy"], each["file"], each["budget"], each["repeat"]) for each in records]

    assert 0 == status
    wanted = [(p, str(path), b, r) for p in ("surrogate", "random_sampling") for b in (5, 10) for r in (0, 1)]
    assert wanted == keys
    assert all({"policy", "file", "budget", "repeat", "fraction", "area"} == set(each) for each in records)
    assert "surrogate" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_records(path: Path, tmp_path: Path) -> None:
    arguments = [str(path), "--budgets", "14", "--repeats", "2", "--policies", "surrogate,genetic_algorithm"]
    for name, jobs in (("a", "1"), ("b", "2")):
        spaces.main([*arguments, "--json", str(tmp_path / name), "--jobs", jobs])
    spaces.main([*arguments, "--json", str(tmp_path / "c"), "--seed", "1", "--jobs", "1"])

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent.json"], "absent.json: cannot be read"),
        (["{path}", "--budgets", "0"], "a budget must be at least 1"),
        (["{path}", "--budgets", "ten"], "whole numbers separated by commas"),
        (["{path}", "--repeats", "0"], "of at least 1 is expected"),
        (["{path}", "--policies", "surogate"], "did you mean surrogate?"),
        (["{path}", "--json", "{path}/absent/out.json"], "give a file in a folder that exists"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    status = spaces.main([each.format(path=path) for each in arguments])
    error = capsys.readouterr().err

    assert 2 == status
    assert told in error
    assert "Traceback" not in error


def test_a_damaged_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text('{"cache": {')

    assert 2 == spaces.main([str(tmp_path / "bad.json")])
    assert "bad.json: not JSON, or cut short" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("kernel_tuner") is not None, reason="Kernel Tuner is installed")
def test_without_the_peer_a_line_says_how_to_install_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == spaces.main([str(path), "--peer", "kernel_tuner"])
    assert "pip install" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("kernel_tuner") is None, reason="needs Kernel Tuner: pip install kernel_tuner")
@pytest.mark.filterwarnings("default")  # of its dependencies
def test_the_peer_runs_under_the_same_accounting(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    arguments: list[Any] = ["--budgets", "8", "--repeats", "2", "--policies", "random_sampling", "--jobs", "1"]
    peer = ["--peer", "kernel_tuner", "--strategies", "random_sample,genetic_algorithm"]
    status = spaces.main([str(path), *arguments, *peer, "--json", str(output)])
    found = {each["policy"] for each in json.loads(output.read_text())}

    assert 0 == status
    assert {"random_sampling", "kernel_tuner/random_sample", "kernel_tuner/genetic_algorithm"} == found
