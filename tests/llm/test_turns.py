from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from llm import Message, Request, ScriptedClient, TakingTurns, Turns


def test_never_both_sides_at_once() -> None:
    turns, lock = Turns(), threading.Lock()
    inside = {"model": 0, "timing": 0}
    both = []

    def visit(side: str) -> None:
        for _ in range(20):
            with turns.of(side):
                with lock:
                    inside[side] += 1
                    both.append(bool(inside["model"] and inside["timing"]))
                time.sleep(0.0005)
                with lock:
                    inside[side] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, ["model", "timing"] * 4))
    assert (160, False) == (len(both), any(both))


def test_one_side_shares_its_turn() -> None:
    turns, together = Turns(), threading.Barrier(4, timeout=10)

    def visit(_: int) -> int:
        with turns.of("model"):
            return together.wait()

    with ThreadPoolExecutor(4) as pool:
        assert [0, 1, 2, 3] == sorted(pool.map(visit, range(4)))


def test_all_that_wait_get_their_turn_together() -> None:
    turns, together = Turns(), threading.Barrier(3, timeout=10)

    def visit(_: int) -> int:
        with turns.of("model"):
            return together.wait()

    with ThreadPoolExecutor(4) as pool:
        with turns.of("timing"):
            waiting = [pool.submit(visit, each) for each in range(3)]
            while turns._waiting["model"] < 3:
                time.sleep(0.001)
        assert [0, 1, 2] == sorted(each.result(timeout=10) for each in waiting)


def test_a_client_that_takes_turns_answers() -> None:
    client = TakingTurns(ScriptedClient(["x"]), Turns())
    assert "x" == client.complete(Request((Message("user", "a"),))).text
