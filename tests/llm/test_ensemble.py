from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Self

import pytest

from llm import Arm, Ensemble, Message, Request, ScriptedClient

ASK = (Message("user", "faster"),)


def named(*names: str, **settings: object) -> Ensemble:
    return Ensemble([Arm(name) for name in names], client=ScriptedClient(["x"]), **settings)


def arms(ensemble: Ensemble, count: int) -> Counter[str]:
    return Counter(ensemble.choose(Request(ASK, seed=seed)).name for seed in range(count))


def played(ensemble: Ensemble, worth: dict[str, float], turns: int = 400) -> Counter[str]:
    chosen: Counter[str] = Counter()
    for seed in range(turns):
        arm = ensemble.complete(Request(ASK, seed=seed)).arm
        chosen[arm] += 1
        ensemble.tell(arm, worth[arm])
    return chosen


def test_weights_are_shares() -> None:
    client = ScriptedClient(["x"])
    ensemble = Ensemble([Arm("a", weight=3.0), Arm("b", weight=1.0), Arm("c", weight=0.0)], client=client)
    chosen = arms(ensemble, 2000)
    assert (True, 0) == (0.70 < chosen["a"] / 2000 < 0.80, chosen["c"])


@pytest.mark.parametrize("choice", ["weights", "ucb1", "thompson"])
def test_the_choice_depends_on_the_request_and_on_what_was_told_alone(choice) -> None:
    def trajectory() -> list[str]:
        ensemble = named("a", "b", "c", choice=choice)
        chosen = []
        for seed in range(60):
            chosen.append(ensemble.complete(Request(ASK, seed=seed)).arm)
            ensemble.tell(chosen[-1], float(seed % 3))
        return chosen

    assert trajectory() == trajectory()


@pytest.mark.parametrize("choice", ["ucb1", "thompson"])
def test_a_bandit_prefers_what_pays(choice) -> None:
    chosen = played(named("poor", "rich", choice=choice), {"poor": 0.1, "rich": 0.4})
    assert chosen["rich"] > 2 * chosen["poor"]


@pytest.mark.parametrize("choice", ["ucb1", "thompson"])
def test_a_bandit_tries_every_arm(choice) -> None:
    assert {"a", "b", "c", "d"} == set(played(named("a", "b", "c", "d", choice=choice), dict.fromkeys("abcd", 0.0)))


def test_a_batch_asked_at_once_is_spread_over_untried_arms() -> None:
    assert {"a", "b", "c"} == set(arms(named("a", "b", "c", choice="ucb1"), 30))


def test_reward_by_token_prefers_the_cheap_arm() -> None:
    ensemble = named("long", "short", choice="ucb1", per="token")
    chosen: Counter[str] = Counter()
    for seed in range(300):
        arm = ensemble.complete(Request(ASK, seed=seed)).arm
        chosen[arm] += 1
        ensemble.tell(arm, 0.2, {"long": 4000, "short": 500}[arm])
    assert chosen["short"] > 2 * chosen["long"]


def test_the_same_rewards_bring_the_state_back() -> None:
    first, second = named("a", "b", choice="ucb1"), named("a", "b", choice="ucb1")
    told = [(arm, float(turn)) for turn, arm in enumerate("abba")]
    for ensemble in (first, second):
        for arm, reward in told:
            ensemble.tell(arm, reward)
    assert (first.standing(), arms(first, 20)) == (second.standing(), arms(second, 20))


def test_rewards_of_an_arm_that_left_are_ignored_and_a_new_arm_is_tried() -> None:
    ensemble = named("old", "new", choice="ucb1")
    for arm in ("old", "gone", "old"):
        ensemble.tell(arm, 1.0)
    assert ({"old": (2, 1.0), "new": (0, 0.0)}, {"new"}) == (ensemble.standing(), set(arms(ensemble, 10)))


def test_an_arm_has_its_own_client_model_and_temperature() -> None:
    own, shared = ScriptedClient(["own"]), ScriptedClient(["shared"])
    ensemble = Ensemble([Arm("a", client=own, model="big", temperature=0.1)], client=shared)
    answer = ensemble.complete(Request(ASK, temperature=0.9))
    asked = own.requests[0]
    assert ("own", "a", "big", 0.1, []) == (answer.text, answer.arm, asked.model, asked.temperature, shared.requests)


class Server:
    """A member with a life of its own."""

    gpus = (1, 0)
    turns = True

    def __init__(self) -> None:
        self.told: list[object] = []

    def __enter__(self) -> Self:
        self.told.append("enter")
        return self

    def __exit__(self, *exc: object) -> None:
        self.told.append("exit")

    def place(self, directory: Path, tell) -> None:
        self.told.append(directory)

    def complete(self, request: Request):
        raise AssertionError


def test_members_are_entered_placed_and_left_once(tmp_path: Path) -> None:
    server = Server()
    ensemble = Ensemble([Arm("a", client=server), Arm("b", client=server, temperature=0.2)])
    with ensemble:
        ensemble.place(tmp_path, print)
    assert ["enter", tmp_path, "exit"] == server.told


def test_gpus_and_turns_of_members_are_known() -> None:
    ensemble = Ensemble([Arm("a", client=Server()), Arm("b", client=ScriptedClient(["x"]))])
    assert ((0, 1), True) == (ensemble.gpus, ensemble.turns)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Ensemble([]), "arms with different names"),
        (lambda: named("a", "a"), "arms with different names"),
        (lambda: named("a", choice="luck"), "choice must be one of weights, ucb1, thompson"),
        (lambda: Ensemble([Arm("a", ScriptedClient(["x"]), 0.0)]), "must not sum to 0"),
        (lambda: Ensemble([Arm("a")]), "the arms a have no client"),
        (lambda: Arm("a", weight=-1.0), "weight of 0 or more"),
    ],
)
def test_wrong_settings_are_named(build, message) -> None:
    with pytest.raises(ValueError, match=message):
        build()
