"""What tells one policy from another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from deap import tools

from evolve import Fitness, Individual, Plan
from evolve.choice import Weights
from evolve.policies import (
    NSGA2,
    UCT,
    AlgorithmLevel,
    ClusterSoftmax,
    Curiosity,
    Greedy,
    Islands,
    MapElites,
    MemoryLevel,
    Metric,
    MuCommaLambda,
    MuPlusLambda,
    OnePlusOne,
    ParallelLevel,
    Phases,
    SequentialConditioned,
    SteadyState,
    WeightedParents,
    select_certified,
)
from evolve.policies.breeding import eligible
from fitness import Evaluation, Kernel, Status
from toy_search import ToyOperator, cross, draft, flip, halves, repair

MUTATE = {"mutate": ToyOperator(flip)}
ALL = {
    "mutate": ToyOperator(flip),
    "mate": ToyOperator(cross, arity=2),
    "draft": ToyOperator(draft, arity=0),
    "repair": ToyOperator(repair, takes_failures=True),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one(latency_us: float | None, slot: int = 0, *, source: str = "", width: float = 0.0, **more: Any) -> Individual:
    """An individual; None for a latency makes a failure."""
    text = source or f"{latency_us} {slot}"
    made = Kernel(text, "toy")
    if latency_us is None:
        return Individual(made, Evaluation(made.digest, Status.WRONG_VALUE), 1, slot, **more)
    speedup = 100.0 / latency_us
    evaluation = Evaluation(
        made.digest,
        Status.OK,
        latency_us=latency_us,
        reference_latency_us=100.0,
        speedup=speedup,
        interval=(speedup * (1 - width), speedup * (1 + width)),
        static=halves(text) if set(text) <= {"0", "1"} else {},
    )
    more.setdefault("fitness", Fitness((latency_us,)))
    return Individual(made, evaluation, 1, slot, **more)


def feed(policy: Any, outcomes: Sequence[Individual], operators: Any = None, start: int = 0) -> list[Plan]:
    """Plans a slot and tells its outcome, for each outcome; returns the plans."""
    plans = []
    for slot, outcome in enumerate(outcomes, start):
        plans.append(policy.plan(slot, operators or MUTATE, rng(slot)))
        policy.tell(outcome, rng(slot))
    return plans


def found(policy: Any, *seeds: Individual) -> Any:
    for seed in seeds:
        policy.tell(seed, rng())
    return policy


def costs(individuals: Sequence[Individual]) -> list[float]:
    return [individual.cost for individual in individuals]


# Generations


def test_plus_keeps_the_best_of_parents_and_offspring() -> None:
    policy = found(MuPlusLambda(mu=2, lambda_=2), one(5.0, -1))
    feed(policy, [one(9.0, 0), one(7.0, 1)])

    assert [5.0, 7.0] == costs(policy.survivors)


def test_comma_forgets_the_parents() -> None:
    policy = found(MuCommaLambda(mu=2, lambda_=2), one(5.0, -1))
    feed(policy, [one(9.0, 0), one(7.0, 1)])

    assert [7.0, 9.0] == costs(policy.survivors)


def test_comma_keeps_the_parents_when_no_offspring_is_valid() -> None:
    policy = found(MuCommaLambda(mu=1, lambda_=2), one(5.0, -1))
    feed(policy, [one(None, 0), one(None, 1)])

    assert [5.0] == costs(policy.survivors)


def test_survivors_change_only_when_a_generation_is_whole() -> None:
    policy = found(MuPlusLambda(mu=2, lambda_=3), one(5.0, -1))
    feed(policy, [one(1.0, 0), one(2.0, 1)])

    assert [5.0] == costs(policy.survivors)


def test_a_tie_keeps_the_older() -> None:
    policy = found(MuPlusLambda(mu=1, lambda_=2), one(5.0, -1))
    feed(policy, [one(5.0, 0), one(5.0, 1)])

    assert [-1] == [each.slot for each in policy.survivors]


@pytest.mark.parametrize("sizes", [{"mu": 0, "lambda_": 1}, {"mu": 1, "lambda_": 0}])
@pytest.mark.parametrize("make", [MuPlusLambda, MuCommaLambda, SteadyState, NSGA2, WeightedParents])
def test_a_size_below_one_is_named(make: Any, sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"(mu|lambda_) must be at least 1, is 0"):
        make(**sizes)


def test_comma_needs_enough_offspring() -> None:
    with pytest.raises(ValueError, match="mu of at most lambda_"):
        MuCommaLambda(mu=3, lambda_=2)


def test_parents_of_one_slot_are_distinct() -> None:
    policy = found(MuPlusLambda(mu=3, lambda_=99), *(one(float(i), -i) for i in range(1, 4)))
    plans = [policy.plan(slot, {"mate": ALL["mate"]}, rng(slot)) for slot in range(50)]

    assert all(plan.parents[0] is not plan.parents[1] for plan in plans)


def test_a_selection_of_deap_chooses_the_parents() -> None:
    policy = found(MuPlusLambda(mu=3, lambda_=9, parent_selection=tools.selBest), one(3.0, -2), one(2.0, -1))

    assert {2.0} == {policy.plan(slot, MUTATE, rng(slot)).parents[0].cost for slot in range(9)}


# Eligibility


def test_an_operator_needs_its_parents_and_repair_a_failure() -> None:
    assert ["draft"] == eligible(ALL, 0, 0)
    assert ["mutate", "draft"] == eligible(ALL, 1, 0)
    assert ["mutate", "mate", "draft", "repair"] == eligible(ALL, 2, 1)
    assert ["draft", "repair"] == eligible(ALL, 0, 1)


def test_repair_gets_a_failure_once() -> None:
    policy = found(MuPlusLambda(mu=2, lambda_=1), one(5.0, -1))
    feed(policy, [one(None, 0)])
    only_repair = {"repair": ALL["repair"], "mutate": ALL["mutate"]}
    plans = feed(policy, [one(6.0 + i, i) for i in range(1, 30)], only_repair, start=1)

    assert [0] == [plan.parents[0].slot for plan in plans if plan.operator == "repair"]


# One line and steady state


def test_one_plus_one_drifts_on_a_plateau_but_never_worsens() -> None:
    policy = found(OnePlusOne(lambda_=1), one(5.0, -1))
    feed(policy, [one(5.0, 0), one(6.0, 1)])

    assert [0] == [each.slot for each in policy.survivors]


def test_a_steady_state_waits_for_all_but_those_in_flight() -> None:
    policy = SteadyState(mu=2, lambda_=4, in_flight=3)

    assert [0, 0, 0, 1, 2, 3] == [policy.ready(slot) for slot in range(6)]


def test_a_newcomer_of_the_steady_state_breeds_at_once() -> None:
    policy = found(SteadyState(mu=1, lambda_=9), one(5.0, -1))
    feed(policy, [one(1.0, 0)])

    assert 1.0 == policy.plan(1, MUTATE, rng()).parents[0].cost


# Conditioned sampling


def test_conditioned_sampling_draws_from_the_last_generation_only() -> None:
    policy = found(SequentialConditioned(lambda_=3), one(1.0, -1))
    feed(policy, [one(7.0, 0), one(8.0, 1), one(9.0, 2)])
    plans = feed(policy, [one(10.0 + i, i) for i in range(3, 6)], start=3)

    assert {7.0, 8.0, 9.0} >= {plan.parents[0].cost for plan in plans}


# Greedy


def test_greedy_drafts_first_then_repairs_then_improves_the_best() -> None:
    policy = found(Greedy(lambda_=1, drafts=2, max_debug_depth=2), one(9.0, -1))
    outcomes = [one(8.0, 0), one(None, 1), one(None, 2), one(None, 3), one(7.0, 4), one(6.0, 5)]
    plans = feed(policy, outcomes, {k: v for k, v in ALL.items() if k != "mate"})

    assert ["draft", "draft", "repair", "repair", "mutate", "mutate"] == [plan.operator for plan in plans]
    assert [1, 2, 0, 4] == [plan.parents[0].slot for plan in plans[2:]]


def test_greedy_without_drafts_starts_from_the_seed() -> None:
    policy = found(Greedy(lambda_=1, drafts=2), one(9.0, -1))
    plans = feed(policy, [one(8.0, 0), one(7.0, 1), one(6.0, 2)])

    assert [-1, -1, 1] == [plan.parents[0].slot for plan in plans]


def test_greedy_with_drafts_of_weight_zero_uses_what_it_may() -> None:
    policy = found(Greedy(lambda_=1, drafts=2, choice=Weights({"mutate": 1.0})), one(9.0, -1))

    assert {"mutate"} == {plan.operator for plan in feed(policy, [one(8.0, i) for i in range(4)], ALL)}


# Trees


def test_uct_without_exploration_expands_the_best_leaf() -> None:
    policy = found(UCT(children=2, exploration=0.0), one(9.0, -1))
    feed(policy, [one(8.0, 0), one(2.0, 1)])

    assert 1 == policy.plan(2, MUTATE, rng()).parents[0].slot


def test_uct_explores_what_was_hardly_tried() -> None:
    policy = found(UCT(children=1, exploration=50.0), one(9.0, -2), one(8.0, -1))
    plans = feed(policy, [one(1.0, 0), one(1.5, 1)])

    assert {-2, -1} == {plan.parents[0].slot for plan in plans}


def test_an_expansion_has_one_parent() -> None:
    policy = found(UCT(children=3), one(9.0, -1))
    plans = feed(policy, [one(8.0, 0), one(1.0, 1), one(2.0, 2)])

    assert {-1} == {plan.parents[0].slot for plan in plans}


def test_uct_repairs_a_failed_leaf_and_gives_up_at_depth() -> None:
    policy = found(UCT(children=1, exploration=9.0, max_debug_depth=1), one(9.0, -1))
    operators = {"mutate": ALL["mutate"], "repair": ALL["repair"]}
    plans = feed(policy, [one(None, i) for i in range(8)], operators)
    repaired = [plan.parents[0].slot for plan in plans if plan.operator == "repair"]

    assert repaired
    assert len(set(repaired)) <= sum(plan.operator == "mutate" for plan in plans)


def test_uct_begins_with_drafts_where_there_are_any() -> None:
    policy = found(UCT(children=3), one(9.0, -1))

    assert ["draft"] * 3 == [plan.operator for plan in feed(policy, [one(8.0, i) for i in range(3)], ALL)]


# Fronts


def two(latency_us: float, error: float, slot: int) -> Individual:
    return one(latency_us, slot, fitness=Fitness((latency_us, error)))


def test_nsga2_keeps_the_front() -> None:
    policy = found(NSGA2(mu=3, lambda_=4), two(5.0, 5.0, -1))
    feed(policy, [two(1.0, 9.0, 0), two(9.0, 1.0, 1), two(4.0, 4.0, 2), two(6.0, 6.0, 3)])

    assert {0, 1, 2} == {each.slot for each in policy.survivors}


def test_nsga2_keeps_its_elites_in_any_case() -> None:
    policy = found(NSGA2(mu=2, lambda_=6, elites=1), two(5.0, 5.0, -1))
    feed(policy, [two(1.0 + i, 9.0 - i, i) for i in range(6)])

    assert 0 in {each.slot for each in policy.survivors}


# Islands


def test_every_island_gets_its_children() -> None:
    policy = Islands(island=partial(MuPlusLambda, mu=4, lambda_=2), num_islands=3, migration_every=None)
    found(policy, one(50.0, -1))
    feed(policy, [one(float(10 * (slot % 3) + slot // 3 + 1), slot) for slot in range(12)])

    expected = [[1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0], [21.0, 22.0, 23.0, 24.0]]
    assert expected == [costs(population) for population in policy.populations]


def test_a_ring_sends_the_best_to_the_next_island() -> None:
    policy = Islands(island=partial(MuPlusLambda, mu=2, lambda_=2), num_islands=3, migration_every=1, migrants=1)
    found(policy, one(99.0, -1))
    feed(policy, [one(float(10 * (slot % 3) + slot // 3 + 1), slot) for slot in range(6)])

    assert [[1.0, 21.0], [1.0, 11.0], [11.0, 21.0]] == [sorted(costs(population)) for population in policy.populations]


def test_a_random_ring_reaches_every_island_once() -> None:
    policy = Islands(island=partial(MuPlusLambda, mu=2, lambda_=1), num_islands=5, migration_every=1, topology="random")
    found(policy, one(99.0, -1))
    feed(policy, [one(float(slot + 1), slot) for slot in range(5)])
    guests = [max(costs(population)) if len(population) > 1 else None for population in policy.populations]

    assert all(len(population) == 2 for population in policy.populations)
    assert 5 == len(guests)
    assert 5 == len(policy.survivors)


def test_the_weakest_half_begins_anew_from_the_best_of_another() -> None:
    policy = Islands(island=partial(ClusterSoftmax, lambda_=1), num_islands=4, migration_every=None, reset_every=1)
    found(policy, one(99.0, -1))
    feed(policy, [one(float(slot + 1), slot) for slot in range(4)])
    populations = [costs(population) for population in policy.populations]

    assert [[99.0, 1.0], [99.0, 2.0]] == populations[:2]
    assert all(population in ([1.0], [2.0]) for population in populations[2:])


def test_islands_need_company() -> None:
    with pytest.raises(ValueError, match="num_islands must be at least 2"):
        Islands(island=partial(MuPlusLambda, mu=1, lambda_=1), num_islands=1)


# Archives


def bits(text: str, latency_us: float, slot: int) -> Individual:
    return one(latency_us, slot, source=text)


def archive(**more: Any) -> MapElites:
    return MapElites(descriptors=[Metric("static.left", [1, 3]), Metric("static.right", [1, 3])], lambda_=4, **more)


def test_a_cell_keeps_its_fastest_and_in_a_tie_its_oldest() -> None:
    policy = found(archive(), bits("0" * 12, 9.0, -1))
    feed(policy, [bits("1" + "0" * 11, 5.0, 0), bits("11" + "0" * 10, 4.0, 1), bits("01" + "0" * 10, 4.0, 2)])

    assert {(0, 0): -1, (1, 0): 1} == {cell: elite.slot for cell, elite in policy.cells.items()}


def test_every_cell_breeds() -> None:
    policy = found(archive(), bits("0" * 12, 9.0, -1), bits("1" * 12, 1.0, -2))
    parents = Counter(policy.plan(slot, MUTATE, rng(slot)).parents[0].slot for slot in range(200))

    assert min(parents[-1], parents[-2]) > 70


def test_curiosity_prefers_cells_whose_children_gain() -> None:
    curiosity = Curiosity()
    for cell in range(3):
        curiosity.opened(cell)
        for _ in range(20):
            curiosity.outcome(cell, gain=float(cell == 1), correct=cell != 2)
    drawn = Counter(curiosity.draw(rng(seed)) for seed in range(600))

    assert drawn[1] > drawn[0] > drawn[2] > 0


def test_curiosity_tries_new_cells() -> None:
    curiosity = Curiosity(gain=0.0, rate=0.0, explore=1.0)
    for cell in range(100):
        curiosity.opened(cell)
    for _ in range(399):
        curiosity.outcome(0, gain=0.0, correct=True)
    drawn = Counter(curiosity.draw(rng(seed)) for seed in range(1000))

    assert 99 <= len(drawn)
    assert drawn[0] < 10


def test_a_metric_is_cut_at_fixed_edges() -> None:
    metric = Metric("latency_us", [1.0, 10.0])

    assert [0, 1, 1, 2] == [metric.bin(one(value)) for value in (0.5, 1.0, 9.9, 10.0)]
    assert 3 == metric.num_bins


def test_edges_must_ascend() -> None:
    with pytest.raises(ValueError, match="must ascend"):
        Metric("latency_us", [2.0, 1.0])


@pytest.mark.parametrize(
    ("descriptor", "levels"),
    [
        (
            MemoryLevel(),
            [
                "for (long i = 0; i < N; ++i) y[i] = x[i];  // restrict is only a word here",
                "void kernel(const float* __restrict__ x, float* __restrict__ y)",
                "__m256 a = _mm256_loadu_ps(x + i);",
                "float tile[64][64]; __shared__ float t[32];",
            ],
        ),
        (
            ParallelLevel(),
            [
                "for (long i = 0; i < N; ++i) y[i] = x[i];",
                "#pragma omp simd\nfor (;;)",
                "#pragma omp parallel for\nfor (;;)",
                "#pragma omp parallel for reduction(+:total)",
            ],
        ),
        (
            AlgorithmLevel(),
            [
                "for (long i = 0; i < N; ++i) y[i] = x[i];",
                "#pragma GCC unroll 4\nfor (;;)",
                "for (long i = 0; i < N; i += BLOCK) {}",
                "auto p = std::upper_bound(borders, borders + B, x[i]);",
            ],
        ),
    ],
)
def test_levels_of_a_source(descriptor: Any, levels: list[str]) -> None:
    assert [0, 1, 2, 3] == [descriptor.bin(one(1.0, source=source)) for source in levels]
    assert 4 == descriptor.num_bins


# Weighted parents


def weights(policy: WeightedParents, individuals: list[Individual]) -> list[float]:
    drawn: Counter[int] = Counter()
    for slot in range(3000):
        policy._offspring.clear()  # the count of offspring is another test
        drawn[policy.plan(slot, MUTATE, rng(slot)).parents[0].slot] += 1
    return [drawn[each.slot] / 3000 for each in individuals]


def test_parents_are_weighted_by_a_sigmoid_around_the_median() -> None:
    individuals = [one(math.exp(-0.1 * i), -1 - i) for i in range(5)]
    policy = found(WeightedParents(mu=5, lambda_=1, sharpness=10.0, scaled=False), *individuals)
    sigmoid = [1 / (1 + math.exp(-10.0 * 0.1 * (i - 2))) for i in range(5)]
    expected = [each / sum(sigmoid) for each in sigmoid]

    assert expected == pytest.approx(weights(policy, individuals), abs=0.03)


def test_parents_with_many_offspring_step_back() -> None:
    policy = found(WeightedParents(mu=2, lambda_=1, sharpness=0.0), one(2.0, -2), one(1.0, -1))
    chosen = Counter(policy.plan(slot, MUTATE, rng(slot)).parents[0].slot for slot in range(100))

    assert abs(chosen[-1] - chosen[-2]) < 20


# FunSearch


def test_clusters_are_drawn_by_a_softmax_over_scores() -> None:
    policy = found(ClusterSoftmax(lambda_=1, temperature=1.0), one(8.0, -3), one(4.0, -2), one(2.0, -1))
    drawn = Counter(policy.plan(slot, MUTATE, rng(slot)).parents[0].slot for slot in range(3000))
    softmax = [math.exp(score) for score in (0, 1, 2)]
    expected = [each / sum(softmax) for each in softmax]

    assert expected == pytest.approx([drawn[slot] / 3000 for slot in (-3, -2, -1)], abs=0.03)


def test_a_short_source_of_a_cluster_is_likelier() -> None:
    short, long = one(5.0, -1, source="x" * 10), one(5.0, -2, source="x" * 1000)
    policy = found(ClusterSoftmax(lambda_=1), short, long)
    drawn = Counter(policy.plan(slot, MUTATE, rng(slot)).parents[0].slot for slot in range(2000))

    assert math.e / (1 + math.e) == pytest.approx(drawn[-1] / 2000, abs=0.04)


def test_parents_come_worst_first() -> None:
    policy = found(ClusterSoftmax(lambda_=1, temperature=9.0), one(8.0, -3), one(4.0, -2), one(2.0, -1))
    plans = [policy.plan(slot, {"mate": ALL["mate"]}, rng(slot)) for slot in range(20)]

    assert all(plan.parents[0].cost > plan.parents[1].cost for plan in plans)


# Phases


def test_drafts_know_nothing_and_then_found_the_population() -> None:
    policy = found(Phases(drafts=3, growth=partial(MuPlusLambda, mu=9, lambda_=2)), one(9.0, -1))
    plans = feed(policy, [one(8.0, 0), one(None, 1), one(7.0, 2)], {"draft": ALL["draft"], "mutate": ALL["mutate"]})

    assert ["draft"] * 3 == [plan.operator for plan in plans]
    assert not any(plan.remembers for plan in plans)
    assert [9.0, 8.0, 7.0] == costs(policy.survivors)
    assert policy.plan(3, MUTATE, rng()).remembers


def test_growth_waits_for_all_drafts() -> None:
    policy = Phases(drafts=3, growth=partial(MuPlusLambda, mu=2, lambda_=2))

    assert [0, 0, 0, 3, 3, 5, 5] == [policy.ready(slot) for slot in range(7)]


# No elite by luck


def test_a_faster_kernel_whose_interval_overlaps_waits_behind_the_older() -> None:
    old, lucky, sure = one(10.0, 0, width=0.1), one(9.5, 1, width=0.1), one(5.0, 2, width=0.1)

    assert [sure, old] == select_certified([lucky, sure, old], 2)
    assert [old, lucky] == select_certified([lucky, old], 5)


def test_without_intervals_the_fastest_is_selected() -> None:
    assert [3.0, 4.0] == costs(select_certified([one(4.0, 0), one(3.0, 1)], 2))
