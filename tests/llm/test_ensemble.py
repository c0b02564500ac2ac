from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Self

import pytest

from llm import (
    Arm,
    Completion,
    Ensemble,
    Message,
    Request,
    RequestRejected,
    ScriptedClient,
    ServerError,
    ServerMismatch,
    ServerUnreachable,
)

ASK = (Message("user", "faster"),)


def named(*names: str, **settings: object) -> Ensemble:
    return Ensemble([Arm(name) for name in names], client=ScriptedClient(["x"]), **settings)


def arms(ensemble: Ensemble, count: int) -> Counter[str]:
    return Counter(ensemble.ranking(seed)[0].name for seed in range(count))


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


def test_a_batch_that_is_planned_at_once_is_spread_over_arms_that_are_alike() -> None:
    ensemble = named("a", "b", choice="ucb1")
    for arm in ("a", "b"):
        ensemble.tell(arm, 0.5)
    planned = Counter(ensemble.snapshot(slot).complete(Request(ASK)).arm for slot in range(8))
    assert {"a": 4, "b": 4} == planned


def test_a_slot_that_asked_nobody_is_pending_no_more_when_it_is_told() -> None:
    first, second = named("a", "b", choice="ucb1"), named("a", "b", choice="ucb1")
    for slot in range(7):
        first.snapshot(slot).tell("", 0.0)
    orders = [
        [ensemble.snapshot(slot).complete(Request(ASK)).arm for slot in range(20)] for ensemble in (first, second)
    ]
    assert orders[0] == orders[1]


class Dead:
    """A server that gives no answer until it is started."""

    def __init__(self, error: type[ServerError] = ServerUnreachable) -> None:
        self.asked = 0
        self.alive = False
        self._error = error

    def complete(self, request: Request) -> Completion:
        self.asked += 1
        if not self.alive:
            raise self._error("nobody is there")
        return Completion("x")


def with_dead(dead: Dead) -> Ensemble:
    """Prefers the dead arm as far as weights can."""
    return Ensemble([Arm("dead", dead, weight=1e12), Arm("live", ScriptedClient(["x"]), weight=1.0)])


def slots(ensemble: Ensemble, count: int) -> list[str]:
    """Returns who answered in slots that are planned and told one after another."""
    answered = []
    for slot in range(count):
        seat = ensemble.snapshot(slot)
        answer = seat.complete(Request(ASK))
        seat.tell(answer.arm, 0.0, silent=answer.silent)
        answered.append(answer.arm)
    return answered


@pytest.mark.parametrize("error", [ServerUnreachable, ServerMismatch])
def test_where_a_server_is_dead_the_next_arm_answers_and_says_why(error) -> None:
    answer = with_dead(Dead(error)).complete(Request(ASK))
    assert ("live", ("dead",), ("dead: nobody is there",)) == (answer.arm, answer.silent, answer.retries)


def test_a_dead_arm_is_left_alone_for_longer_and_longer_and_tried_again() -> None:
    dead = Dead()
    asked = []
    ensemble = with_dead(dead)
    for slot in range(30):
        seat = ensemble.snapshot(slot)
        answer = seat.complete(Request(ASK))
        seat.tell(answer.arm, 0.0, silent=answer.silent)
        if answer.silent:
            asked.append(slot)
    assert ([0, 3, 8, 17], 4) == (asked, dead.asked)


def test_the_longest_rest_is_bounded() -> None:
    dead = Dead()
    slots(with_dead(dead), 400)
    assert 10 <= dead.asked <= 12


def test_an_arm_that_came_back_is_as_before() -> None:
    dead = Dead()
    ensemble = with_dead(dead)
    slots(ensemble, 10)
    dead.alive = True
    assert ["dead"] * 10 == slots(ensemble, 20)[-10:]


def test_the_run_stops_when_all_arms_are_dead() -> None:
    ensemble = Ensemble([Arm("a", Dead()), Arm("b", Dead())])
    with pytest.raises(ServerUnreachable, match=r"no arm .* answers: \w: nobody is there; \w: nobody is there"):
        ensemble.complete(Request(ASK))


def test_a_single_dead_arm_says_what_its_server_said() -> None:
    with pytest.raises(ServerMismatch, match=r"^nobody is there$"):
        Ensemble([Arm("a", Dead(ServerMismatch))]).complete(Request(ASK))


def test_a_refused_request_is_not_passed_on_and_names_the_arm() -> None:
    class Refuses:
        def complete(self, request: Request) -> Completion:
            raise RequestRejected("too rude", request)

    with pytest.raises(RequestRejected) as caught:
        Ensemble([Arm("a", Refuses(), weight=1e12), Arm("b", ScriptedClient(["x"]))]).complete(Request(ASK))
    assert "a" == Completion.failed(caught.value).arm


def test_an_arm_of_no_weight_answers_never() -> None:
    with pytest.raises(ServerUnreachable):
        Ensemble([Arm("a", Dead()), Arm("b", ScriptedClient(["x"]), weight=0.0)]).complete(Request(ASK))


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
