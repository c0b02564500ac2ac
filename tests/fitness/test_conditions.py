"""What a GPU is like while it is timed on; the driver's library is a stand-in here, for what depends on it."""

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from fitness import MachineError, TargetUnavailable
from fitness.device import conditions, timing
from fitness.device.conditions import Conditions, is_stranger, nvml_conditions, summary
from fitness.device.timing import Block, DeviceStopwatch
from fitness.series import Precision
from fitness.targets import Nvidia

QUIET = Conditions(1980.0, 45.0, 300.0, 0, ())


class NVMLError(Exception):
    pass


def library(reasons=0, pids=(), fails=False):
    """The part of pynvml that is used, with given answers."""

    def clock(handle, kind):
        if fails:
            raise NVMLError
        return {"sm": 1755}[kind]

    return SimpleNamespace(
        NVML_CLOCK_SM="sm",
        NVML_TEMPERATURE_GPU="chip",
        NVMLError=NVMLError,
        nvmlDeviceGetHandleByIndex=lambda number: ("index", number),
        nvmlDeviceGetHandleByUUID=lambda name: ("uuid", name),
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=pid) for pid in pids],
        nvmlDeviceGetClockInfo=clock,
        nvmlDeviceGetTemperature=lambda handle, sensor: 61,
        nvmlDeviceGetPowerUsage=lambda handle: 412_000,
        nvmlDeviceGetCurrentClocksEventReasons=lambda handle: reasons,
    )


@pytest.mark.parametrize(
    ("reasons", "spoils"),
    [(0x0, False), (0x1, False), (0x4, False), (0x8, True), (0x24, True), (0x40, True), (0x80, True)],
)
def test_heat_and_hardware_spoil_a_sample_and_a_power_cap_does_not(reasons, spoils):
    assert spoils == bool(replace(QUIET, reasons=reasons).disturbance)


def test_what_the_library_tells_in_our_units(monkeypatch):
    monkeypatch.setattr(conditions, "_nvml", lambda: library(reasons=4))

    assert Conditions(1755.0, 61.0, 412.0, 4, ()) == nvml_conditions("0")


def test_a_library_that_does_not_answer_is_no_disturbance(monkeypatch):
    monkeypatch.setattr(conditions, "_nvml", lambda: library(fails=True))

    assert nvml_conditions("0") is None


@pytest.mark.skipif(importlib.util.find_spec("pynvml") is None, reason="nvidia-ml-py is not installed")
def test_the_real_library_is_there_or_is_not():
    seen = nvml_conditions("0")

    assert seen is None or seen.sm_clock_mhz > 0


def test_a_server_that_is_expected_there_does_not_disturb_nor_do_its_children(monkeypatch):
    with subprocess.Popen(["sleep", "60"]) as child:
        others = (1, child.pid)
        monkeypatch.setattr(conditions, "_nvml", lambda: library(pids=others))
        monkeypatch.setattr(conditions, "_EXPECTED", set())
        monkeypatch.setattr(os, "getpid", lambda: -1)  # nothing here descends from this process
        monkeypatch.setattr(conditions.Cache, "shows", lambda self, pid: False)
        before, told, after = nvml_conditions("0"), conditions.expect_there("0"), nvml_conditions("0")
        later = library(pids=(*others, os.getppid()))
        monkeypatch.setattr(conditions, "_nvml", lambda: later)
        monkeypatch.setattr(conditions, "_EXPECTED", {child.pid})
        grown = nvml_conditions("0")
        child.kill()

    assert tuple(sorted(others)) == before.strangers == told
    assert () == after.strangers
    assert 1 in grown.strangers
    assert child.pid not in grown.strangers


def test_a_process_of_somebody_else_disturbs(monkeypatch):
    monkeypatch.setattr(conditions, "_nvml", lambda: library(pids=(1, os.getpid())))
    seen = nvml_conditions("GPU-123")

    assert (1,) == seen.strangers
    assert "process 1 computes on it, too" == seen.disturbance


def test_own_descendants_and_processes_that_cannot_be_seen_do_not():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert [False, False, False] == [is_stranger(pid) for pid in (child.pid, os.getpid(), 2**22 + 1)]
    finally:
        child.communicate(b"\n")


def watch():
    return DeviceStopwatch((None, None), Precision(max_pairs=3), True)


def test_workers_of_another_evaluator_are_no_strangers_while_it_lives(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "getpid", lambda: 0)  # else all of this would descend from us
    program = (
        "import subprocess, sys; from fitness.device.conditions import take_turns\n"
        "for turn in (lambda: None, take_turns):\n"
        "    turn(); worker = subprocess.Popen(['sleep', '60']); print(worker.pid, flush=True); sys.stdin.readline()\n"
    )
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        before = int(other.stdout.readline())
        unannounced = is_stranger(before)
        other.stdin.write("\n")
        other.stdin.flush()
        after = int(other.stdout.readline())
        announced = [is_stranger(before), is_stranger(after)]
        other.kill()
        other.wait()
        orphaned = is_stranger(after)
        for pid in (before, after):
            os.kill(pid, signal.SIGKILL)

    assert (True, [False, False], True) == (unannounced, announced, orphaned)


def test_a_disturbed_pair_is_taken_again():
    hot = replace(QUIET, reasons=0x20)
    stopwatch = watch()

    assert [False, True, False] == [stopwatch._is_disturbed(each) for each in (QUIET, hot, QUIET)]


def test_a_device_that_is_never_quiet_is_a_broken_machine():
    stopwatch, shared = watch(), replace(QUIET, strangers=(7,))
    for _ in range(3):
        stopwatch._is_disturbed(shared)

    with pytest.raises(MachineError, match="process 7 computes on it, too"):
        stopwatch._is_disturbed(shared)


@pytest.mark.parametrize(("calls", "lengths"), [(40, [20, 10, 5]), (20, [10, 5]), (5, [])])
def test_where_a_device_waits_for_launching_it_gets_more_of_a_lead_and_then_fewer_calls_up_to_a_limit(calls, lengths):
    stopwatch = watch()
    before, seen = stopwatch._lead, []

    def block(late):
        times = np.ones(min(calls, stopwatch._most_calls))
        return Block(times, {}, late=len(times) // 4 + late)

    assert not stopwatch._waited_for_launching(block(0), block(0))
    assert [True] * 2 == [stopwatch._waited_for_launching(block(0), block(1)) for _ in range(2)]
    assert 4 * before == stopwatch._lead
    while stopwatch._waited_for_launching(block(0), block(1)):
        seen.append(stopwatch._most_calls)
    assert lengths == seen
    assert 4 * before == stopwatch._lead


@dataclass
class Side:
    """Stands in for a session; ``seconds`` are what a test takes them for."""

    seconds: float

    def next_question(self, exam):
        return "prepared", None


EXAM = SimpleNamespace(
    pool=SimpleNamespace(workload=SimpleNamespace(name="time-8")), drawn_question=lambda: ("drawn", None)
)


@pytest.mark.parametrize("launching_us", [(20, 30), (100, 100), (150, 300), (500, 200), (600, 900)])
def test_a_kernel_is_as_fast_as_itself_whoever_launches_it_slower(monkeypatch, launching_us):
    """A model of a device, with calls of 16 µs and 60 µs of other work before each, and of two hosts."""
    call_us, other_us = 16.0, 60.0

    def block(host, exam, calls, flush, *, lead, question):
        host_us = 1e6 * host.seconds
        launched, free, taken, late = 0.0, 76.0 * lead, [], 0
        for index in range(calls):
            started = max(free + other_us, launched + 0.8 * host_us)
            launched += host_us
            late += index > 0 and free <= launched
            free = max(started, launched) + call_us
            taken.append(1e-6 * (free - started))
        return Block(np.array(taken), {}, late)

    monkeypatch.setattr(timing, "timed_block", block)
    monkeypatch.setattr(timing, "seconds_of_train", lambda session, exam, claimed_s: None)
    monkeypatch.setattr(timing, "_WARM_UP_S", 0.0)
    hosts = tuple(Side(1e-6 * each_us) for each_us in launching_us)
    stopwatch = DeviceStopwatch(hosts, Precision(min_pairs=4, max_pairs=4), True, lambda: None)
    series = stopwatch.measure(EXAM, 60.0, np.random.default_rng(0))

    assert series.wall_s == pytest.approx(1e-6 * call_us, rel=1e-3)


def test_only_pairs_that_nothing_spoiled_count_and_the_others_are_told(monkeypatch):
    """The first pair is hot; in the third the first of the two was launched late."""
    looks, leads = iter([replace(QUIET, reasons=0x20), *[QUIET] * 5]), []

    def block(side, exam, calls, flush, *, lead, question):
        number, is_late = len(leads) // 2, len(leads) == 4
        leads.append(lead)
        return Block(np.full(calls, 9.0 if number in (0, 2) else side.seconds), {}, calls * is_late)

    monkeypatch.setattr(timing, "timed_block", block)
    monkeypatch.setattr(timing, "seconds_of_train", lambda session, exam, claimed_s: None)
    monkeypatch.setattr(DeviceStopwatch, "_warm_up", lambda stopwatch, exam: [20, 20])
    sides = Side(1.0), Side(2.0)
    stopwatch = DeviceStopwatch(sides, Precision(min_pairs=4, max_pairs=4), True, lambda: next(looks))
    series = stopwatch.measure(EXAM, 60.0, np.random.default_rng(0))

    assert ([1.0] * 4, [2.0] * 4) == (series.wall_s[0].tolist(), series.wall_s[1].tolist())
    assert (2, 2) == (series.repeated, stopwatch.repeated)
    assert [16] * 6 + [32] * 6 == leads


def test_no_more_blocks_are_judged_where_pairs_are_taken_again(monkeypatch):
    """Only so many variants are prepared, and a candidate can have its pairs taken again: it waits for the device."""
    judged, sides = [], (Side(1.0), Side(2.0))

    def block(side, exam, calls, flush, *, lead, question):
        judged.extend([side] * (question is not None))
        return Block(np.ones(calls), {}, late=calls)

    monkeypatch.setattr(timing, "timed_block", block)
    monkeypatch.setattr(timing, "seconds_of_train", lambda session, exam, claimed_s: None)
    monkeypatch.setattr(DeviceStopwatch, "_warm_up", lambda stopwatch, exam: [40, 40])
    stopwatch = DeviceStopwatch(sides, Precision(min_pairs=1, max_pairs=1), True, lambda: None)

    assert 5 == stopwatch.measure(EXAM, 60.0, np.random.default_rng(0)).repeated
    assert list(sides) == judged


@pytest.mark.parametrize("seed", range(4))
def test_pairs_beyond_those_that_are_surely_taken_are_judged_on_data_that_nobody_has_met(monkeypatch, seed):
    """Else a kernel that is noisy for long enough could leave out the work from then on."""
    asked = []

    def block(side, exam, calls, flush, *, lead, question):
        asked.append(question and question[0])
        return Block(np.ones(calls), {})

    monkeypatch.setattr(timing, "timed_block", block)
    monkeypatch.setattr(timing, "seconds_of_train", lambda session, exam, claimed_s: None)
    monkeypatch.setattr(DeviceStopwatch, "_warm_up", lambda stopwatch, exam: [40, 40])
    precision = Precision(min_pairs=4, max_pairs=32, target=-1.0)
    DeviceStopwatch((Side(1.0), Side(1.0)), precision, True).measure(EXAM, 60.0, np.random.default_rng(seed))
    judged = [(pair, each) for pair, each in enumerate(asked[::2]) if each]

    assert asked[::2] == asked[1::2]
    assert 1 <= sum(each == "prepared" for _, each in judged) <= 2
    assert all((pair < 4) == (each == "prepared") for pair, each in judged)
    assert [2, 3, 4] == [pair.bit_length() - 1 for pair, each in judged if each == "drawn"]


def test_how_many_calls_a_block_has_is_told_by_those_that_were_not_launched_late(monkeypatch):
    """Who wakes up launches late, and one call then seems to take as long as ten."""

    def block(side, exam, calls, flush, *, lead, question):
        side_s = side.seconds
        return Block(np.array([10 * side_s] * (calls == 2) + [side_s] * (calls - (calls == 2))), {}, int(calls == 2))

    monkeypatch.setattr(timing, "timed_block", block)
    monkeypatch.setattr(timing, "_WARM_UP_S", 0.0)
    stopwatch = DeviceStopwatch((Side(100e-6), Side(1e-3)), Precision(), True)

    assert [20, 3] == stopwatch._warm_up(EXAM)
    assert timing._LEAD == stopwatch._lead


def test_a_kernels_first_block_does_not_tell_how_much_of_a_lead_launching_needs(monkeypatch):
    blocks = []

    def block(side, exam, calls, flush, *, lead, question):
        blocks.append((side, calls, lead))
        is_first = [each[:2] for each in blocks].count((side, calls)) == 1
        return Block(np.full(calls, side.seconds), {}, calls * is_first)

    monkeypatch.setattr(timing, "timed_block", block)
    clock = itertools.count()
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: 0.01 * next(clock)))
    stopwatch = DeviceStopwatch((Side(1e-4), Side(2e-4)), Precision(), True)

    assert [20, 10] == stopwatch._warm_up(EXAM)
    assert [2, 2, 20, 10, 20, 10] == [calls for _, calls, _ in blocks]
    assert timing._LEAD == stopwatch._lead


def test_the_summary_is_one_sentence():
    seen = [QUIET, replace(QUIET, sm_clock_mhz=1755.0, temperature_c=61.0)]

    assert ("Meanwhile its clock was 1755 to 1980 MHz at up to 61 °C, 2 pairs repeated.",) == summary(seen, 2)
    assert () == summary([], 0)


def test_workers_see_one_gpu_by_the_number_that_the_system_uses(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    variables = Nvidia(devices=(0, 3)).environment(1)

    assert ("PCI_BUS_ID", "3") == (variables["CUDA_DEVICE_ORDER"], variables["CUDA_VISIBLE_DEVICES"])


def test_a_slot_without_a_gpu_says_what_to_change(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(TargetUnavailable, match=r"executor.devices has 1, but target.devices names 1 GPU\(s\)"):
        Nvidia().environment(1)
