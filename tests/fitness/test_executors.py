import threading

import pytest

from fitness import TargetLost
from fitness.executors import Local, Serial


def double(value, device):
    return 2 * value


def device_of(device):
    return device


def fail(device):
    raise KeyError("broken")


class LostOnce:
    def __init__(self):
        self.calls = 0

    def __call__(self, device):
        self.calls += 1
        if self.calls == 1:
            raise TargetLost("gone")
        return "done"


EXECUTORS = [Serial, lambda: Local(2)]


@pytest.mark.parametrize("make", EXECUTORS)
def test_a_future_has_the_result(make):
    with make() as executor:
        assert executor.submit(double, 21).result(10) == 42


@pytest.mark.parametrize("make", EXECUTORS)
def test_a_future_has_the_exception(make):
    with make() as executor, pytest.raises(KeyError, match="broken"):
        executor.submit(fail).result(10)


@pytest.mark.parametrize("make", EXECUTORS)
def test_lost_hardware_is_tried_once_more(make):
    with make() as executor:
        assert executor.submit(LostOnce()).result(10) == "done"


def test_jobs_of_local_run_at_the_same_time():
    both = threading.Barrier(2)

    def meet(device):
        return both.wait(10)

    with Local(2) as executor:
        waited = [executor.submit(meet) for _ in range(2)]
        assert sorted(each.result(10) for each in waited) == [0, 1]


def test_a_device_belongs_to_one_slot_at_a_time():
    inside, most = [], []

    def occupy(device):
        inside.append(device)
        most.append(inside.count(device))
        threading.Event().wait(0.01)
        inside.remove(device)

    with Local(2, devices=(0, 1)) as executor:
        for each in [executor.submit(occupy) for _ in range(8)]:
            each.result(10)
    assert max(most) == 1


def test_every_device_is_used():
    both = threading.Barrier(2)

    def meet(device):
        both.wait(10)
        return device

    with Local(2, devices=(4, 7)) as executor:
        assert {4, 7} == {each.result(10) for each in [executor.submit(meet) for _ in range(2)]}


def test_what_has_not_begun_is_dropped():
    release = threading.Event()

    def hold(device):
        release.wait(10)

    with Local(1) as executor:
        executor.submit(hold)
        waiting = executor.submit(double, 1)
        threading.Timer(0.05, release.set).start()
    assert waiting.cancelled()


@pytest.mark.parametrize("arguments", [{"workers": 0}, {"devices": ()}])
def test_no_slot_is_refused(arguments):
    with pytest.raises(ValueError, match="workers"):
        Local(**arguments)
