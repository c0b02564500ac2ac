"""The sweep that Optuna steers: real studies, real runs of a small recorded space."""

import json
import sys
from pathlib import Path

import optuna
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from optuna.trial import TrialState

from experiments.faults import ConfigError
from experiments.launching import check_launchers
from experiments.sweep import check_sweep
from hydra_plugins.kernelwright.optuna_sweeper import OptunaSweeper, suggested, tell
from spaces_samples import write_space


def study_of(folder: Path) -> optuna.Study:
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "optuna.journal"))
    return optuna.load_study(study_name="optuna", storage=optuna.storages.JournalStorage(backend))


def ended(value: object, status: JobStatus = JobStatus.COMPLETED) -> JobReturn:
    job = JobReturn(status=status)
    job.return_value = value
    return job


@pytest.mark.parametrize(
    ("job", "state"),
    [
        (ended(1.5), TrialState.COMPLETE),
        (ended(float("nan")), TrialState.FAIL),
        (ended(float("inf")), TrialState.FAIL),
        (ended(None), TrialState.FAIL),
        (ended(ConfigError("no compiler"), JobStatus.FAILED), TrialState.FAIL),
    ],
)
def test_what_is_no_speedup_is_told_as_failed(job, state):
    study = optuna.create_study(direction="maximize")
    tell(study, study.ask(), job)

    assert [state] == [trial.state for trial in study.trials]


@pytest.mark.parametrize(
    ("override", "distribution"),
    [
        ("mu=2,4,8", optuna.distributions.CategoricalDistribution(["2", "4", "8"])),
        ("mu=range(2,17,3)", optuna.distributions.IntDistribution(2, 14, step=3)),
        ("mu=int(interval(2,16))", optuna.distributions.IntDistribution(2, 16)),
        ("x=tag(log,interval(0.1,10))", optuna.distributions.FloatDistribution(0.1, 10.0, log=True)),
    ],
)
def test_swept_keys_are_distributions(override, distribution):
    study = optuna.create_study()
    trial = study.ask()
    (parsed,) = OverridesParser.create().parse_overrides([override])
    chosen = suggested(trial, {"key": parsed})

    assert {"key": distribution} == trial.distributions
    assert [f"key={trial.params['key']}"] == chosen


def test_both_ends_of_an_interval_are_checked_before_the_first_job():
    with pytest.raises(ConfigError, match="mu: must be a whole number of at least 1, is 0"):
        check_sweep(["-m", "mu=int(interval(4,0))", "hydra/sweeper=optuna"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("mu=range(5,2)", r"mu=range\(5,2\): holds no value"),
        ("mu=range(1,9,0)", "holds no value"),
        ("mu=range(100000000,-1,-1)", "mu: must be a whole number of at least 1, is 0"),
    ],
)
def test_a_range_is_checked_by_its_ends_however_many_values_it_has(override, message):
    with pytest.raises(ConfigError, match=message):
        check_sweep(["-m", override, "hydra/sweeper=optuna"])


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"at_once": 0}, {"sampler": "tpee"}])
def test_what_is_out_of_range_is_refused(wrong):
    settings = {"trials": 1, "at_once": 1, "sampler": "tpe", "seed": 0, "study": None, "storage": None}
    with pytest.raises(ConfigError, match=r"hydra\.sweeper"):
        OptunaSweeper(**{**settings, **wrong})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hydra/sweeper=optuna", "hydra.sweeper.trials=many"], "hydra.sweeper.trials: must be a whole number"),
        (["hydra/sweeper=optuna", "hydra.sweeper.seed=x"], "hydra.sweeper.seed: must be a whole number or null"),
        (["hydra/launcher=ray", "hydra.launcher.num_cpus=all"], "hydra.launcher.num_cpus: must be a number"),
    ],
)
def test_settings_of_a_wrong_type_are_refused_before_anything_starts(monkeypatch, arguments, message):
    monkeypatch.setattr("experiments.launching.find_spec", lambda name: sys)

    with pytest.raises(ConfigError, match=message):
        check_launchers(arguments)


@pytest.mark.parametrize("override", ["key=interval(5,1)", "key=tag(log,interval(0,1))"])
def test_values_that_optuna_cannot_search_are_told(override):
    (parsed,) = OverridesParser.create().parse_overrides([override])

    with pytest.raises(ConfigError, match=r"key=.*(low|high)"):
        suggested(optuna.create_study().ask(), {"key": parsed})


def test_a_storage_that_cannot_be_opened_is_told(tmp_path, command):
    arguments = ["-m", "hydra/sweeper=optuna", f"hydra.sweep.dir={tmp_path}", "mu=2,3"]
    done = command("run", *arguments, "hydra.sweeper.storage=nowhere")

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "error: the launcher or sweeper failed: Could not parse" in done.stderr


@pytest.mark.parametrize(
    ("argument", "module", "package"),
    [
        ("hydra/sweeper=optuna", "optuna", "optuna"),
        ("hydra/launcher=ray", "ray", "'ray>=2.40'"),
        ("hydra/launcher=joblib", "hydra_plugins.hydra_joblib_launcher", "hydra-joblib-launcher"),
        ("hydra/launcher=submitit_slurm", "hydra_plugins.hydra_submitit_launcher", "hydra-submitit-launcher"),
    ],
)
def test_what_is_not_installed_is_told_with_the_command(monkeypatch, argument, module, package):
    monkeypatch.setattr("experiments.launching.find_spec", lambda name: None if name == module else sys)

    with pytest.raises(ConfigError, match=f"{argument}: is not installed; run pip install {package}"):
        check_launchers([argument])


def test_slurm_without_slurm_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ConfigError, match="there is no Slurm here"):
        check_launchers(["hydra/launcher=submitit_slurm"])


@pytest.mark.slow
def test_a_study_goes_on_after_failures_and_in_another_process(tmp_path, command):
    """One in two tasks cannot be read; the second command adds trials and proposes others than the first did."""
    space = write_space(tmp_path / "space.json")
    arguments = [
        *("-m", "hydra/sweeper=optuna", f"hydra.sweep.dir={tmp_path / 'sweep'}", "task=recorded_space"),
        *("budget.evaluations=int(interval(4,200))", f"task.path={space},/nowhere", "hydra.sweeper.sampler=random"),
    ]
    first = command("run", *arguments, "hydra.sweeper.trials=4")
    second = command("run", *arguments, "hydra.sweeper.trials=6")
    trials = study_of(tmp_path / "sweep").trials
    best = json.loads((tmp_path / "sweep" / "best.json").read_text())
    budgets = [trial.params["budget.evaluations"] for trial in trials]

    assert (0, 0, 6) == (first.returncode, second.returncode, len(trials)), first.stderr + second.stderr
    assert {"/nowhere": TrialState.FAIL, str(space): TrialState.COMPLETE} == {
        trial.params["task.path"]: trial.state for trial in trials
    }
    assert max(trial.value or 0.0 for trial in trials) == best["speedup"]
    assert budgets[:2] != budgets[4:]
