"""Times that cannot be true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from .evaluation import Calibration, Measurement, Status
from .session import Failed
from .statistics import FloatArray
from .task import Task

_MARGIN = 1.25
"""A latency may lie this factor below the bound: peaks are measured too, and clocks move."""
_IDLE_SHARE = 0.02
_IDLE_S_PER_TRIP = 40e-6
_DISTURBED_SHARE = 0.1
"""Samples that may have been disturbed: what interrupts a process on its processor is on its clock, too."""


def check_roofline(task: Task, measurements: Sequence[Measurement], calibration: Calibration) -> None:
    """Compares measured times with what this machine can do at most.

    Raises:
        Failed: One is below what moving the bytes or doing the arithmetic takes.
    """
    workloads = {workload.name: workload for workload in task.time_workloads}
    for measurement in measurements:
        cost = task.cost(workloads[measurement.workload])
        bounds_us = [1e6 * cost.bytes / calibration.bytes_per_s] if calibration.bytes_per_s else []
        bounds_us += [1e6 * cost.flops / calibration.flops_per_s] if calibration.flops_per_s else []
        least_us = max(bounds_us, default=0.0) / _MARGIN
        found_us = median(measurement.samples_us)
        if found_us < least_us:
            text = f"{measurement.workload}: {found_us:.3g} us, but this machine needs {least_us:.3g} us"
            raise Failed(Status.SUSPECT, text)


def check_idleness(idle_s: FloatArray, busy_s: FloatArray, trips: int) -> None:
    """A kernel has nothing to do between its answer and the next question.

    Of three samples or more, a tenth is left out, and one at least: the median of their times does not gain by so few.
    So they are those of one workload, or all that is left out might be in one.

    Args:
        idle_s: ``(samples,)`` CPU time that its process used then.
        busy_s: ``(samples,)`` wall time of its calls.
        trips: How often it was asked in a sample.

    Raises:
        Failed: It answered before it was done, or looked at data ahead of time, or hindered its rival.
    """
    excess_s = idle_s - _IDLE_SHARE * busy_s - _IDLE_S_PER_TRIP * trips
    disturbed = math.ceil(_DISTURBED_SHARE * len(excess_s)) if len(excess_s) > 2 else 0
    if np.sort(excess_s)[: len(excess_s) - disturbed].sum() > 0:
        idle_ms, busy_ms = 1e3 * idle_s.sum(), 1e3 * busy_s.sum()
        text = f"it computed for {idle_ms:.3g} ms while nothing was asked of it (in calls: {busy_ms:.3g} ms)"
        raise Failed(Status.SUSPECT, text)
