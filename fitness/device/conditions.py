"""What state a GPU is in while something is timed on it, and which samples that spoils."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cache import Cache

_EXPECTED: set[int] = set()
_OURS: set[tuple[int, str]] = set()  # descendants of this process, by number and start: asked at every pair
_MOST_OURS = 4096
_PARENT, _START = 1, 19  # proc(5), counted behind the name
_SLOWDOWNS = {0x8: "hardware slowdown", 0x20: "too hot", 0x40: "too hot (hardware)", 0x80: "power brake"}
"""Reasons of NVML for low clocks that spoil a sample. A power cap (0x4) does not: it is how a busy GPU runs."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """A GPU at one moment.

    Attributes:
        sm_clock_mhz: Of its multiprocessors.
        temperature_c: Of the chip.
        power_w: That it draws.
        reasons: Bits of NVML that say why clocks are not higher.
        strangers: Processes that compute on it, were not expected there (`expect_there`), and were started neither by
            this one nor by another evaluator: evaluators of one user time in turns, and what they do beside that
            disturbs no more than one's own.
    """

    sm_clock_mhz: float
    temperature_c: float
    power_w: float
    reasons: int
    strangers: tuple[int, ...]

    @property
    def disturbance(self) -> str:
        """Why a sample that was taken now is worth nothing; empty where nothing disturbs."""
        found = [name for bit, name in _SLOWDOWNS.items() if self.reasons & bit]
        if self.strangers:
            found.append(f"process {', '.join(map(str, self.strangers))} computes on it, too")
        return "; ".join(found)


def summary(seen: Sequence[Conditions], repeated: int) -> tuple[str, ...]:
    """Returns a sentence on the conditions of a measurement; none where nobody looked."""
    if not seen:
        return ()
    clocks = [each.sm_clock_mhz for each in seen]
    hottest = max(each.temperature_c for each in seen)
    again = f", {repeated} pair{'s' * (repeated != 1)} repeated" if repeated else ""
    return (f"Meanwhile its clock was {min(clocks):g} to {max(clocks):g} MHz at up to {hottest:g} °C{again}.",)


def expect_there(place: str) -> tuple[int, ...]:
    """Takes strangers that compute on a GPU now for none from now on: the model's server, which takes turns.

    Returns:
        Their process ids.
    """
    seen = nvml_conditions(place)
    strangers = seen.strangers if seen is not None else ()
    _EXPECTED.update(strangers)
    return strangers


def nvml_conditions(place: str) -> Conditions | None:
    """Looks at a GPU of this machine by number or UUID; None without nvidia-ml-py or its library."""
    nvml = _nvml()
    if nvml is None:
        return None
    try:
        by = nvml.nvmlDeviceGetHandleByIndex if place.isdigit() else nvml.nvmlDeviceGetHandleByUUID
        handle = by(int(place) if place.isdigit() else place)
        running = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return Conditions(
            sm_clock_mhz=float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            temperature_c=float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            reasons=int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
            strangers=tuple(sorted(each.pid for each in running if is_stranger(each.pid))),
        )
    except nvml.NVMLError:  # a virtual GPU may not tell everything
        return None


@functools.cache
def _nvml() -> Any:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


@functools.cache
def take_turns() -> int:
    """Shows other evaluators on this machine that this process times in turns with them, until it ends."""
    return Cache().show()


def is_stranger(pid: int) -> bool:
    """Whether a process of this machine is not expected and descends from no evaluator; who is not seen does not count.

    In a container, NVML tells process ids of the host, which mean nothing here.
    """
    started = _fact(pid, _START)
    if not started or (pid, started) in _OURS:
        return False
    cache, each = Cache(), pid
    while each > 0:
        if each == os.getpid():
            if len(_OURS) >= _MOST_OURS:
                _OURS.clear()
            _OURS.add((pid, started))
            return False
        if each in _EXPECTED or cache.shows(each):
            return False
        each = int(_fact(each, _PARENT) or 0)
    return True


def _fact(pid: int, place: int) -> str:
    """Returns one of the facts about a process that stand behind its name; empty where it is not seen."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[place]
    except (OSError, IndexError):
        return ""
