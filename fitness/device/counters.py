"""What a GPU's hardware counters tell of one call, by Nsight Compute's command line, in two sentences.

ncu starts the candidate's process, so both are in the sandbox, and what comes out is a file that a candidate could
have written: it is read with bounds, its names are cleaned, and nothing decides by it. Kernels are replayed for
groups of counters, so nothing is timed meanwhile and the clocks are left as they are.

Names of metrics: Nsight Compute, *Kernel Profiling Guide*, https://docs.nvidia.com/nsight-compute/ProfilingGuide/.
They differ between architectures and versions, and ncu refuses all for one that it does not know: it is asked first.
"""

from __future__ import annotations

import csv
import json
import logging
import math
import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..cell import Completed
from ..disk import Scratch, read_plain
from ..errors import SandboxError
from ..evaluation import JSON
from ..logs import plain
from ..sandbox import Sandbox
from ..session import Artifact
from ..task import Task
from .process import Arrays
from .profiler import cleaned
from .session import load_message
from .start import candidate_limits, scratch_cell

_LOG = logging.getLogger("kernelwright.fitness")
_WORKER = Path(__file__).resolve().parent.parent / "workers" / "counted.py"
_TABLE, _LISTING = "counters.csv", "metrics.txt"
_MOST_BYTES, _MOST_LAUNCHES = 1 << 22, 32

METRICS: Mapping[str, tuple[str, ...]] = {
    "duration": ("gpu__time_duration.sum",),
    "DRAM": (
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "multiprocessors": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "tensor cores": (
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
    ),
    "L1 hits": ("l1tex__t_sector_hit_rate.pct",),
    "L2 hits": ("lts__t_sector_hit_rate.pct",),
    "achieved occupancy": (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__warps_active.avg.pct_of_peak_sustained_active",
    ),
    "sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
}
"""What is asked for, each under the names that it may have; the first that ncu knows is taken."""

_BUSY = ("DRAM", "multiprocessors", "tensor cores")
_SHARES = ("L1 hits", "L2 hits", "achieved occupancy")

STALLS: Mapping[str, str] = {
    "long_scoreboard": "data from global memory or the caches",
    "short_scoreboard": "shared memory or special functions",
    "barrier": "other warps at a barrier",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "mio_throttle": "a full queue of shared memory instructions",
    "lg_throttle": "a full queue of global memory instructions",
    "tex_throttle": "a full queue of texture instructions",
    "wait": "the fixed latency of their own instructions",
    "not_selected": "other warps that are as ready",
    "no_instruction": "instructions to be fetched",
    "branch_resolving": "a branch",
    "dispatch_stall": "the dispatcher",
    "drain": "stores to be written",
    "membar": "a memory fence",
    "imc_miss": "constants to be fetched",
    "gmma": "the tensor cores",
    "sleeping": "the end of a sleep",
}
"""What a warp waits for that issues nothing, by the middle of the metric's name."""


def stall_metric(reason: str) -> str:
    """Returns the metric that tells how many warps wait for ``reason`` at an issued instruction."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def wanted(known: frozenset[str]) -> tuple[str, ...]:
    """Returns the metrics to ask for, where ncu knows the base names ``known``; empty where it did not say."""

    def is_known(metric: str) -> bool:
        return not known or metric.partition(".")[0] in known

    alternatives = (*METRICS.values(), *((stall_metric(reason),) for reason in STALLS))
    found = [next(filter(is_known, names), None) for names in alternatives]
    return tuple(name for name in found if name is not None)


class Counters:
    """Counts single calls of candidates, each in a confined process of its own that ncu starts.

    Args:
        sandbox: Confines it.
        tool: Path of ncu.
        devices: Device files and folders of the driver.
        timeout_s: Wall clock of one count, with the start of the process and its compilers.
    """

    def __init__(self, sandbox: Sandbox, tool: str, devices: Sequence[Path], timeout_s: float) -> None:
        """Starts nothing yet."""
        self._sandbox, self._tool, self._devices, self._timeout_s = sandbox, tool, devices, timeout_s
        self._probing = threading.Lock()
        self._metrics: tuple[str, ...] | None = None

    def count(
        self, artifact: Artifact, task: Task, inputs: Arrays, axes: Mapping[str, int], environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Returns sentences on one call; none where ncu may not read counters, or the kernel ends without a count.

        Raises:
            SandboxError: The process cannot be confined.
        """
        metrics = self._probed(environment)
        if not metrics:
            return ()
        with Scratch() as folder:
            scratch = Path(folder)
            (scratch / artifact.path.name).write_bytes(artifact.path.read_bytes())
            for number, array in enumerate(inputs.values()):
                np.save(scratch / f"{number}.npy", array, allow_pickle=False)
            manifest = {**load_message(task, artifact), "sizes": dict(axes), "inputs": len(inputs)}
            _, text = self._run(scratch, manifest, metrics, environment)
        return sentences(text)

    def _probed(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Returns the metrics that can be counted here, as an addition of torch's shows; finds out once."""
        with self._probing:
            if self._metrics is None:
                self._metrics, why = self._probe(environment)
                if why:
                    _LOG.warning("no hardware counters, for %s cannot read any: %s", self._tool, why)
            return self._metrics

    def _probe(self, environment: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
        with Scratch() as folder:
            scratch = Path(folder)
            try:
                ask = ("/bin/sh", "-c", f'"$0" --query-metrics > {_LISTING}', self._tool)
                self._started(scratch, ask, environment)
                metrics = wanted(known_metrics(_text(scratch / _LISTING)))
                done, text = self._run(scratch, {}, metrics, environment)
            except SandboxError as error:
                return (), str(error)
        if read_table(text):
            return metrics, ""
        return (), reason(f"{text}\n{done.log}")

    def _run(
        self, scratch: Path, manifest: JSON, metrics: Sequence[str], environment: Mapping[str, str]
    ) -> tuple[Completed, str]:
        """Runs ncu and, under it, the worker; returns how that ended and what ncu wrote."""
        (scratch / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        program = (sys.executable, "-I", "-B", str(_WORKER), "manifest.json")
        done = self._started(scratch, (self._tool, *_options(metrics), *program), environment)
        return done, _text(scratch / _TABLE)

    def _started(self, scratch: Path, command: Sequence[str], environment: Mapping[str, str]) -> Completed:
        scratch.chmod(0o777)  # the sandbox's user is another one
        own = {
            "NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE": "uds",  # local sockets are all that the sandbox allows
            "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1",
        }
        reads = (*self._devices, *_installation(self._tool))
        cell = scratch_cell(self._sandbox, reads, {**own, **environment}, scratch)
        return self._sandbox.run(command, cell, candidate_limits(self._timeout_s), {"local_sockets": 1})


def _options(metrics: Sequence[str]) -> tuple[str, ...]:
    """Returns ncu's arguments: the calls between the profiler's start and stop, at the clocks as they are."""
    choices = {
        "--target-processes": "application-only",
        "--profile-from-start": "off",
        "--replay-mode": "kernel",
        "--clock-control": "none",
        "--cache-control": "all",
        "--launch-count": str(_MOST_LAUNCHES),
        "--metrics": ",".join(metrics),
        "--page": "raw",
        "--print-units": "base",
        "--log-file": _TABLE,
    }
    return ("--csv", *(part for pair in choices.items() for part in pair))


def _installation(tool: str) -> tuple[Path, ...]:
    """Returns the folders that ncu needs beside the system's: its own, behind the links and scripts that lead there."""
    places = {Path(tool).parent, Path(os.path.realpath(tool)).parent, Path("/opt/nvidia")}
    return tuple(sorted(place for place in places if place.is_dir() and place not in {Path("/usr/bin"), Path("/bin")}))


# ---- reading ----------------------------------------------------------------------------------------------


def known_metrics(listing: str) -> frozenset[str]:
    """Returns the base names in ncu's listing of metrics; none where it is no such listing."""
    return frozenset(re.findall(r"^([a-z0-9]+__[a-z0-9_]+)", listing, re.MULTILINE))


def read_table(text: str) -> list[dict[str, str]]:
    """Returns the launches in ncu's table of raw values, column by column; none where it is no such table.

    Lines before the header are ncu's messages; the line after it has the units, which are base units here.
    """
    lines = text[:_MOST_BYTES].splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID",')), len(lines))
    try:
        rows = list(csv.reader(lines[begin : begin + 2 + _MOST_LAUNCHES], strict=True))
    except csv.Error:
        return []
    header = rows[0] if rows else []
    return [dict(zip(header, row, strict=True)) for row in rows[2:] if len(row) == len(header)]


def sentences(text: str) -> tuple[str, ...]:
    """Returns what ncu's table tells of the longest launch of a call, in at most two sentences."""
    launches = [(cleaned(row.get("Kernel Name", "")), _numbers(row)) for row in read_table(text)]
    timed = [(name, found) for name, found in launches if found.get("duration", 0.0) > 0]
    if not timed:
        return ()
    name, found = max(timed, key=lambda each: each[1]["duration"])
    share = found["duration"] / sum(each["duration"] for _, each in timed)
    whose = f"the longest of {len(timed)} launches, {name} ({share:.0%} of their time)" if len(timed) > 1 else name
    parts = [f"{key} at {found[key]:.0f}% of peak" for key in _BUSY if key in found]
    parts += [f"{found[key]:.0f}% {key}" for key in _SHARES if key in found]
    if found.get("requests", 0.0) > 0 and "sectors" in found:
        parts.append(f"{found['sectors'] / found['requests']:.3g} sectors of 32 bytes a global load")
    told = (f"Hardware counters of {whose}: {', '.join(parts)}." if parts else "", _waiting(found))
    return tuple(sentence for sentence in told if sentence)


def _waiting(found: Mapping[str, float]) -> str:
    """Returns what warps wait for most; empty where that is not known."""
    stalls = {reason: found[reason] for reason in STALLS if found.get(reason, 0.0) > 0}
    if not stalls:
        return ""
    top = max(stalls, key=lambda each: stalls[each])
    return f"Its warps wait most for {STALLS[top]} ({top}, {stalls[top] / sum(stalls.values()):.0%} of their waiting)."


def _numbers(row: Mapping[str, str]) -> dict[str, float]:
    """Returns the values of a launch under our words; what is no possible value is left out."""
    found: dict[str, float] = {}
    names = {**METRICS, **{reason: (stall_metric(reason),) for reason in STALLS}}
    for word, metrics in names.items():
        for metric in metrics:
            with suppress(KeyError, ValueError):
                value = float(row[metric].replace(",", ""))
                most = 110.0 if ".pct" in metric else 1e18
                if math.isfinite(value) and 0 <= value <= most:
                    found.setdefault(word, value)
    return found


def reason(log: str) -> str:
    """Returns why there are no counters, in one line: ncu's own words, else the last ones."""
    lines = [line.strip() for line in plain(log).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("==ERROR==")]
    return (errors or lines[-1:] or ["it says nothing"])[0].removeprefix("==ERROR==").strip()[:300]


def _text(path: Path) -> str:
    """Reads a file that a candidate may have turned into anything; empty where it is no plain file."""
    try:
        return read_plain(path, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
