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
from experiments.experiment import Experiment, declare, load_experiment
from experiments.faults import ConfigError, RunError
from experiments.jobs import jobs_of
from experiments.papers import (
    evaluator_hardness,
    neutral_chains,
    shape_specialisation,
    space_searches,
    trace_forensics,
    tuning_the_tuner,
    warm_start,
)
from experiments.papers.question import module_of
from experiments.sweep_command import SHIPPED, check_jobs, read_order
from fitness import Workload
from fitness.spaces import RecordedSpace, cutoff_evaluations, random_search_ms
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


def test_a_run_is_scored_by_hand(tmp_path: Path) -> None:
    """Against the definition: P = (baseline - best) / (baseline - optimum), the worst time before the first valid one."""
    space = RecordedSpace(write_space(tmp_path / "toy.json")).space
    budget = cutoff_evaluations(space.times_ms, space_searches.CUTOFF)
    failed, slow = min(space.failures), int(np.nanargmax(space.times_ms))
    optimum, worst = space.optimum_ms, float(np.nanmax(space.times_ms))
    best = [worst, worst, *[optimum] * (budget - 2)]
    baseline = random_search_ms(space.times_ms, budget)
    expected = np.mean([(base - each) / (base - optimum) for base, each in zip(baseline, best, strict=True)])
    evaluated = [failed, slow, int(np.nanargmin(space.times_ms))]

    assert budget > 3
    assert [pytest.approx(expected)] == tuning_the_tuner.scores([evaluated], space).tolist()


def tuner_sweep(tmp_path: Path, seeds: tuple[int, ...]) -> tuple[Experiment, Path]:
    """Two settings on three toy spaces, searched."""
    whole = load_experiment(SHIPPED / "tuning_the_tuner.yaml")
    few = replace(whole, arms={arm: whole.arms[arm] for arm in [*whole.arms][:2]}, seeds=seeds)
    for task in few.tasks:
        write_space(tmp_path / f"{task}.json.gz")
    sweep = tmp_path / "sweep"
    space_searches.prepare(few, tmp_path, sweep)
    for space in tmp_path.glob("*.json.gz"):
        space.unlink()
    declare(few, sweep)
    space_searches.search_all(few, sweep, 1)
    return few, sweep


def test_the_tuner_searches_goes_on_and_concludes_without_the_spaces(tmp_path: Path) -> None:
    few, sweep = tuner_sweep(tmp_path, (0,))
    records = sweep / "records.jsonl"
    with records.open("a") as file:
        file.write('{"arm": "torn')
    before = space_searches.read_records(records)
    more = replace(few, seeds=(0, 1))
    declare(more, sweep)
    space_searches.search_all(more, sweep, 2)
    after = space_searches.read_records(records)
    for out in ("first", "second"):
        tuning_the_tuner.conclude(sweep, tmp_path / out, quiet=True)

    assert (2 * 3, 2 * 3 * 2) == (len(before), len(after))
    assert before == [each for each in after if each["seed"] == 0]
    assert (tmp_path / "first" / "left_out.csv").read_bytes() == (tmp_path / "second" / "left_out.csv").read_bytes()
    assert (tmp_path / "first" / "left_out.png").stat().st_size > 0


def test_a_run_of_the_tuner_is_replayed_and_a_touched_one_is_found(tmp_path: Path) -> None:
    _, sweep = tuner_sweep(tmp_path, (0,))
    for again in space_searches.replays(sweep):
        again()
    records = space_searches.read_records(sweep / "records.jsonl")
    records[4]["evaluated"][-2:] = reversed(records[4]["evaluated"][-2:])
    (sweep / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))

    with pytest.raises(RunError, match=f"{records[4]['arm']}/{records[4]['task']}/seed_0: the search evaluated other"):
        space_searches.replays(sweep)[4]()


def test_a_sweep_of_the_tuner_is_not_continued_on_another_recording(tmp_path: Path) -> None:
    few, sweep = tuner_sweep(tmp_path, (0,))
    for task in few.tasks:
        path = write_space(tmp_path / f"{task}.json.gz")
        path.write_text(path.read_text().replace("Board", "Another board"))

    with pytest.raises(ConfigError, match=r"spaces: .*\.json is of another recording; use another hydra\.sweep\.dir"):
        space_searches.prepare(few, tmp_path, sweep)


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
