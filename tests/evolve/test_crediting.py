from __future__ import annotations

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from evolve import Budget, Journal, RecordedClient, read_journal
from evolve.policies import MuPlusLambda, SteadyState
from llm import Arm, Completion, Ensemble, Message, Request, ScriptedClient, ServerUnreachable, TakingTurns, Turns
from operators import Brief, Proposal
from toy_search import BITS, POLICIES, Pooled, ToyEvaluator, digest, engine, flip, halves, kernel

ARMS = ("bad", "good")
UNASKING = {"surrogate", "surrogate_in_flight", "tuned_surrogate"}
"""Policies that propose themselves; in the toy space they ask no model."""


class Asks:
    """Flips bits where the good arm answered, and gives up all that was gained where the bad one did."""

    name, arity, memory, takes_failures = "asks", 1, frozenset(), False

    def propose(self, parents, brief: Brief, rng: np.random.Generator) -> Proposal:
        parent = parents[0].kernel
        request = Request((Message("user", parent.source),), seed=int(rng.integers(2**31)))
        answer = brief.client.complete(request)
        bits = flip([parent.source], rng) if answer.arm == "good" else "0" * BITS
        asked = (request.digest,)
        return Proposal(kernel(bits), self.name, (parent.digest,), tokens=10, requests=asked, arm=answer.arm)


def searched(folder: Path, generations: int, strict: bool = False) -> Ensemble:
    """Runs, or goes on with, a search whose model is an ensemble; returns the ensemble."""
    folder.mkdir(exist_ok=True)
    ensemble = Ensemble([Arm(name) for name in ARMS], choice="ucb1", client=ScriptedClient(["x"]))
    with Journal(folder / "journal.jsonl", strict=strict) as journal:
        client = RecordedClient(ensemble, journal)
        policy = MuPlusLambda(mu=4, lambda_=8)
        list(engine(policy, folder, journal, operators={"asks": Asks()}, client=client).run(generations))
    return ensemble


def test_the_arm_that_improves_is_asked_more(tmp_path: Path) -> None:
    standing = searched(tmp_path / "a", 12).standing()
    assert standing["good"][0] > standing["bad"][0] > 0


def test_every_slot_is_rewarded_once(tmp_path: Path) -> None:
    standing = searched(tmp_path / "a", 5).standing()
    assert 5 * 8 == sum(pulls for pulls, _ in standing.values())


def test_records_name_requests_and_arm(tmp_path: Path) -> None:
    searched(tmp_path / "a", 1)
    line = (tmp_path / "a" / "generations.jsonl").read_text().splitlines()[1]
    slot = json.loads(line)["slots"][0]
    assert (True, 1) == (slot["arm"] in ARMS, len(slot["requests"]))


def test_a_run_that_went_on_knows_what_the_whole_one_knows(tmp_path: Path) -> None:
    whole = searched(tmp_path / "whole", 6).standing()
    searched(tmp_path / "parts", 2)
    assert whole == searched(tmp_path / "parts", 6).standing()


def test_a_replay_comes_to_the_same_standing(tmp_path: Path) -> None:
    live = searched(tmp_path / "a", 4).standing()
    assert live == searched(tmp_path / "a", 4, strict=True).standing()


class Dawdler:
    """Takes its time, at random: what a server does that many ask."""

    def complete(self, request: Request) -> Completion:
        time.sleep(random.random() * 0.004)
        return Completion("x")


def recorded(policy, choice: str, folder: Path, workers: int) -> str:
    """Runs a search whose model is an ensemble; returns the digest of its lineage, arms included."""
    folder.mkdir(parents=True)
    ensemble = Ensemble([Arm(name) for name in ARMS], choice=choice, client=Dawdler())
    evaluator = ToyEvaluator(static=halves, jitter_s=0.002)
    with Journal(folder / "journal.jsonl") as journal, Pooled(workers) as executor:
        search = engine(
            policy,
            folder,
            journal,
            operators={"asks": Asks()},
            client=RecordedClient(ensemble, journal),
            proposers=workers,
            executor=executor,
            evaluator=evaluator,
            budget=Budget(evaluations=40),
        )
        list(search.run(4))
    return digest(folder)


@pytest.mark.parametrize("name", sorted(set(POLICIES) - UNASKING))
def test_the_choice_of_a_model_depends_on_no_thread(tmp_path: Path, name: str) -> None:
    one, two, four = (recorded(POLICIES[name](), "ucb1", tmp_path / f"{n}", n) for n in (1, 2, 4))
    assert one == two == four


@pytest.mark.parametrize("choice", ["weights", "ucb1", "thompson"])
def test_no_choice_depends_on_threads_when_all_slots_overlap(tmp_path: Path, choice: str) -> None:
    policies = [SteadyState(mu=4, lambda_=8, in_flight=8) for _ in range(4)]
    digests = {recorded(policy, choice, tmp_path / f"{n}", 1 + 3 * (n % 2)) for n, policy in enumerate(policies)}
    assert 1 == len(digests)


def test_a_slot_knows_the_rewards_of_what_was_committed_when_it_was_planned() -> None:
    ensemble = Ensemble([Arm(name) for name in ARMS], choice="ucb1", client=ScriptedClient(["x"]))
    request = Request((Message("user", "?"),))
    for arm in ARMS:
        ensemble.tell(arm, 0.1)
    before = ensemble.snapshot(0)
    first = before.complete(request).arm
    for _ in range(50):
        ensemble.tell("good", 0.9 if first == "bad" else 0.0)
        ensemble.tell("bad", 0.9 if first == "good" else 0.0)
    assert (first, True) == (before.complete(request).arm, first != ensemble.snapshot(0).complete(request).arm)


class Gone:
    """A server that nobody can reach."""

    def complete(self, request: Request) -> Completion:
        raise ServerUnreachable("nobody is there")


def with_a_dead_arm(folder: Path, generations: int, *, strict: bool = False, workers: int = 4) -> Ensemble:
    """Runs, or goes on with, a search of which one model is gone."""
    folder.mkdir(exist_ok=True)
    members = [Arm("bad", Dawdler()), Arm("good", Dawdler()), Arm("gone", Gone())]
    ensemble = Ensemble(members, choice="ucb1")
    with Journal(folder / "journal.jsonl", strict=strict) as journal:
        policy = SteadyState(mu=4, lambda_=8, in_flight=4)
        client = RecordedClient(ensemble, journal)
        list(
            engine(policy, folder, journal, operators={"asks": Asks()}, client=client, proposers=workers).run(
                generations
            )
        )
    return ensemble


def test_a_search_goes_on_without_a_model_that_is_gone(tmp_path: Path) -> None:
    ensemble = with_a_dead_arm(tmp_path / "a", 4)
    told = [
        value["completion"]
        for kind, _, _, value in read_journal(tmp_path / "a" / "journal.jsonl")
        if kind == "completion"
    ]
    missed = [each for each in told if each["silent"] == ["gone"]]
    assert (0, 32, True) == (ensemble.standing()["gone"][0], len(told), 1 < len(missed) < 16)


def test_without_a_model_threads_do_not_matter_either(tmp_path: Path) -> None:
    for workers in (1, 4):
        with_a_dead_arm(tmp_path / f"{workers}", 4, workers=workers)
    assert digest(tmp_path / "1") == digest(tmp_path / "4")


def test_a_run_that_went_on_without_a_model_knows_what_the_whole_one_knows(tmp_path: Path) -> None:
    whole = with_a_dead_arm(tmp_path / "whole", 5)
    with_a_dead_arm(tmp_path / "parts", 2)
    parts = with_a_dead_arm(tmp_path / "parts", 5)
    assert whole.ledger == parts.ledger
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")
    with_a_dead_arm(tmp_path / "parts", 5, strict=True)


def test_an_ensemble_learns_when_model_and_clock_take_turns(tmp_path: Path) -> None:
    ensemble = Ensemble([Arm(name) for name in ARMS], choice="ucb1", client=ScriptedClient(["x"]))
    with Journal(tmp_path / "journal.jsonl") as journal:
        client = RecordedClient(TakingTurns(ensemble, Turns()), journal)
        list(engine(MuPlusLambda(mu=4, lambda_=8), tmp_path, journal, operators={"asks": Asks()}, client=client).run(2))
    assert 16 == sum(pulls for pulls, _ in ensemble.standing().values())
