"""Sphere, OneMax and a deceptive trap: every policy does what theory, or DEAP's own loop, does.

Policies are driven by hand, without engine and journal, over thirty seeds each. All seeds are fixed, so nothing here
can fail by chance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from deap import algorithms, base, tools

from evolve import Fitness, Individual, stream
from evolve.choice import Weights
from evolve.policies import Islands, MuCommaLambda, MuPlusLambda, OnePlusOne, RandomSampling, SteadyState
from fitness import Evaluation, Kernel, Status
from toy_search import POLICIES, ToyOperator

SEEDS = range(30)
BUDGET = 90
MU = 6
WEIGHTS = {"mate": 0.3, "mutate": 0.7}


class Genome(list[float]):
    """DEAP's individual."""

    def __init__(self, genes: list[float]) -> None:
        super().__init__(genes)
        self.fitness = Fitness()


class Problem:
    """A problem over lists of numbers, for DEAP as it is and for policies as text.

    Args:
        length: Genes of an individual.
        draw: Makes one gene.
        cost: Is minimised.
        change: Changes one gene.
    """

    def __init__(
        self,
        length: int,
        draw: Callable[[random.Random], float],
        cost: Callable[[list[float]], float],
        change: Callable[[float, random.Random], float],
    ) -> None:
        self.length = length
        self.draw = draw
        self.cost = cost
        self.change = change

    def random(self, source: random.Random) -> list[float]:
        return [self.draw(source) for _ in range(self.length)]

    def mutate(self, genes: list[float], source: random.Random) -> list[float]:
        return [self.change(gene, source) if source.random() < 1 / self.length else gene for gene in genes]


def trap(genes: list[float]) -> float:
    """Blocks of four: all ones is best, and everything else leads away from it."""
    ones = [int(sum(genes[i : i + 4])) for i in range(0, len(genes), 4)]
    return 1.0 + sum(0 if block == 4 else block + 1 for block in ones)


PROBLEMS = {
    "onemax": Problem(24, lambda r: float(r.random() < 0.5), lambda g: 1.0 + g.count(0.0), lambda gene, r: 1.0 - gene),
    "sphere": Problem(
        4, lambda r: r.uniform(-3, 3), lambda g: sum(x * x for x in g) + 1e-9, lambda gene, r: gene + r.gauss(0, 0.5)
    ),
    "trap": Problem(16, lambda r: float(r.random() < 0.5), trap, lambda gene, r: 1.0 - gene),
}


@pytest.fixture(params=sorted(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> Problem:
    return PROBLEMS[request.param]


def founders(problem: Problem, seed: int, count: int) -> list[list[float]]:
    source = random.Random(seed)
    return [problem.random(source) for _ in range(count)]


def write(genes: list[float]) -> str:
    return ",".join(map(repr, genes))


def read(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


def operators(problem: Problem) -> dict[str, ToyOperator]:
    def mutate(parents: list[str], rng: np.random.Generator) -> str:
        return write(problem.mutate(read(parents[0]), random.Random(int(rng.integers(2**60)))))

    def mate(parents: list[str], rng: np.random.Generator) -> str:
        one, other = (read(parent) for parent in parents)
        cut = int(rng.integers(1, problem.length))
        return write(one[:cut] + other[cut:])

    def draft(parents: list[str], rng: np.random.Generator) -> str:
        return write(problem.random(random.Random(int(rng.integers(2**60)))))

    return {
        "mate": ToyOperator(mate, arity=2),
        "mutate": ToyOperator(mutate),
        "draft": ToyOperator(draft, arity=0),
    }


def individual(problem: Problem, text: str, slot: int) -> Individual:
    made, cost = Kernel(text, "toy"), problem.cost(read(text))
    evaluation = Evaluation(
        made.digest,
        Status.OK,
        latency_us=cost,
        reference_latency_us=1.0,
        speedup=1.0 / cost,
        interval=(1.0 / cost, 1.0 / cost),
        static={"left": cost % 4, "right": len(text) % 4},
    )
    return Individual(made, evaluation, 1, slot, fitness=Fitness((cost,)))


def solve(make: Callable[..., Any], problem: Problem, seed: int, weights: dict[str, float], mu: int = MU) -> float:
    """Returns the best cost after the budget; duplicates are charged, as DEAP's loops do."""
    policy, acting = make(choice=Weights(weights)), operators(problem)
    told = []
    for i, genes in enumerate(founders(problem, seed, mu)):
        told.append(individual(problem, write(genes), i - mu))
        policy.tell(told[-1], stream(seed, i - mu, "tell"))
    waiting: list[Individual] = []
    for slot in range(BUDGET - mu):
        while len(told) - mu < policy.ready(slot):
            told.append(waiting.pop(0))
            policy.tell(told[-1], stream(seed, told[-1].slot, "tell"))
        plan = policy.plan(slot, acting, stream(seed, slot, "plan"))
        proposal = acting[plan.operator].propose(plan.parents, None, stream(seed, slot, "vary"))  # type: ignore[arg-type]
        waiting.append(individual(problem, proposal.kernel.source, slot))  # type: ignore[union-attr]
    return min(each.cost for each in (*told, *waiting))


def deap_solve(loop: Callable[..., Any], problem: Problem, seed: int, mu: int, lambda_: int) -> float:
    """Runs a loop of DEAP with the same operators, sizes, budget and founders."""
    saved = random.getstate()
    random.seed(seed + 1000)
    source = random.Random(seed + 2000)

    def mutate(genes: Genome) -> tuple[Genome]:
        genes[:] = problem.mutate(genes, source)
        return (genes,)

    toolbox = base.Toolbox()
    toolbox.register("evaluate", lambda genes: (problem.cost(list(genes)),))
    toolbox.register("mate", tools.cxOnePoint)
    toolbox.register("mutate", mutate)
    toolbox.register("select", tools.selBest)
    population = [Genome(genes) for genes in founders(problem, seed, mu)]
    hall = tools.HallOfFame(1)
    turns = (BUDGET - mu) // lambda_
    mating = WEIGHTS["mate"] if mu > 1 else 0.0
    loop(population, toolbox, mu, lambda_, mating, 1.0 - mating, turns, halloffame=hall, verbose=False)
    random.setstate(saved)
    return float(hall[0].fitness.values[0])


UNSELECTIVE = {"neutral_chain", "random_sampling", "sequential_conditioned"}
"""Policies without selection: they ignore what they saw, draw from it without preference, or step onto all that is correct."""

COUNTERPARTS: dict[str, tuple[Callable[..., Any], Any, int, int]] = {
    "mu_plus_lambda": (
        partial(MuPlusLambda, mu=MU, lambda_=6, parent_selection=tools.selRandom),
        algorithms.eaMuPlusLambda,
        MU,
        6,
    ),
    "mu_comma_lambda": (
        partial(MuCommaLambda, mu=MU, lambda_=12, parent_selection=tools.selRandom),
        algorithms.eaMuCommaLambda,
        MU,
        12,
    ),
    "steady_state": (
        partial(SteadyState, mu=MU, lambda_=6, parent_selection=tools.selRandom),
        algorithms.eaMuPlusLambda,
        MU,
        1,
    ),
    "one_plus_one": (partial(OnePlusOne, lambda_=6), algorithms.eaMuPlusLambda, 1, 1),
}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_a_policy_reaches_what_deaps_own_loop_reaches(problem: Problem, name: str) -> None:
    make, loop, mu, lambda_ = COUNTERPARTS[name]
    ours = np.array([math.log(solve(make, problem, seed, WEIGHTS, mu)) for seed in SEEDS])
    theirs = np.array([math.log(deap_solve(loop, problem, seed, mu, lambda_)) for seed in SEEDS])
    error = math.hypot(float(ours.std(ddof=1)), float(theirs.std(ddof=1))) / math.sqrt(len(SEEDS))

    assert ours.mean() <= theirs.mean() + 2.5 * error


def best_of_random(problem: Problem, seed: int) -> float:
    return min(problem.cost(genes) for genes in founders(problem, seed + 5000, BUDGET))


def test_independent_samples_reach_what_theory_says() -> None:
    problem = PROBLEMS["onemax"]
    # The best of n samples is at most k zeros with probability 1 - P(zeros > k)^n.
    tail = np.array([sum(math.comb(24, j) for j in range(k + 1, 25)) / 2**24 for k in range(24)])
    expected = 1.0 + float((tail ** (BUDGET - 1)).sum())
    ours = np.array([solve(partial(RandomSampling, lambda_=5), problem, seed, {"draft": 1.0}, 1) for seed in SEEDS])

    assert expected == pytest.approx(ours.mean(), abs=2.5 * float(ours.std(ddof=1)) / math.sqrt(len(SEEDS)))


# The surrogate proposes settings of declared tunables itself; test_tunable_policies.py has its problem.
ASKING = {"surrogate", "surrogate_in_flight"}


@pytest.mark.parametrize("name", sorted(set(POLICIES) - UNSELECTIVE - ASKING))
def test_every_policy_beats_random_search(name: str) -> None:
    problem = PROBLEMS["onemax"]
    weights = {"mate": 0.3, "mutate": 0.6, "draft": 0.1}
    ours = np.array([solve(POLICIES[name], problem, seed, weights) for seed in SEEDS])
    chance = np.array([best_of_random(problem, seed) for seed in SEEDS])
    error = math.hypot(float(ours.std(ddof=1)), float(chance.std(ddof=1))) / math.sqrt(len(SEEDS))

    assert ours.mean() < chance.mean() - error


def test_conditioning_without_selection_is_no_worse_than_random_search() -> None:
    problem = PROBLEMS["onemax"]
    weights = {"mate": 0.3, "mutate": 0.6, "draft": 0.1}
    ours = np.array([solve(POLICIES["sequential_conditioned"], problem, seed, weights) for seed in SEEDS])
    chance = np.array([best_of_random(problem, seed) for seed in SEEDS])
    error = math.hypot(float(ours.std(ddof=1)), float(chance.std(ddof=1))) / math.sqrt(len(SEEDS))

    assert ours.mean() < chance.mean() + 2.5 * error


def test_islands_keep_a_trap_open_longer_than_one_population() -> None:
    problem = PROBLEMS["trap"]
    islands = partial(Islands, island=partial(MuPlusLambda, mu=3, lambda_=2), num_islands=3, migration_every=5)
    ours = np.mean([solve(islands, problem, seed, WEIGHTS) for seed in SEEDS])
    chance = np.mean([best_of_random(problem, seed) for seed in SEEDS])

    assert ours < chance
