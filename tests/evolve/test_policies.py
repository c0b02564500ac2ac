"""One suite that every policy passes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evolve import Budget, Generation
from evolve.choice import UCB1
from toy_search import (
    BITS,
    POLICIES,
    Pooled,
    ToyEvaluator,
    ToyOperator,
    digest,
    flip,
    halves,
    kernel,
    nothing,
    operators,
    run,
    run_all,
)

SLOTS = 24


@pytest.fixture(params=sorted(POLICIES))
def make(request: pytest.FixtureRequest) -> Any:
    """Makes the policy under test."""
    return POLICIES[request.param]


def weak(bits: str) -> bool:
    """A third of all kernels is wrong; the seed is not."""
    return int(bits, 2) % 3 == 1


def search(make: Any, folder: Path, **settings: Any) -> list[Generation]:
    """A run with failures, duplicates and artifacts with metrics."""
    settings.setdefault("evaluator", ToyEvaluator(fails=weak, static=halves, spread=0.05))
    settings.setdefault("budget", Budget(evaluations=SLOTS))
    return run(make(**settings.pop("policy", {})), folder, **settings)[0]


def test_the_record_is_the_same_in_another_process(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent)])
    command = [sys.executable, str(tests / "toy_search.py"), str(tmp_path / "other")]
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": path}
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert run_all(tmp_path / "here") == json.loads(other.stdout)


def test_the_record_does_not_depend_on_workers_or_threads(make: Any, tmp_path: Path) -> None:
    digests = set()
    for workers in (1, 2, 8):
        folder = tmp_path / str(workers)
        evaluator = ToyEvaluator(fails=weak, static=halves, jitter_s=0.002)
        with Pooled(workers) as executor:
            client: Any = object()
            search(make, folder, evaluator=evaluator, executor=executor, proposers=workers, client=client)
        digests.add(digest(folder))

    assert 1 == len(digests)


def test_another_seed_gives_another_run(make: Any, tmp_path: Path) -> None:
    for seed in (1, 2):
        search(make, tmp_path / str(seed), seed=seed)

    assert digest(tmp_path / "1") != digest(tmp_path / "2")


def test_it_resumes_at_every_line_of_the_journal(make: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    search(make, whole, budget=Budget(evaluations=14), duels=True)
    expected = digest(whole)
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)

    for kept in range(len(lines)):
        folder = tmp_path / str(kept)
        folder.mkdir()
        torn = lines[kept][: len(lines[kept]) // 2]
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:kept]) + torn)
        search(make, folder, budget=Budget(evaluations=14), duels=True)

        assert expected == digest(folder), f"cut after line {kept}"


def test_a_strict_replay_asks_nobody(make: Any, tmp_path: Path) -> None:
    search(make, tmp_path)
    expected = digest(tmp_path)
    evaluator = ToyEvaluator(fails=weak, static=halves, spread=0.05)
    search(make, tmp_path, strict=True, evaluator=evaluator)

    assert expected == digest(tmp_path)
    assert [] == evaluator.asked


def test_all_candidates_may_fail(make: Any, tmp_path: Path) -> None:
    evaluator = ToyEvaluator(fails=lambda bits: "1" in bits, static=halves)
    generations = search(make, tmp_path, evaluator=evaluator)

    assert "0" * BITS == generations[-1].best.kernel.source
    assert SLOTS == generations[-1].evaluations


def test_all_fitnesses_may_be_equal(make: Any, tmp_path: Path) -> None:
    evaluator = ToyEvaluator(latency_us=lambda bits: 5.0, static=halves)
    generations = search(make, tmp_path, evaluator=evaluator)

    assert SLOTS == generations[-1].evaluations
    assert -1 == generations[-1].best.slot


def test_numbers_that_are_not_finite_never_reach_deap(make: Any, tmp_path: Path) -> None:
    odd = (math.nan, math.inf, -math.inf)
    evaluator = ToyEvaluator(
        static=lambda bits: {**halves(bits), "odd": 1.0 if "1" not in bits else odd[len(bits) % 3]}
    )
    evaluator_mixed = ToyEvaluator(
        static=lambda bits: {**halves(bits), "odd": odd[bits.count("1") % 3] if bits.count("1") % 2 else 1.0}
    )
    for name, each in (("all", evaluator), ("some", evaluator_mixed)):
        objectives = ("latency_us", "static.odd")
        for generation in search(make, tmp_path / name, evaluator=each, objectives=objectives):
            values = [value for one in generation.survivors for value in one.fitness.values]

            assert all(math.isfinite(value) for value in values)


def test_a_budget_below_the_population_is_kept(make: Any, tmp_path: Path) -> None:
    for evaluations in (1, 2, 3):
        evaluator = ToyEvaluator(static=halves, spread=0.5)
        budget = Budget(evaluations=evaluations)
        generations = search(make, tmp_path / str(evaluations), evaluator=evaluator, budget=budget, duels=True)

        assert evaluations == generations[-1].evaluations == len(evaluator.asked)


def test_one_operator_may_always_fail(make: Any, tmp_path: Path) -> None:
    broken = {"broken": ToyOperator(nothing, name="broken"), "blank": ToyOperator(nothing, arity=0, name="blank")}
    generations = search(make, tmp_path, operators=operators(**broken))

    assert SLOTS == generations[-1].evaluations


def test_a_single_mutation_is_enough(make: Any, tmp_path: Path) -> None:
    generations = search(make, tmp_path, operators={"mutate": ToyOperator(flip)})

    assert SLOTS == generations[-1].evaluations or "generations" == generations[-1].index


def test_several_seeds_found_a_run(make: Any, tmp_path: Path) -> None:
    seeds = [kernel("0" * BITS), kernel("01" * (BITS // 2)), kernel("0011" * (BITS // 4))]
    generations = search(make, tmp_path, seed_kernels=seeds, evaluator=ToyEvaluator(static=halves))

    assert 3 == len(generations[0].offspring)
    assert generations[-1].best.cost <= min(seed.cost for seed in generations[0].offspring)


def test_a_bandit_comes_back_on_resume(make: Any, tmp_path: Path) -> None:
    search(make, tmp_path / "whole", policy={"choice": UCB1()})
    lines = (tmp_path / "whole" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    half = tmp_path / "half"
    half.mkdir()
    (half / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    search(make, half, policy={"choice": UCB1()})

    assert digest(tmp_path / "whole") == digest(half)


def test_whoever_survives_is_valid_and_distinct(make: Any, tmp_path: Path) -> None:
    for generation in search(make, tmp_path):
        digests = [individual.digest for individual in generation.survivors]

        assert all(individual.fitness.valid for individual in generation.survivors)
        assert len(set(digests)) == len(digests)
        assert digests
