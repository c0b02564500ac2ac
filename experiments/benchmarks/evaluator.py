"""How true the evaluator's times are, and what an evaluation costs.

Run: python -m experiments.benchmarks.evaluator [--only accuracy,null,cost,hostile] [--json OUT]

Every figure is a ratio or a count from this run on this machine; the load average stands beside it. Known ratios come
from kernels that do the same work 10 and 11 times. "Busy" means one other process that computes all the time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fitness import Cost, Evaluator, Kernel, TensorSpec, Workload
from fitness.cell import Cell, Limits
from fitness.compiler import find_compiler
from fitness.executors import Local
from fitness.languages import Cpp
from fitness.sandbox import find_sandbox
from fitness.targets import Cpu
from fitness.tasks import Matmul, Softmax

from .. import faults
from ..records import write_json

RATIO = 1.1
# One chain of dependent operations over the whole call, because chains that restart overlap at their ends; and many
# passes over one buffer, because the first is slower than the others. Both would spoil the known ratio.
COMPUTE = """\
extern "C" void kernel(const float* x, float* y, long N) {{
    float v = x[0];
    for (long i = 0; i < N; i++) {{
        for (long k = 0; k < {work}00; k++) {{ v = v * 0.999f + 0.001f; asm volatile("" : "+x"(v)); }}
        y[i] = 2.0f * x[i] + 0.0f * v;
    }}
}}
"""
STREAMING = """\
static float stream[1L << 20];
extern "C" void kernel(const float* x, float* y, long N) {{
    for (long pass = 0; pass < {work} * 4; pass++) {{
        for (long i = 0; i < 1L << 20; i++) stream[i] = 0.5f * stream[i] + 1.0f;
        asm volatile("" : : : "memory");
    }}
    for (long i = 0; i < N; i++) y[i] = 2.0f * x[i];
}}
"""
HEAD = 'extern "C" void kernel(const float* x, float* y, long M, long N) '
HOSTILE = (
    HEAD + "{ *(volatile int*)0 = 1; }",
    HEAD + "{ ((float*)x)[0] = 1; }",
    HEAD + "{ y[M * N] = 1; }",
    "#include <cstdlib>\n" + HEAD + "{ exit(0); }",
    "#include <unistd.h>\n" + HEAD + "{ for (int i = 0; i < 100; i++) fork(); }",
    "#include <cstdio>\n" + HEAD + '{ for (int i = 0; i < 9999; i++) puts("a flood of output, line after line"); }',
    "#include <thread>\n" + HEAD + "{ for (int i = 0; i < 20; i++) std::thread([] { for (;;) {} }).detach(); }",
    "#include <fcntl.h>\n#include <unistd.h>\n" + HEAD + '{ write(open("left", O_CREAT | O_WRONLY, 0600), "x", 1); }',
    "#include <csignal>\n" + HEAD + "{ kill(-1, SIGKILL); raise(SIGKILL); }",
    '#include "/etc/passwd"\n' + HEAD + "{}",
)


@dataclass(frozen=True)
class Twice:
    """y = 2 x, for kernels that waste a known amount of work."""

    seed: str
    length: int
    name: str = "twice"
    description: str = "y[i] = 2 x[i]."
    axes: tuple[str, ...] = ("N",)
    repeatable: bool = True
    inputs: Mapping[str, TensorSpec] = field(default_factory=lambda: {"x": TensorSpec("float32", ("N",))})
    outputs: Mapping[str, TensorSpec] = field(default_factory=lambda: {"y": TensorSpec("float32", ("N",))})
    check_workloads: Sequence[Workload] = (Workload("check", {"N": 97}),)

    @property
    def time_workloads(self) -> Sequence[Workload]:
        """The one length that is timed."""
        return (Workload("time", {"N": self.length}),)

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, Any]:
        """Normal numbers."""
        return {"x": rng.standard_normal(workload.axes["N"]).astype(np.float32)}

    def reference(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """In float64."""
        return {"y": 2.0 * inputs["x"].astype(np.float64)}

    def tolerance(self, inputs: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
        """Doubling is exact."""
        return {"y": np.zeros(expected["y"].shape)}

    def cost(self, workload: Workload) -> Cost:
        """One multiplication an element."""
        return Cost(flops=workload.axes["N"], bytes=8.0 * workload.axes["N"])

    def hidden_workloads(self, rng: np.random.Generator) -> Sequence[Workload]:
        """None: this is no search."""
        return ()

    def seed_kernel(self, language: str) -> Kernel:
        """The kernel that wastes more."""
        return Kernel(self.seed, language)


@contextmanager
def one_busy_process() -> Iterator[None]:
    """Keeps one processor busy, as a neighbour would."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def accuracy(repeats: int) -> list[dict[str, Any]]:
    """Error of the measured ratio against a known one."""
    rows = []
    for kind, source, length in (("compute", COMPUTE, 400), ("streaming", STREAMING, 400)):
        light, heavy = (Kernel(source.format(work=work), "cpp") for work in (10, 11))
        evaluator = Evaluator(Twice(heavy.source, length), Cpu(), Cpp(), max_pairs=60, time_limit_s=1.0)
        calibration = evaluator.calibrate()
        for state, neighbour in (("as it is", nullcontext), ("one more busy", one_busy_process)):
            with neighbour():
                found = [evaluator.duel(light, heavy, calibration) for _ in range(repeats)]
            errors = [abs(duel.speedup / RATIO - 1.0) for duel in found]
            inside = sum(duel.interval[0] <= RATIO <= duel.interval[1] for duel in found)
            row = {"kernel": kind, "machine": state, "mean_error": float(np.mean(errors)), "max_error": max(errors)}
            pairs = float(np.mean([len(duel.measurements[0].samples_us) for duel in found]))
            rows.append({**row, "interval_holds_truth": inside / repeats, "pairs": pairs, "repeats": repeats})
    return rows


def null(repeats: int) -> list[dict[str, Any]]:
    """How often a kernel is declared different from its own copy."""
    evaluator = Evaluator(Softmax(), Cpu(), Cpp(), max_pairs=60, time_limit_s=1.0)
    calibration = evaluator.calibrate()
    seed = evaluator.task.seed_kernel("cpp")
    copy = Kernel(seed.source + "\n// a copy\n", "cpp")
    duels = [evaluator.duel(copy, seed, calibration) for _ in range(repeats)]
    lost = sum(duel.interval[1] < 1.0 - duel.noise_floor for duel in duels)
    row = {"null_duels": repeats, "declared_faster": sum(duel.won for duel in duels), "declared_slower": lost}
    speedups = [duel.speedup for duel in duels]
    return [{**row, "noise_floor": calibration.noise_floor, "spread": float(np.std(speedups))}]


def cost(candidates: int) -> list[dict[str, Any]]:
    """Isolation of the four processes of a candidate, throughput with 2 workers, and cost in units of the floor.

    Every candidate is new and has 20 timed calls a workload. The floor is a bare build with a precompiled header,
    three starts of a program, and the timed calls themselves. CPU ratios hold on a busy machine, too.
    """
    rows = [isolation(candidates)]
    for make in (Softmax, Matmul):
        quick: dict[str, Any] = {"min_pairs": 20, "max_pairs": 20, "sample_s": 1e-6, "time_limit_s": 5.0}
        evaluator = Evaluator(make(), Cpu(), Cpp(), null_every=0, **quick)
        calibration = evaluator.calibrate()
        rows.append(_throughput(evaluator, calibration, candidates))
        rows.append(_against_floor(evaluator, calibration, candidates))
    return rows


def isolation(repeats: int) -> dict[str, Any]:
    """What sandboxes add to the four processes of a candidate."""
    sandbox, cell = find_sandbox(find_compiler()), Cell(has_system=True)
    confined, plain = [], []
    for _ in range(repeats):
        confined.append(_seconds(lambda: sandbox.run(("/bin/true",), cell, Limits(10.0, 5, 1 << 30))))
        plain.append(_seconds(lambda: subprocess.run(["/bin/true"], check=True)))
    added = 4 * (np.median(confined, axis=0) - np.median(plain, axis=0))
    row = {"what": f"isolation ({sandbox.mechanism})"}
    return {**row, "added_wall_ms": 1e3 * float(added[0]), "added_cpu_ms": 1e3 * float(added[1])}


def _throughput(evaluator: Evaluator, calibration: Any, candidates: int) -> dict[str, Any]:
    kernels = _copies(evaluator, candidates)
    with Local(2) as executor:
        start = time.monotonic()
        futures = [executor.submit(evaluator.evaluate, kernel, calibration) for kernel in kernels]
        wait(futures)
        rate = candidates / (time.monotonic() - start)
    return {"what": f"{evaluator.task.name}: throughput", "per_s": rate}


def _against_floor(evaluator: Evaluator, calibration: Any, candidates: int) -> dict[str, Any]:
    ours, floors = [], []
    for kernel in _copies(evaluator, candidates // 2):
        evaluations: list[Any] = []
        ours.append(_seconds(lambda: evaluations.append(evaluator.evaluate(kernel, calibration))))  # noqa: B023 - runs now
        calls_s = sum(
            1e-6 * each.calls_per_sample * (sum(each.samples_us) + sum(each.reference_samples_us))
            for each in evaluations[0].measurements
        )
        start = _seconds(lambda: subprocess.run(["/bin/true"], check=True))
        floors.append(_bare_build_s(kernel) + 3 * start + calls_s)
    ratios = np.median(np.array(ours) / np.array(floors), axis=0)
    row: dict[str, Any] = {"what": f"{evaluator.task.name}: cost / floor"}
    candidate, floor = np.median(ours, axis=0), np.median(floors, axis=0)
    row |= {"wall_ratio": float(ratios[0]), "cpu_ratio": float(ratios[1])}
    return {**row, "candidate_cpu_ms": 1e3 * float(candidate[1]), "floor_cpu_ms": 1e3 * float(floor[1])}


def _bare_build_s(kernel: Kernel) -> NDArray[np.float64]:
    """A build with a precompiled header, without sandbox or cache."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = Cpp().build(kernel, Cpu(), folder)
        argv = list(build.argv)
        for need in build.needs:
            for file, text in need.files.items():
                (folder / file).write_text(text)
            subprocess.run(need.argv, cwd=folder, check=True, capture_output=True)
            argv[1:1] = [each.format(folder=folder) for each in need.use]
        return _seconds(lambda: subprocess.run(argv, cwd=folder, check=True, capture_output=True))


def hostile(evaluations: int) -> list[dict[str, Any]]:
    """What many hostile evaluations leave behind."""
    evaluator = Evaluator(Softmax(), Cpu(), Cpp(), run_timeout_s=2.0, null_every=0)
    calibration = evaluator.calibrate()
    kernels = [Kernel(source, "cpp") for source in HOSTILE]
    for kernel in kernels:
        evaluator.evaluate(kernel, calibration)
    before, statuses = _possessions(), set()
    for index in range(evaluations):
        statuses.add(str(evaluator.evaluate(kernels[index % len(kernels)], calibration).status))
    after = _possessions()
    growth = {name: after[name] - before[name] for name in before}
    return [{"hostile_evaluations": evaluations, "scored": int("ok" in statuses), **growth}]


def _possessions() -> dict[str, int]:
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    from fitness.cache import cache_folder

    return {
        "processes": len(children.stdout.split()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "memory_kib": resident // 1024,
        "scratch_folders": len(list((cache_folder() / "scratch").glob(f"{os.getpid()}-*"))),
        "temporary_files": sum(name.startswith("kernelwright") for name in os.listdir(tempfile.gettempdir())),
    }


def _copies(evaluator: Evaluator, count: int) -> list[Kernel]:
    source, now = evaluator.task.seed_kernel("cpp").source, time.time_ns()
    return [Kernel(f"{source}\n// {now} {index}\n", "cpp") for index in range(count)]


def _seconds(job: Callable[[], Any]) -> NDArray[np.float64]:
    """Wall time and CPU time, children included, of a job."""
    start, start_cpu = time.monotonic(), _cpu_s()
    job()
    return np.array([time.monotonic() - start, _cpu_s() - start_cpu])


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


SECTIONS: Mapping[str, tuple[Callable[[int], list[dict[str, Any]]], int]] = {
    "accuracy": (accuracy, 20),
    "null": (null, 200),
    "cost": (cost, 24),
    "hostile": (hostile, 1000),
}


def _show(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title=f"{title}, load average {os.getloadavg()[0]:.1f}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in columns:
        table.add_column(name.replace("_", " "))
    for row in rows:
        cells = (row.get(name, "") for name in columns)
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells))
    console.print(table)


def main() -> int:
    """Runs the sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the repeats, for a quick look")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(SECTIONS)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    console, found = Console(), {}
    for name in arguments.only.split(","):
        section, repeats = SECTIONS[name]
        found[name] = section(max(2, round(repeats * arguments.scale)))
        _show(console, name, found[name])
    if arguments.json:
        facts = {
            "schema": "kernelwright.benchmark/1",
            "target": dict(Cpu().describe()),
            "load_average": os.getloadavg(),
        }
        write_json(arguments.json, {**facts, "sections": found})
    return 0


if __name__ == "__main__":
    sys.exit(faults.main(main))
