"""Sweeps: one directory a job, failures that stay alone, and two runs in the same second."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from rich.console import Console

from evolve import Journal
from experiments.sweep import register_resolvers, summarise

ROOT = Path(__file__).parent.parent.parent
TINY = ["evaluator=quick", "generations=1", "mu=1", "lambda_=2"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Two tasks and two seeds."""
    folder = tmp_path_factory.mktemp("sweep") / "all"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "experiments.run",
            "-m",
            *TINY,
            "task=softmax,row_sum",
            "seed=0,1",
            f"hydra.sweep.dir={folder}",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    return folder, done


@pytest.mark.parametrize("name", ["environment.json", "result.json", "config.yaml"])
def test_a_damaged_file_of_a_job_is_told_in_its_line(tmp_path, name):
    for job in ("0", "1"):
        (tmp_path / job).mkdir()
    (tmp_path / "0" / name).write_text("[{")
    console = Console(file=io.StringIO(), width=400)
    summarise(tmp_path, console)
    lines = console.file.getvalue().splitlines()

    assert 1 == sum("unreadable: " in line for line in lines)
    assert any("not finished" in line for line in lines)


def test_every_combination_is_a_run_of_its_own(sweep):
    def what(path):
        task = json.loads((path / "environment.json").read_text())["choices"]["task"]
        return task, OmegaConf.load(path / "config.yaml").seed

    made = {what(path) for path in sweep[0].iterdir() if path.is_dir()}

    assert {("softmax", 0), ("softmax", 1), ("row_sum", 0), ("row_sum", 1)} == made


def test_every_job_has_a_report(sweep):
    assert 4 == len(list(sweep[0].glob("*/report.html")))


def test_a_sweep_ends_with_a_table(sweep):
    rows = [line for line in sweep[1].stdout.splitlines() if line.startswith("│") and 7 == line.count("│")]

    assert 4 == sum("generations" in row for row in rows)


def test_a_failed_job_takes_no_other_along(command, tmp_path):
    done = command("run", "-m", *TINY, "task=row_sum", "target.threads=1000,1", f"hydra.sweep.dir={tmp_path}")

    assert 2 == done.returncode
    assert "target.threads must be between" in done.stderr
    assert not (tmp_path / "0" / "result.json").exists()
    assert (tmp_path / "1" / "result.json").exists()


def test_a_failed_job_says_why_in_its_own_log(command, tmp_path):
    command("run", "-m", *TINY, "task=row_sum", "target.threads=1000", f"hydra.sweep.dir={tmp_path}")

    assert "target.threads must be between" in (tmp_path / "0" / "run.log").read_text()


def test_a_single_run_that_failed_says_why_until_it_is_run_again(command, tmp_path):
    """So that the browser knows it from one that was stopped."""
    run_dir, at = tmp_path / "run", f"hydra.run.dir={tmp_path / 'run'}"
    command("run", *TINY, "task=row_sum", "target.threads=1000", at)
    failure = json.loads((run_dir / "failed.json").read_text())
    again = command("run", *TINY, "task=row_sum", at)

    assert "target.threads must be between" in failure["error"]
    assert (0, False) == (again.returncode, (run_dir / "failed.json").exists())


def test_two_sweeps_on_one_folder_leave_no_failure_in_a_finished_run(command, tmp_path):
    """The second one finds the run of the first at work; the first one finishes it, whatever was noted meanwhile."""
    arguments = [*TINY, "task=row_sum", "seed=0"]
    with Journal(tmp_path / "0" / "journal.jsonl"):
        second = command("run", "-m", *arguments, f"hydra.sweep.dir={tmp_path}")
    noted = (tmp_path / "0" / "failed.json").exists()
    (tmp_path / "0" / "failed.json").write_text("{}")
    first = command("run", *arguments, f"hydra.run.dir={tmp_path / '0'}")

    assert (1, 0) == (second.returncode, first.returncode)
    assert "another process is running in this folder" in second.stderr
    assert not noted
    assert (tmp_path / "0" / "result.json").exists()
    assert not (tmp_path / "0" / "failed.json").exists()


def test_the_same_sweep_again_reuses_what_is_there(sweep, command):
    folder, _ = sweep
    before = {path: path.read_bytes() for path in folder.glob("*/journal.jsonl")}
    done = command("run", "-m", *TINY, "task=softmax,row_sum", "seed=0,1", f"hydra.sweep.dir={folder}")

    assert 0 == done.returncode, done.stderr
    assert before == {path: path.read_bytes() for path in folder.glob("*/journal.jsonl")}


def test_runs_of_the_same_second_have_different_directories(tmp_path):
    arguments = [sys.executable, "-m", "experiments.run", *TINY, "task=row_sum", "hydra.run.dir=runs/same_${unique:}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(arguments, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]

    assert [0, 0] == [process.wait(timeout=300) for process in both]
    assert 2 == len(list((tmp_path / "runs").iterdir()))


def test_the_unique_part_is_one_for_a_configuration():
    register_resolvers()
    config = OmegaConf.create({"dir": "${unique:}", "again": "${unique:}"})

    assert config.dir == config.again
    assert config.dir != OmegaConf.create({"dir": "${unique:}"}).dir


def test_the_default_directories_are_unique(command, tmp_path):
    shown = command("run", "--cfg", "hydra", cwd=tmp_path).stdout

    assert 2 == shown.count("_${unique:}")
