from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from evolve import Journal, RecordedClient
from evolve.policies import MuPlusLambda
from llm import Arm, Ensemble, Message, Request, ScriptedClient
from operators import Brief, Proposal
from toy_search import BITS, engine, flip, kernel

ARMS = ("bad", "good")


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
