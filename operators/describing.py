"""Evaluations, tasks and machines in words, for prompts."""

from __future__ import annotations

from collections.abc import Mapping

from fitness import Evaluation, Status, Task

_VERDICTS: Mapping[Status, str] = {
    Status.OK: "it is correct",
    Status.REJECTED: "it was refused before building",
    Status.BUILD_FAILED: "the compiler refuses it",
    Status.BUILD_TIMEOUT: "the compiler did not finish in time",
    Status.CRASHED: "it crashes when it runs",
    Status.NO_RESULT: "it ends without delivering an output",
    Status.OUT_OF_MEMORY: "it runs out of memory",
    Status.RUN_TIMEOUT: "it does not finish in time",
    Status.WRONG_SHAPE: "its output has the wrong shape or type",
    Status.WRONG_VALUE: "its output is wrong",
    Status.UNREPEATABLE: "two calls on equal inputs give different outputs",
    Status.TAMPERED: "it changes its inputs or writes outside of its output",
    Status.SUSPECT: "its measured time cannot be true",
}


def verdict(evaluation: Evaluation) -> str:
    """Returns the status as a clause, e.g. ``"the compiler refuses it"``."""
    error = evaluation.max_rel_error
    off = f" (largest error, relative to the largest value: {error:.1e})" if error and not evaluation.ok else ""
    return _VERDICTS[evaluation.status] + off


def timing(evaluation: Evaluation) -> str:
    """Returns status, latency and speedup in one sentence."""
    if evaluation.latency_us is None or evaluation.speedup is None:
        return f"Status: {verdict(evaluation)}."
    return f"Time: {evaluation.latency_us:.1f} µs, {evaluation.speedup:.2f} times as fast as the starting kernel."


def profile(evaluation: Evaluation, task: Task) -> str:
    """Returns the evaluation's own paragraph; without one, achieved rates by workload and static metrics."""
    if evaluation.profile:
        return evaluation.profile
    workloads = {workload.name: workload for workload in task.time_workloads}
    lines = []
    for measurement in evaluation.measurements:
        workload = workloads.get(measurement.workload)
        if workload is None:
            continue
        cost = task.cost(workload)
        sizes = ", ".join(f"{axis}={size}" for axis, size in workload.axes.items())
        bytes_per_ns, flops_per_ns = (each / measurement.latency_us / 1e3 for each in (cost.bytes, cost.flops))
        rates = f"{bytes_per_ns:.1f} GB/s, {flops_per_ns:.1f} GFLOP/s"
        lines.append(f"- {sizes}: {measurement.latency_us:.1f} µs, {rates} of useful work")
    lines += [f"- {name}: {value:g}" for name, value in sorted(evaluation.static.items())]
    return "\n".join(lines)


def sizes(task: Task) -> str:
    """Returns the timed sizes in one line."""
    return "; ".join(
        ", ".join(f"{axis}={size}" for axis, size in workload.axes.items()) for workload in task.time_workloads
    )
