"""fast_p over stored runs, and the commands that name a KernelBench problem by bare keys."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments import admit, fast_p
from experiments.records import load_run
from fitness import Status
from kernelbench_problems import POSITIVE, SQUARES, checkout
from stored_run import make_run

TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def stored(folder, problem, **run):
    """A run of a KernelBench problem, with what its calibration said of torch."""
    make_run(folder, **run)
    task = {"level": 1, "problem": problem}
    (folder / "config.yaml").write_text(json.dumps({"task": task}))
    facts = json.loads((folder / "environment.json").read_text())
    facts["choices"] = {**facts["choices"], "task": "kernelbench"}
    (folder / "environment.json").write_text(json.dumps(facts))
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        if line.get("kind") == "calibration":
            line["value"]["facts"] = {"eager_us": 50.0, "compile_us": 400.0}
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


@pytest.fixture
def runs(tmp_path):
    """One run that ended well, and one whose best kernel failed its re-verification."""
    return [stored(tmp_path / "a", 1), stored(tmp_path / "b", 2, verdict=Status.WRONG_VALUE)]


def test_a_failure_counts_in_every_share(runs, tmp_path):
    out = tmp_path / "fast_p.json"
    assert 0 == fast_p.main([*runs, "--json", str(out)])
    told = json.loads(out.read_text())

    assert (2, 1) == (told["num_problems"], told["seed"]["num_correct"])
    assert 0.5 == told["seed"]["fast_p"][0]
    assert told["problems"][1]["seed"] is None


def test_what_a_shell_finds_beside_runs_is_left_out_and_named(runs, tmp_path, capsys):
    refused, first_line, table = tmp_path / "refused", tmp_path / "first_line", tmp_path / "multirun.yaml"
    for folder, name in ((refused, "run.log"), (first_line, "journal.jsonl")):
        folder.mkdir()
        (folder / name).write_text('{"schema":"kernelwright.journal/1","configuration":{}}\n')
    table.touch()

    assert 0 == fast_p.main([*runs, str(table), str(refused), str(first_line)])
    told = capsys.readouterr()
    assert f"note: left out, as no run began there: {refused}, {first_line}, 1 plain file\n" == told.err
    assert "over 2 problems" in told.out
    assert 0 != fast_p.main([str(refused)])
    assert "holds no run" in capsys.readouterr().err
    assert 0 != fast_p.main([*runs, str(tmp_path / "misspelt")])


def test_a_run_that_ended_before_its_first_record_is_a_failure(runs, tmp_path):
    (tmp_path / "b" / "generations.jsonl").write_text("")
    rows = [fast_p.row_of(Path(each)) for each in runs]

    assert ["level 1 problem 1", "level 1 problem 2"] == [row.problem for row in rows]
    assert np.isnan(rows[1].speedups["seed"])


def test_what_was_timed_in_pairs_goes_before_what_the_calibration_says(runs):
    row = fast_p.row_of(Path(runs[0]))

    assert 1.25 == row.speedups["eager"]
    assert np.isnan(row.speedups["compile"])  # it was compared, and the other side failed


def test_times_of_the_calibration_serve_where_nothing_was_timed_in_pairs(runs, monkeypatch):
    run = load_run(Path(runs[0]))
    bare = replace(run, verification=replace(run.verification, baselines=()))
    monkeypatch.setattr(fast_p, "load_run", lambda path: bare)
    row = fast_p.row_of(Path(runs[0]))

    assert pytest.approx(8.0) == row.speedups["compile"] / row.speedups["eager"]
    assert pytest.approx(50.0 / bare.verification.latency_us) == row.speedups["eager"]


def copies(rng, count=200, spread=0.01):
    """Problems whose kernel is a copy of the baseline: measured at 1 ± 1 %, with intervals that hold 1."""
    found = []
    for number in range(count):
        speedup = float(1.0 + spread * rng.standard_normal())
        found.append(fast_p.Row(str(number), {"seed": speedup}, {"seed": speedup - 1.96 * spread}))
    return found


def test_copies_of_the_baseline_are_not_faster_than_it():
    told = fast_p.summary(copies(np.random.default_rng(0)))["seed"]
    shares = {name: told[name][fast_p.THRESHOLDS.index(1.0)] for name in ("fast_p", "fast_p_measured")}

    assert shares["fast_p"] < 0.06
    assert 0.4 < shares["fast_p_measured"] < 0.6


def test_a_kernel_is_faster_when_its_whole_interval_is(runs, monkeypatch, capsys):
    run = load_run(Path(runs[0]))
    for interval, expected in (((0.99, 1.03), "0 % (100 %)"), ((1.001, 1.03), "100 % (100 %)")):
        near = replace(run, verification=replace(run.verification, speedup=1.01, interval=interval, baselines=()))
        monkeypatch.setattr(fast_p, "load_run", lambda path, near=near: near)
        fast_p.main([runs[0]])
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "fast_1 " in line]

        assert expected == line.split("│")[2].strip()


def test_a_ratio_without_an_interval_counts_as_measured(runs, monkeypatch):
    run = load_run(Path(runs[0]))
    monkeypatch.setattr(
        fast_p, "load_run", lambda path: replace(run, verification=replace(run.verification, baselines=()))
    )
    row = fast_p.row_of(Path(runs[0]))

    assert row.speedups["eager"] == row.certain["eager"]
    assert row.speedups["seed"] > row.certain["seed"]


def test_without_any_kernel_only_the_seed_is_a_baseline(runs, tmp_path):
    out = tmp_path / "fast_p.json"
    fast_p.main([runs[1], "--json", str(out)])
    told = json.loads(out.read_text())

    assert {"seed"} == told.keys() & {*fast_p.NAMES}
    assert (0, [0.0] * len(fast_p.THRESHOLDS)) == (told["seed"]["num_correct"], told["seed"]["fast_p"])


def test_two_runs_of_one_problem_are_refused(runs, capsys):
    assert 1 == fast_p.main([runs[0], runs[0]])
    assert "level 1 problem 1: several runs" in capsys.readouterr().err


def test_a_folder_without_a_run_is_one_line(tmp_path, capsys):
    assert 1 == fast_p.main([str(tmp_path)])
    assert "holds no run" in capsys.readouterr().err


@TORCH
def test_a_problem_is_named_by_bare_keys(tmp_path, capsys):
    root = checkout(tmp_path, SQUARES, POSITIVE)

    assert 0 == admit.main(["task=kernelbench", "level=1", "problem=1", f"root={root}"])
    assert 1 == admit.main(["task=kernelbench", "level=1", "problem=2", f"root={root}"])
    told = capsys.readouterr()
    assert "task kernelbench_1_1: fit for search" in told.out
    assert "task kernelbench_1_2: NOT fit for search" in told.out


def test_a_problem_that_is_not_named_is_asked_for(capsys):
    assert 2 == admit.main(["task=kernelbench"])
    assert "level=N problem=N root=FOLDER" in capsys.readouterr().err


def test_a_task_that_only_its_user_can_name_is_left_out_of_all():
    names = admit.task_names("all", None)

    assert not {"kernelbench", "recorded_space"} & {*names}
    assert "softmax" in names
