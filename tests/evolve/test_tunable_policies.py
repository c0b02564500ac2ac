"""Search of declared tunables: `Surrogate`, `Tuned`, and the operators that know what a task's settings are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve import Budget, Engine, Fitness, Generation, Individual, Journal, RecordedEvaluations
from evolve.policies import MuPlusLambda, Surrogate, Tuned
from evolve.surrogates.template import DeclaredTunables
from fitness import Calibration, Evaluation, Kernel, Status
from fitness.spaces import RecordedEvaluator, RecordedLanguage, RecordedSpace, RecordedTarget
from operators import Brief, ParameterCrossover, ParameterMutation, ParameterSample, TunableError
from spaces_samples import write_space
from toy_search import BITS, Inline, kernel, operators

SOURCE = """\
// tunable TILE = 8 in {8, 16, 32}
#define TILE 8
// tunable UNROLL = 1 in {1, 2, 4}
#define UNROLL 1
// constraint TILE * UNROLL <= 64
void kernel();
"""


@pytest.fixture
def task(tmp_path: Path) -> RecordedSpace:
    return RecordedSpace(write_space(tmp_path / "toy.json"))


class Counting(RecordedEvaluator):
    """The real evaluator, which keeps what it was asked."""

    def __init__(self, task: RecordedSpace) -> None:
        super().__init__(task)
        self.asked: list[str] = []

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        self.asked.append(kernel.source)
        return super().evaluate(kernel, calibration, device)


def brief(task: Any) -> Brief:
    return Brief(task, RecordedTarget(), RecordedLanguage())


def search(
    task: RecordedSpace, policy: Any, operators: dict[str, Any], evaluations: int, folder: Path
) -> tuple[list[Generation], Counting]:
    evaluator = Counting(task)
    with Journal(folder / "journal.jsonl") as journal:
        engine = Engine(
            seed_kernels=[task.seed_kernel("recorded")],
            operators=operators,
            policy=policy,
            brief=brief(task),
            evaluations=RecordedEvaluations(evaluator, Inline(), journal),
            journal=journal,
            seed=3,
            budget=Budget(evaluations=evaluations),
        )
        return list(engine.run()), evaluator


def slots(generations: Sequence[Generation]) -> list[Individual]:
    return [each for generation in generations[1:] for each in generation.offspring]


def test_the_surrogate_finds_the_optimum_of_a_recorded_space(task: RecordedSpace, tmp_path: Path) -> None:
    generations, evaluator = search(task, Surrogate(lambda_=5), {"mutate": ParameterMutation()}, 22, tmp_path)

    assert 1000.0 == generations[-1].best.evaluation.latency_us
    assert 22 == len(set(evaluator.asked)) == generations[-1].evaluations
    assert {"surrogate"} == {each.operator for each in slots(generations)}


def test_the_surrogate_proposes_only_what_is_recorded(task: RecordedSpace, tmp_path: Path) -> None:
    generations, _ = search(task, Surrogate(lambda_=5), {"mutate": ParameterMutation()}, 25, tmp_path)

    assert [] == [each.note for each in slots(generations) if task.position(each.kernel) is None]


def test_a_space_that_is_exhausted_ends_the_run(task: RecordedSpace, tmp_path: Path) -> None:
    generations, evaluator = search(task, Surrogate(lambda_=50), {"mutate": ParameterMutation()}, 10_000, tmp_path)

    assert len(task.space) == len(evaluator.asked) == generations[-1].evaluations
    assert slots(generations)[-1].duplicate_of is not None


def test_without_tunables_a_line_says_what_runs_instead(caplog: pytest.LogCaptureFixture) -> None:
    policy = Surrogate(lambda_=5)
    evaluation = Evaluation("x", Status.OK, (), 5.0, 10.0, 2.0, (1.9, 2.1))
    seed = Individual(kernel("0" * BITS), evaluation, 0, -1, fitness=Fitness((5.0,)))
    policy.tell(seed, np.random.default_rng(0))
    with caplog.at_level(logging.WARNING, "kernelwright.evolve"):
        plan = policy.plan(0, operators(), np.random.default_rng(0))

    assert plan.operator in operators()
    (line,) = caplog.messages
    assert "the kernel declares no tunables" in line
    assert [seed] == list(policy.survivors)


def test_a_template_changes_values_and_nothing_else() -> None:
    template = DeclaredTunables(Kernel(SOURCE, "cpp"))
    other = template.write((16, 4))

    assert (16, 4) == template.read(other)
    assert SOURCE == template.write((8, 1)).source
    assert "void kernel();" in other.source
    assert template.read(Kernel(other.source.replace("void", "int"), "cpp")) is None
    assert template.read(Kernel("int x;", "cpp")) is None
    assert 8 == template.space.size  # of nine combinations the constraint allows eight


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("void kernel();", "declares no tunables"),
        ("// tunable A = 1 in {1}\n#define A 1\n", "no choice"),
        ("// tunable A = 1 in {1, 2}\n#define A 1\n// constraint A > 2\n", "allow no setting"),
    ],
)
def test_a_kernel_without_a_space_has_no_template(source: str, told: str) -> None:
    with pytest.raises(TunableError, match=told):
        DeclaredTunables(Kernel(source, "cpp"))


@pytest.mark.parametrize("method", ["random", "grid", "surrogate"])
def test_a_kernel_is_tuned_before_it_competes(task: RecordedSpace, tmp_path: Path, method: Any) -> None:
    policy = Tuned(policy=MuPlusLambda(mu=2, lambda_=2), method=method, cap=4)
    generations, evaluator = search(task, policy, {"sample": ParameterSample()}, 21, tmp_path)
    found = slots(generations)
    tuned = [each for each in found if each.operator == "tuning"]

    assert 4 == len([each for each in tuned if each.parents == (found[0].digest,)])
    assert generations[-1].evaluations == len(evaluator.asked) == len(set(evaluator.asked))
    survivors = {each.digest for each in generations[-1].survivors}
    assert survivors <= {each.digest for each in (*generations[0].offspring, *found)}


def test_the_best_setting_competes_in_the_kernels_place(task: RecordedSpace, tmp_path: Path) -> None:
    told: list[Individual] = []

    class Listening(MuPlusLambda):
        def tell(self, individual: Individual, rng: np.random.Generator) -> None:
            told.append(individual)
            super().tell(individual, rng)

    policy = Tuned(policy=Listening(mu=2, lambda_=1), method="random", cap=3)
    generations, _ = search(task, policy, {"sample": ParameterSample()}, 40, tmp_path)
    found = slots(generations)
    group = [found[0], *(each for each in found if each.parents == (found[0].digest,))]

    assert min(each.cost for each in group) == told[1].cost


def test_tuned_refuses_what_it_does_not_know() -> None:
    inner = MuPlusLambda(mu=1, lambda_=1)
    with pytest.raises(ValueError, match="random, grid, tpe or surrogate"):
        Tuned(policy=inner, method="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cap must be at least 1"):
        Tuned(policy=inner, cap=0)


def test_tpe_is_optunas(task: RecordedSpace, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs Optuna: pip install optuna")
    policy = Tuned(policy=MuPlusLambda(mu=2, lambda_=2), method="tpe", cap=6)
    generations, evaluator = search(task, policy, {"sample": ParameterSample()}, 20, tmp_path)

    assert all(task.position(each.kernel) is not None for each in slots(generations))
    assert generations[-1].evaluations == len(evaluator.asked)


@pytest.mark.parametrize("operator", [ParameterMutation(), ParameterSample()])
def test_operators_propose_only_settings_that_the_task_knows(task: RecordedSpace, operator: Any) -> None:
    parent: Any = type("Parent", (), {"kernel": task.seed_kernel("recorded")})
    rng = np.random.default_rng(0)
    made = [operator.propose([parent][: operator.arity], brief(task), rng).kernel for _ in range(100)]

    assert all(kernel is not None and task.position(kernel) is not None for kernel in made)


def test_crossover_proposes_only_settings_that_the_task_knows(task: RecordedSpace) -> None:
    parents: list[Any] = [
        type("Parent", (), {"kernel": task.kernel(task.space.position(values))})
        for values in ((128, 1, 0, "row", 15), (32, 4, 1, "column", 15))
    ]
    rng = np.random.default_rng(0)
    made = [ParameterCrossover().propose(parents, brief(task), rng).kernel for _ in range(40)]

    assert all(task.position(kernel) is not None for kernel in made if kernel is not None)
    assert any(kernel is not None for kernel in made)


def test_samples_are_uniform_over_what_exists(task: RecordedSpace) -> None:
    rng, sample = np.random.default_rng(0), ParameterSample()
    places = [task.position(sample.propose([], brief(task), rng).kernel or Kernel("", "")) for _ in range(1500)]
    counts = np.bincount([place for place in places if place is not None], minlength=len(task.space))

    assert (counts > 0.3 * 1500 / len(task.space)).all()
    assert (counts < 2.0 * 1500 / len(task.space)).all()
