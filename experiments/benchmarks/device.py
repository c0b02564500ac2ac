"""The evaluator on a GPU: agreement with Triton's own timer, noise, throughput. Prints what it measured.

python -m experiments.benchmarks.device [--json OUT] [--candidates 60] [--workers 12]
python -m experiments.benchmarks.device --ready [--json OUT]    needs no GPU: how long until a worker is ready
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import Future
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fitness import Evaluator, Kernel
from fitness.compiler import find_compiler
from fitness.device.session import device_cell, start_device
from fitness.device.zygote import Zygote
from fitness.executors import Local
from fitness.languages import Triton
from fitness.sandbox import find_sandbox
from fitness.targets import Interpret, Nvidia
from fitness.tasks import Softmax

SETTINGS = {"build_timeout_s": 60.0, "run_timeout_s": 60.0, "cache_regime": "cold", "null_every": 0}


def renamed(kernel: Kernel, index: int) -> Kernel:
    """Returns the same kernel under another digest."""
    return Kernel(f"# copy {index}\n{kernel.source}", kernel.language, kernel.entry_point)


def own_timer(evaluator: Evaluator, repeats: int) -> list[float]:
    """Returns the latency of the seed kernel in µs, measured by the evaluator ``repeats`` times."""
    calibration = evaluator.calibrate()
    seed = evaluator.task.seed_kernel("triton")
    found = []
    for index in range(repeats):
        evaluation = evaluator.evaluate(renamed(seed, index), calibration)
        samples = evaluation.measurements[0].samples_us
        found.append(statistics.median(samples))
    return found


def tritons_timer(evaluator: Evaluator, repeats: int) -> list[float]:
    """Returns the latency of the same kernel on the same size in µs by ``triton.testing.do_bench``."""
    import torch
    from triton.testing import do_bench

    folder = Path.cwd() / ".device_benchmark"
    folder.mkdir(exist_ok=True)
    path = folder / "seed.py"
    path.write_text(evaluator.task.seed_kernel("triton").source, encoding="utf-8")
    import importlib.util

    spec = importlib.util.spec_from_file_location("seed", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    axes = evaluator.task.time_workloads[0].axes
    x = torch.randn(axes["M"], axes["N"], device="cuda")
    return [1e3 * do_bench(lambda: module.kernel_fn(x), return_mode="median") for _ in range(repeats)]


def throughput(evaluator: Evaluator, candidates: int, workers: int) -> float:
    """Returns candidates a second through the whole evaluator, all different, ``workers`` at once."""
    calibration = evaluator.calibrate()
    seed = evaluator.task.seed_kernel("triton")
    with Local(workers=workers) as executor:
        start = time.monotonic()
        futures: list[Future[object]] = [
            executor.submit(evaluator.evaluate, renamed(seed, index), calibration) for index in range(candidates)
        ]
        for future in futures:
            future.result()
        return candidates / (time.monotonic() - start)


def ready(repeats: int) -> dict[str, float]:
    """Returns the median seconds from asking for a worker to its being ready, on the CPU: as a program, and forked."""
    target, task, sandbox = Interpret(), Softmax(), find_sandbox(find_compiler())
    environment, devices = target.environment(0), target.device_files()

    def median_s(zygote: Zygote | None) -> float:
        taken = []
        for _ in range(repeats):
            start = time.monotonic()
            with start_device(sandbox, task, environment, devices, timeout_s=90.0, zygote=zygote):
                taken.append(time.monotonic() - start)
        return statistics.median(taken)

    with Zygote(sandbox, device_cell(devices, environment), 90.0) as zygote:
        start_device(sandbox, task, environment, devices, timeout_s=90.0, zygote=zygote).close()  # it imports once
        return {"program_s": median_s(None), "fork_s": median_s(zygote)}


def show(title: str, figures: dict[str, float]) -> None:
    """Prints figures as a table."""
    table = Table("figure", "value", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:.4f}")
    Console().print(table)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="store the figures")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--ready", action="store_true", help="only the start of workers; needs no GPU")
    arguments = parser.parse_args()
    title = "the start of a worker, on this CPU" if arguments.ready else "the evaluator on this GPU"
    figures = ready(arguments.repeats) if arguments.ready else on_the_gpu(arguments)
    show(title, figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def on_the_gpu(arguments: argparse.Namespace) -> dict[str, float]:
    """Returns what the evaluator does on the first GPU."""
    task = Softmax(time_sizes=({"M": 4096, "N": 2048},))
    evaluator = Evaluator(task, Nvidia(spares=arguments.workers), Triton(), time_limit_s=0.5, **SETTINGS)
    ours = own_timer(evaluator, arguments.repeats)
    theirs = tritons_timer(evaluator, arguments.repeats)
    rate = throughput(evaluator, arguments.candidates, arguments.workers)
    evaluator.close()
    return {
        "ours_us": statistics.median(ours),
        "do_bench_us": statistics.median(theirs),
        "ratio": statistics.median(ours) / statistics.median(theirs),
        "our_spread": (max(ours) - min(ours)) / statistics.median(ours),
        "do_bench_spread": (max(theirs) - min(theirs)) / statistics.median(theirs),
        "candidates_per_s": rate,
    }


if __name__ == "__main__":
    sys.exit(main())
