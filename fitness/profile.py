"""Where a kernel stands against what its machine can do, in one paragraph of plain text.

Made of what was measured (times, the machine's peaks), what the task must do at least (`Cost`) and what the
binary tells (`Evaluation.static`). The paragraph is stored with the evaluation, shown in reports, and is an
ingredient of prompts (the *P* of KernelBench: Ouyang et al. 2025, https://arxiv.org/abs/2502.10517).

The bound is the roofline of Williams et al. 2009, https://doi.org/10.1145/1498765.1498785: a kernel takes at least
the larger of bytes / bandwidth and operations / arithmetic peak.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .evaluation import Calibration, Measurement
from .task import Cost, Task

_NEAR = 0.6
"""From this share of the roofline on, the resource that sets it is called the limit."""

_FAMILIES = {
    "instructions_tensor": "tensor core",
    "instructions_matrix": "matrix core",
    "instructions_packed_float": "packed floating-point",
    "instructions_scalar_float": "scalar floating-point",
    "instructions_fused": "fused multiply-add",
    "instructions_float": "floating-point",
    "instructions_vector": "vector",
    "instructions_special": "special function",
    "instructions_memory": "with a memory operand",
    "instructions_global_load": "global load",
    "instructions_global_store": "global store",
    "instructions_shared": "shared memory",
    "instructions_local": "local memory (spills)",
    "instructions_scratch": "scratch memory (spills)",
    "instructions_barrier": "barrier",
    "instructions_branch": "branch",
    "instructions_call": "call",
}


def paragraph(
    task: Task,
    measurements: Sequence[Measurement],
    calibration: Calibration,
    static: Mapping[str, float],
    observed: Sequence[str] = (),
) -> str:
    """Returns the paragraph, or an empty text where nothing is known.

    Args:
        task: Says what each workload must move and compute at least.
        measurements: One for each timed workload.
        calibration: Has the machine's measured peaks; without them, only rates are told.
        static: Metrics of the binary.
        observed: Sentences on what was seen while it was timed.
    """
    workloads = {workload.name: workload for workload in task.time_workloads}
    sentences: list[str] = []
    for each in measurements:
        sizes = ", ".join(f"{axis}={size}" for axis, size in workloads[each.workload].axes.items())
        sentences.append(_position(sizes, task.cost(workloads[each.workload]), each.latency_us, calibration))
    return " ".join([*sentences, *observed, *_binary(static)])


def _position(sizes: str, cost: Cost, latency_us: float, calibration: Calibration) -> str:
    """Returns the place of one workload under the roofline."""
    rates = (
        f"{cost.bytes / latency_us / 1e3:.4g} GB/s and {cost.flops / latency_us / 1e3:.4g} GFLOP/s of necessary work"
    )
    text = f"At {sizes} it takes {latency_us:.4g} µs, which is {rates}."
    bounds_us = {}
    if calibration.bytes_per_s:
        bounds_us["memory bandwidth"] = 1e6 * cost.bytes / calibration.bytes_per_s
    if calibration.flops_per_s:
        bounds_us["arithmetic"] = 1e6 * cost.flops / calibration.flops_per_s
    if not bounds_us or not max(bounds_us.values()):
        return text
    limit, least_us = max(bounds_us.items(), key=lambda pair: pair[1])
    share = least_us / latency_us
    text += f" {limit.capitalize()} alone would allow {least_us:.4g} µs: it reaches {share:.0%} of the roofline"
    if share >= _NEAR:
        return f"{text}, and {limit} is the limiting resource."
    return f"{text}. Neither bandwidth nor arithmetic is used up: it waits, repeats work, or leaves units idle."


def _binary(static: Mapping[str, float]) -> list[str]:
    """Returns what the binary tells, in at most two sentences."""
    resources = _resources(static)
    sentences = [f"The binary uses {', '.join(resources)}."] if resources else []
    total = static.get("instructions_total", 0.0)
    found = [(static[name], words) for name, words in _FAMILIES.items() if static.get(name)]
    if total and found:
        mix = ", ".join(f"{count:g} {words}" for count, words in sorted(found, reverse=True)[:6])
        width = f" (vectors of {static['vector_bits']:g} bits)" if static.get("vector_bits") else ""
        sentences.append(f"Of its {total:g} instructions these are most: {mix}{width}.")
    return sentences


def _resources(static: Mapping[str, float]) -> list[str]:
    parts = [
        f"{static[name]:g} {words}"
        for name, words in (
            ("registers", "registers a thread"),
            ("vgprs", "vector registers"),
            ("agprs", "accumulation registers"),
            ("sgprs", "scalar registers"),
        )
        if name in static
    ]
    if parts:
        spilled = ("stack_bytes", "spill_store_bytes", "vgpr_spills", "scratch_bytes")
        parts.append("spills" if any(static.get(name) for name in spilled) else "no spills")
    if static.get("shared_bytes"):
        parts.append(f"{static['shared_bytes'] / 1024:.4g} KiB of shared memory a block")
    if "occupancy" in static:
        parts.append(f"an occupancy of {static['occupancy']:.0%}")
    if "occupancy_waves" in static:
        parts.append(f"an occupancy of {static['occupancy_waves']:g} waves")
    return parts
