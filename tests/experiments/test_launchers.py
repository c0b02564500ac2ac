"""Hydra's launchers and sweepers, for real: searches of a small recorded space, which need no compiler and no GPU."""

import json
import os
from pathlib import Path

import pytest

from experiments.analysis.tables import FAILURE
from spaces_samples import write_space

LAUNCHERS = {
    "basic": ["hydra/launcher=basic"],
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
    "submitit_local": ["hydra/launcher=submitit_local"],
    "submitit_slurm": ["hydra/launcher=submitit_slurm", "hydra.launcher.cpus_per_task=1"],
    "ray": ["hydra/launcher=ray", "hydra.launcher.resubmissions=0"],
}
MARKS = {"ray": [pytest.mark.ray], "submitit_slurm": [pytest.mark.slurm]}
EACH = [pytest.param(name, marks=MARKS.get(name, [])) for name in LAUNCHERS]


@pytest.fixture
def space(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # locks of our own
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")  # paths of sockets must be short
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return write_space(tmp_path / "space.json")


def tiny(space: Path) -> list[str]:
    return ["task=recorded_space", f"task.path={space}", "budget.evaluations=6", "mu=2", "lambda_=2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_launcher_runs_all_jobs_each_with_a_gpu_of_its_own(name, space, tmp_path, command):
    """Two jobs succeed, in folders that the processes of the launcher agree on; the third fails alone and says why."""
    arguments = [*tiny(space), f"task.path={space},/nowhere,{space}", "gpus=[4,7]", *LAUNCHERS[name]]
    done = command("run", "-m", *arguments, cwd=tmp_path)
    (sweep_dir,) = (tmp_path / "runs").iterdir()
    logs = [(sweep_dir / job / "run.log").read_text() for job in "02"]

    assert 0 < done.returncode < 3, done.stderr
    assert {"0", "2"} == {path.parent.name for path in sweep_dir.glob("*/result.json")}, done.stderr
    assert "/nowhere: cannot be read" in json.loads((sweep_dir / "1" / FAILURE).read_text())["error"]
    assert "failed: task" in done.stdout
    assert all(" has GPU 4 for itself" in log or " has GPU 7 for itself" in log for log in logs)


EXPERIMENT = """
arms:
  mutate: [operators=parameter]
  fatal: [+operators.bomb._target_=os.abort]
tasks: {{toy: [task=recorded_space, "task.path={space}"]}}
seeds: 2
overrides: [mu=2, lambda_=2]
budget: {{evaluations: 6}}
"""
"""The third arm kills its process."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in EACH if each.values[0] in ("joblib", "ray")])
def test_an_experiment_survives_jobs_that_kill_their_process(name, space, tmp_path, command):
    declaration = tmp_path / "demo.yaml"
    declaration.write_text(EXPERIMENT.format(space=space))
    done = command("sweep", f"experiment={declaration}", f"hydra.sweep.dir={tmp_path / 'a sweep'}", *LAUNCHERS[name])
    states = {
        str(path.parent.relative_to(tmp_path / "a sweep")): path.name
        for pattern in ("result.json", FAILURE)
        for path in (tmp_path / "a sweep").rglob(pattern)
    }
    expected = {"mutate": "result.json", "fatal": FAILURE}

    assert 1 == done.returncode
    assert {f"{arm}/toy/seed_{seed}": expected[arm] for arm in expected for seed in range(2)} == states, done.stdout


SBATCH = """#!/bin/sh
for last; do :; done
cp "$last" "$(dirname "$0")/submitted.sh"
echo "sbatch: error: invalid partition specified: fast" >&2
exit 1
"""
"""Keeps what is submitted, and refuses it."""


def test_a_sweep_is_one_slurm_array_and_a_refused_one_is_told_in_a_line(space, tmp_path, command, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("srun", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    wanted = ["hydra.launcher.partition=fast", "hydra.launcher.gpus_per_node=1", "hydra.launcher.timeout_min=90"]
    arguments = [*tiny(space), "seed=0,1,2", "hydra/launcher=submitit_slurm", *wanted]
    done = command("run", "-m", *arguments, cwd=tmp_path)
    lines = (folder / "submitted.sh").read_text().splitlines()
    asked = ["--array=0-2%3", "--partition=fast", "--gpus-per-node=1", "--time=90"]

    assert 1 == done.returncode
    assert set() == {f"#SBATCH {each}" for each in asked} - {*lines}
    assert "error: the launcher or sweeper failed: sbatch: error: invalid partition specified: fast" in done.stderr
    assert "Traceback" not in done.stderr
