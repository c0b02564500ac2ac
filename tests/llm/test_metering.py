from __future__ import annotations

import pytest

from llm.metering import Meter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("llm.metering.time.monotonic", lambda: now[0])
    return now


def test_a_request_alone_has_all_devices(clock) -> None:
    meter = Meter(2)
    mark = meter.enter()
    clock[0] = 3.0
    assert 6.0 == meter.leave(mark)


def test_requests_at_the_same_time_share(clock) -> None:
    meter = Meter(1)
    first = meter.enter()
    clock[0] = 1.0
    second = meter.enter()
    clock[0] = 5.0
    assert (3.0, 2.0) == (meter.leave(first), meter.leave(second))


def test_idle_time_is_charged_to_nobody(clock) -> None:
    meter = Meter(1)
    meter.leave(meter.enter())
    clock[0] = 100.0
    mark = meter.enter()
    clock[0] = 101.0
    assert 1.0 == meter.leave(mark)


def test_nothing_is_charged_for_a_server_of_unknown_devices(clock) -> None:
    meter = Meter(0)
    mark = meter.enter()
    clock[0] = 9.0
    assert 0.0 == meter.leave(mark)
