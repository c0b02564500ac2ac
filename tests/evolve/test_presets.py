"""Every file in ``conf/search`` and ``conf/selection`` is a search that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from evolve import Budget
from experiments.composition import composed
from experiments.sweep import register_resolvers
from toy_search import ToyEvaluator, ToyOperator, digest, flip, halves, run

CONF = Path(__file__).parents[2] / "conf"
SEARCHES = sorted(path.stem for path in (CONF / "search").glob("*.yaml"))
SELECTIONS = sorted(path.stem for path in (CONF / "selection").glob("*.yaml"))
CITED = {"funsearch", "eoh", "reevo", "aira_greedy", "aira_mcts", "aira_evo", "shinka", "evoengineer_full", "gevo"}


@pytest.fixture(autouse=True, scope="module")
def _resolvers() -> None:
    register_resolvers()


def search(folder: Path, *overrides: str) -> list[Any]:
    config = composed(["mu=4", "lambda_=4", *overrides])
    weights = {"mutate": 0.5, "mate": 0.3, "draft": 0.1, "repair": 0.1}
    choice = {"_target_": "evolve.policies.Weights", "weights": weights}
    path = "search.policy.choice" if "policy" in config.search else "search.choice"
    OmegaConf.update(config, path, choice, merge=False, force_add=True)
    policy = instantiate(config.search, _convert_="all")
    evaluator = ToyEvaluator(fails=lambda bits: int(bits, 2) % 3 == 1, static=halves)
    budget = Budget(evaluations=40)
    return run(policy, folder, 40, evaluator=evaluator, budget=budget, objectives=list(config.objectives))[0]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_something_and_repeats_itself(tmp_path: Path, name: str) -> None:
    generations = search(tmp_path / "one", f"search={name}")
    search(tmp_path / "two", f"search={name}")

    assert 40 == generations[-1].evaluations
    assert generations[-1].best.cost < generations[0].best.cost
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("role", ["parent_selection", "survivor_selection"])
def test_a_selection_can_take_either_place(tmp_path: Path, name: str, role: str) -> None:
    generations = search(tmp_path, "search=mu_plus_lambda", f"selection@search.{role}={name}")

    assert 40 == generations[-1].evaluations


@pytest.mark.parametrize("name", sorted(CITED))
def test_a_published_search_says_where_its_values_are_from(name: str) -> None:
    assert "https://" in (CONF / "search" / f"{name}.yaml").read_text()


def test_sizes_of_the_run_reach_the_search() -> None:
    config = composed(["search=mu_plus_lambda", "mu=3", "lambda_=7"])

    assert (3, 7) == (config.search.mu, config.search.lambda_)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_can_use_any_operators_with_its_own_choice(tmp_path: Path, name: str) -> None:
    config = composed(["mu=4", "lambda_=4", f"search={name}"])
    policy = instantiate(config.search, _convert_="all")
    only = {"alter": ToyOperator(flip, name="alter")}
    budget = Budget(evaluations=12)
    evaluator = ToyEvaluator(static=halves)
    generations, _ = run(
        policy, tmp_path, 40, operators=only, evaluator=evaluator, budget=budget, objectives=list(config.objectives)
    )

    assert 12 == generations[-1].evaluations
