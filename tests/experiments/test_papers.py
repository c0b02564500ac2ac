"""Experiments of the literature: every declaration can be run, and what each looks at beside the comparison is right."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from evolve.policies import NeutralChain
from experiments.experiment import declare, load_experiment
from experiments.faults import ConfigError
from experiments.jobs import jobs_of
from experiments.papers import (
    evaluator_hardness,
    neutral_chains,
    shape_specialisation,
    trace_forensics,
    tuning_the_tuner,
    warm_start,
)
from experiments.papers.question import module_of
from experiments.sweep_command import SHIPPED, check_jobs, read_order
from fitness import Workload
from fitness.spaces import RecordedSpace, random_search_ms, willemsen_score
from fitness.tasks import Softmax
from spaces_samples import write_space

FILES = sorted(SHIPPED.glob("*.yaml"))
NUMBERED = 13
CASES = [
    (path.stem, scale) for path in FILES for scale in ("", *(yaml.safe_load(path.read_text()).get("scales") or {}))
]


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_every_arm_and_task_can_be_run_at_every_scale(name: str, scale: str) -> None:
    order = read_order([f"experiment={name}", *([f"scale={scale}"] if scale else [])])
    check_jobs(jobs_of(order.experiment, order.sweep_dir))

    assert f"{name}_{scale}".rstrip("_") == order.experiment.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_has_a_question_and_both_scales(path: Path) -> None:
    data = yaml.safe_load(path.read_text())

    assert data["question"].endswith("?")
    assert "gpu" in data["scales"]


def test_the_modules_tell_source_differences_and_expectations() -> None:
    numbers = set()
    for path in FILES:
        module = module_of(path.stem)
        text = module.__doc__ or ""
        assert "scale=gpu" in text, path.stem
        assert load_experiment(path).hypothesis or path.stem == "warm_start_donors", path.stem
        if text.startswith("Number "):
            numbers.add(int(text.split()[1].rstrip(":")))
            assert "Source" in text, path.stem
            assert "Here" in text, path.stem

    assert set(range(1, NUMBERED + 1)) == numbers


def test_arms_without_a_model_say_so() -> None:
    """An arm that replays answers must not pass for a model's: its experiment says what it is."""
    replaying = [path for path in FILES if "llm=replayed" in path.read_text()]
    told = [
        path
        for path in replaying
        if "stored answers" in (importlib.import_module(f"experiments.papers.{path.stem}").__doc__ or "")
    ]

    assert replaying == told


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="scale: unknown 'huge'; choose from gpu"):
        load_experiment(SHIPPED / "ablation.yaml", "huge")


def test_willemsens_score_is_that_of_the_recorded_spaces(tmp_path: Path) -> None:
    space = RecordedSpace(write_space(tmp_path / "toy.json")).space
    budget = 9
    facts = {
        "optimum_ms": space.optimum_ms,
        "worst_ms": float(np.nanmax(space.times_ms)),
        "random_search_ms": random_search_ms(space.times_ms, budget).tolist(),
    }
    curve = np.array([np.inf, np.inf, 4.0, 4.0, 2.0, 2.0, 2.0, 1.25, 1.25])
    expected = float(willemsen_score(curve, space.times_ms).mean())

    assert expected == pytest.approx(tuning_the_tuner.score([(3, 4.0), (5, 2.0), (8, 1.25)], facts))


def test_the_tuner_searches_goes_on_and_concludes_without_the_spaces(tmp_path: Path) -> None:
    whole = load_experiment(SHIPPED / "tuning_the_tuner.yaml")
    few = replace(whole, arms={arm: whole.arms[arm] for arm in [*whole.arms][:2]}, seeds=(0,))
    for task in few.tasks:
        write_space(tmp_path / f"{task}.json.gz")
    sweep = tmp_path / "sweep"
    spaces = tuning_the_tuner.prepare(few, tmp_path, sweep)
    records = sweep / "records.jsonl"
    declare(few, sweep)
    tuning_the_tuner.search_all(few, spaces, records, 1)
    with records.open("a") as file:
        file.write('{"arm": "torn')
    more = replace(few, seeds=(0, 1))
    declare(more, sweep)
    before = tuning_the_tuner.read_records(records)
    tuning_the_tuner.search_all(more, spaces, records, 2)
    after = tuning_the_tuner.read_records(records)
    for space in tmp_path.glob("*.json.gz"):
        space.unlink()
    for out in ("first", "second"):
        tuning_the_tuner.conclude(sweep, tmp_path / out, quiet=True)

    assert (2 * 3, 2 * 3 * 2) == (len(before), len(after))
    assert before == [each for each in after if each["seed"] == 0]
    assert (tmp_path / "first" / "left_out.csv").read_bytes() == (tmp_path / "second" / "left_out.csv").read_bytes()
    assert (tmp_path / "first" / "left_out.png").stat().st_size > 0


def test_a_walk_counts_programs_skeletons_and_cycles() -> None:
    known = {1: "a", 2: "b", 3: "b"}
    found = neutral_chains.walk([1, None, 2, 3, 1, 1], known)

    assert {"accepted": 5, "programs": 3, "skeletons": 2, "returns": 2, "shortest_cycle": 1} == {
        key: value for key, value in found.items() if key != "curve"
    }
    assert [1, 1, 2, 2, 2, 2] == found["curve"]


def test_the_weak_task_accepts_what_the_hard_one_refuses() -> None:
    sizes = {"time_sizes": [{"M": 2, "N": 16384}]}
    hard = evaluator_hardness.judged("fitness.tasks.Softmax", "hard", **sizes)
    weak = evaluator_hardness.judged("fitness.tasks.Softmax", "weak", **sizes)
    inputs = weak.make_inputs(weak.time_workloads[0], np.random.default_rng(0))
    expected = weak.reference(inputs)

    assert isinstance(hard, Softmax)
    assert (np.abs(expected["y"]) <= weak.tolerance(inputs, expected)["y"]).all()
    assert not (np.abs(expected["y"]) <= hard.tolerance(inputs, expected)["y"]).any()
    assert ["time-2x16384"] == [each.name for each in weak.check_workloads]
    assert 0.0 == weak.cost(Workload("w", {"M": 2, "N": 2})).flops


@pytest.mark.parametrize(
    ("child", "kind"),
    [
        ("int f(int a) { return a + 2; }", "constants"),
        ("int f(int b) { return b + 1; }", "names_or_layout"),
        ("int f(int a) { return a; }", "structure"),
    ],
)
def test_edits_are_classed_by_the_text(child: str, kind: str) -> None:
    assert kind == trace_forensics.kind_of("int f(int a) { return a + 1; }", child, "cpp")


def test_shapes_keep_every_axis_at_least_one() -> None:
    assert {"M": 1, "N": 16} == shape_specialisation.shape_of({"M": 2, "N": 64}, 0.25)


def test_a_neutral_chain_waits_for_every_step() -> None:
    assert [0, 1, 7] == [NeutralChain(lambda_=3).ready(slot) for slot in (0, 1, 7)]


def test_the_earlier_runs_are_of_the_same_model_as_those_that_start_from_them(monkeypatch) -> None:
    orders = []
    monkeypatch.setattr(warm_start, "execute", lambda order: orders.append(order) or 0)
    order = read_order(["experiment=warm_start", "scale=gpu", "llm.model=mine"])
    warm_start.prepare(order.experiment, order.sweep_dir)

    assert "warm_start_donors_gpu" == orders[0].experiment.name
    assert order.experiment.overrides == orders[0].experiment.overrides


def test_an_experiment_of_ones_own_needs_no_module() -> None:
    assert module_of("mine") is None


@pytest.mark.slow
def test_an_experiment_runs_is_stored_and_comes_out_the_same(tmp_path: Path, command) -> None:
    sweep = tmp_path / "under_another_name"
    done = command("papers.evaluator_hardness", "seeds=1", "budget.evaluations=3", f"hydra.sweep.dir={sweep}")
    stored = command("store", str(sweep), "--results", str(tmp_path / "results"))
    again = command("reproduce", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "out"))
    table = tmp_path / "results" / "under_another_name" / "winners.csv"
    facts = json.loads((table.parent / "machine.json").read_text())

    assert (0, 0, 0) == (done.returncode, stored.returncode, again.returncode), (
        done.stderr + stored.stderr + again.stdout
    )
    assert "2 of 2 runs and 7 tables byte-identical" in again.stdout
    assert facts["load_average"]["max"] >= 0
    table.write_text(table.read_text().replace("softmax", "softmin"))
    touched = command("reproduce", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "out"))
    assert 1 == touched.returncode
    assert "differs from the stored table" in touched.stdout.replace("\n", " ")
