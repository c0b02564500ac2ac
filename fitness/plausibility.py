"""Times that cannot be true."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .evaluation import Calibration, Measurement, Status
from .session import Failed
from .task import Task

_MARGIN = 1.25
"""A latency may lie this factor below the bound: peaks are measured too, and clocks move."""
_IDLE_SHARE = 0.02
_IDLE_S_PER_TRIP = 40e-6


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


def check_idleness(idle_s: float, busy_s: float, trips: int) -> None:
    """A kernel has nothing to do between its answer and the next question.

    Args:
        idle_s: CPU time that its process used then.
        busy_s: Wall time of its calls.
        trips: How often it was asked.

    Raises:
        Failed: It answered before it was done, or looked at data ahead of time, or hindered its rival.
    """
    if idle_s > _IDLE_SHARE * busy_s + _IDLE_S_PER_TRIP * trips:
        text = f"it computed for {idle_s * 1e3:.3g} ms while nothing was asked of it (in calls: {busy_s * 1e3:.3g} ms)"
        raise Failed(Status.SUSPECT, text)
