"""Turns on a device: alone, or together with others who do not time."""

import threading
import time

import pytest

from fitness.device.turns import Turns


@pytest.fixture
def turns(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return lambda: Turns("gpu")  # everybody has an object of its own, as processes do


class Visitor(threading.Thread):
    """Enters a turn, notes it, and stays until it is told to go."""

    def __init__(self, turn):
        super().__init__(daemon=True)
        self.turn, self.entered, self.may_go = turn, threading.Event(), threading.Event()
        self.start()

    def run(self):
        with self.turn:
            self.entered.set()
            assert self.may_go.wait(30)

    def is_in(self, wait_s=30.0):
        return self.entered.wait(wait_s)

    def leave(self):
        self.may_go.set()
        self.join(30)


def test_those_who_do_not_time_are_there_together(turns):
    first, second = Visitor(turns().together()), Visitor(turns().together())

    assert first.is_in()
    assert second.is_in()
    first.leave()
    second.leave()


def test_who_times_is_alone(turns):
    timing = Visitor(turns().alone())
    assert timing.is_in()
    others = [Visitor(turns().alone()), Visitor(turns().together())]

    assert [False, False] == [other.is_in(0.2) for other in others]
    timing.leave()
    for other in others:  # in either order
        other.may_go.set()
    assert [True, True] == [other.is_in() for other in others]
    for other in others:
        other.leave()


def test_who_waits_to_be_alone_is_not_starved(turns):
    before = Visitor(turns().together())
    assert before.is_in()
    timing = Visitor(turns().alone())
    time.sleep(0.2)  # it stands in the door
    after = Visitor(turns().together())

    assert not after.is_in(0.2)
    before.leave()
    assert timing.is_in()
    assert not after.is_in(0.2)
    timing.leave()
    assert after.is_in()
    after.leave()


def test_who_times_goes_before_those_who_do_not(turns):
    first = Visitor(turns().alone())
    assert first.is_in()
    others = [Visitor(turns().together()) for _ in range(2)]
    time.sleep(0.2)  # they wait before the next one comes
    second = Visitor(turns().alone())
    time.sleep(0.2)
    first.leave()

    assert second.is_in()
    assert [False, False] == [other.is_in(0.2) for other in others]
    second.leave()
    assert [True, True] == [other.is_in() for other in others]
    for other in others:
        other.leave()


def test_devices_have_turns_of_their_own(turns, tmp_path):
    with turns().alone(), Turns("another").alone():
        pass
