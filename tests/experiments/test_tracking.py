"""Trackers: what they are given, what they write, and that a resumed run is tracked once."""

from __future__ import annotations

import csv
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from evolve import Generation
from experiments import run as run_command
from experiments.faults import ConfigError
from experiments.tracking import CsvTracker, MlflowTracker, TensorboardTracker, Tracker, figures
from fitness import Evaluation
from spaces_samples import write_space
from toy_search import POLICIES, ToyEvaluator, halves, run


class Remembering:
    """A tracker at the seam that keeps what it is given."""

    def __init__(self) -> None:
        self.names: list[set[str]] = []

    def begin(self, run_dir: Path, settings: dict[str, str]) -> None: ...

    def generation(self, generation: Generation) -> None:
        self.names.append(set(figures(generation)))

    def end(self, ended: str, verification: Evaluation | None) -> None: ...


def generations(tmp_path: Path, policy: str = "mu_plus_lambda") -> list[Generation]:
    return run(POLICIES[policy](), tmp_path, 3, evaluator=ToyEvaluator(static=halves))[0]


def table(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "metrics.csv").read_text().splitlines()))


def tracked(tracker: Tracker, folder: Path, history: list[Generation], whole: bool = True) -> None:
    tracker.begin(folder, {"seed": "0", "search._target_": "x"})
    for generation in history:
        tracker.generation(generation)
    if whole:
        tracker.end("generations", history[-1].best.evaluation)


def test_every_policy_logs_the_same_quantities(tmp_path: Path) -> None:
    names = []
    for policy in ("mu_plus_lambda", "random_sampling", "surrogate", "map_elites", "tuned"):
        remembering = Remembering()
        tracked(remembering, tmp_path, generations(tmp_path / policy, policy)[1:])
        names += remembering.names

    assert all(names[0] == each for each in names)
    assert {"best_speedup", "evaluations", "tokens", "elapsed_s", "total_proposed", "total_correct"} <= names[0]


def test_figures_are_those_of_the_generation(tmp_path: Path) -> None:
    last = generations(tmp_path)[-1]
    found = figures(last)

    assert last.best.evaluation.speedup == found["best_speedup"]
    assert float(last.evaluations) == found["evaluations"]
    assert float(len(last.offspring)) == found["offspring"]
    assert 15.0 == found["total_proposed"]


def test_csv_has_a_row_a_generation_and_one_for_the_verification(tmp_path: Path) -> None:
    history = generations(tmp_path / "run")
    tracked(CsvTracker(), tmp_path, history, whole=False)
    tracked(CsvTracker(), tmp_path, history)
    rows = table(tmp_path)

    assert ["0", "1", "2", "3", "3"] == [row["generation"] for row in rows]
    assert [figures(each)["best_speedup"] for each in history] == [float(row["best_speedup"]) for row in rows[:-1]]
    assert rows[-1]["verified_speedup"] == rows[-1]["best_speedup"]
    assert "" == rows[0]["verified_speedup"]


def test_the_columns_of_csv_are_all_figures(tmp_path: Path) -> None:
    history = generations(tmp_path / "run")
    tracked(CsvTracker(), tmp_path, history)

    assert set(figures(history[-1])) <= set(table(tmp_path)[0])


@pytest.mark.skipif(find_spec("mlflow") is None, reason="needs MLflow: pip install mlflow-skinny")
def test_mlflow_has_every_generation_once_however_often_a_run_is_resumed(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    history, store = generations(tmp_path / "run"), f"file:{tmp_path / 'store'}"
    tracked(MlflowTracker(store), tmp_path, history[:2], whole=False)
    tracked(MlflowTracker(store), tmp_path, history)
    client = MlflowClient(tracking_uri=store)
    (found,) = client.search_runs([client.get_experiment_by_name("kernelwright").experiment_id])
    steps = client.get_metric_history(found.info.run_id, "best_speedup")

    assert [figures(each)["best_speedup"] for each in history] == [metric.value for metric in steps]
    assert [0, 1, 2, 3] == [metric.step for metric in steps]
    assert "FINISHED" == found.info.status
    assert "0" == found.data.params["seed"]
    assert "generations" == found.data.tags["kernelwright.ended"]
    assert history[-1].best.evaluation.speedup == found.data.metrics["verified_speedup"]


@pytest.mark.skipif(find_spec("tensorboardX") is None, reason="needs tensorboardX: pip install tensorboardX")
def test_tensorboard_gets_event_files_with_the_figures(tmp_path: Path) -> None:
    tracked(TensorboardTracker(), tmp_path, generations(tmp_path / "run"))
    (events,) = (tmp_path / "tensorboard").glob("events.*")
    content = events.read_bytes()

    assert b"best_speedup" in content
    assert b"verified_speedup" in content


@pytest.mark.parametrize(
    ("tracker", "module", "told"),
    [
        (MlflowTracker(), "mlflow", "pip install mlflow-skinny"),
        (TensorboardTracker(), "tensorboardX", "pip install tensorboardX"),
    ],
)
def test_what_is_missing_is_said_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: Tracker, module: str, told: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=told):
        tracker.begin(tmp_path, {})


@pytest.mark.parametrize("search", ["surrogate", "random_sampling"])
def test_a_run_is_tracked_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], search: str
) -> None:
    from experiments import replay

    space, folder = write_space(tmp_path / "toy.json"), tmp_path / "run"
    arguments = ["task=recorded_space", f"task.path={space}", f"search={search}", "tracking=csv"]
    limits = ["budget.evaluations=12", "lambda_=5", f"hydra.run.dir={folder}"]
    monkeypatch.setattr(sys, "argv", ["kernelwright", *arguments, *limits])

    assert 0 == run_command.main()
    assert "12.0" == table(folder)[-1]["evaluations"]
    assert 0 == replay.main([str(folder)])
    assert "byte-identical" in capsys.readouterr().out
