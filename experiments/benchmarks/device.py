"""The evaluator on a GPU: agreement with Triton's own timer, noise, throughput. Prints what it measured.

python -m experiments.benchmarks.device [--json OUT] [--only timing,null] [--candidates 60] [--workers 12]
python -m experiments.benchmarks.device --only ready [--json OUT]    needs no GPU: how long until a worker is ready

- ``timing``: the seed kernel by the evaluator and by ``triton.testing.do_bench``, ``--repeats`` times each, and by the
  latter with the whole L2 cache, as workers have it.
- ``null``: a search in which every candidate is the seed under another name; all speedups should be 1.
- ``alone``: one Triton candidate after another, and where the time goes: build, check, time, judge.
- ``throughput``: candidates a second, ``--workers`` at once.
- ``starts``: workers a second that are started and ended, ``--workers`` at once: no more candidates can be judged.
- ``cuda``: seconds that a CUDA candidate takes to be built and checked, one after another, and ``--workers`` at once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fitness import Evaluation, Evaluator, Kernel, Language
from fitness.compiler import find_compiler
from fitness.device.start import device_cell, start_device
from fitness.device.workers import Workers
from fitness.device.zygote import Zygote
from fitness.executors import Local
from fitness.languages import Cuda, Triton
from fitness.sandbox import find_sandbox
from fitness.targets import Interpret, Nvidia
from fitness.tasks import Softmax

from .. import faults
from ..records import write_json
from ..wording import count_text

SETTINGS = {"build_timeout_s": 60.0, "run_timeout_s": 60.0, "cache_regime": "cold", "null_every": 0}
PERSISTING_L2_CACHE_SIZE = 0x06  # a CUlimit
PROCESSES = 5  # in which do_bench is asked
Figures = dict[str, float]


def renamed(kernel: Kernel, index: int) -> Kernel:
    """Returns the same kernel under another digest."""
    comment = "//" if kernel.language == "cuda" else "#"
    return Kernel(f"{comment} copy {index}\n{kernel.source}", kernel.language, kernel.entry_point)


def own_timer(evaluator: Evaluator, repeats: int) -> tuple[list[float], list[float]]:
    """Returns latencies of the seed kernel in µs, measured by the evaluator: copies, and the seed beside each of them.

    Each copy has a process of its own; the seed, as baseline, stays in one.
    """
    calibration = evaluator.calibrate()
    seed = evaluator.task.seed_kernel("triton")
    made = [evaluator.evaluate(renamed(seed, index), calibration).measurements[0] for index in range(repeats)]
    copies = [statistics.median(measurement.samples_us) for measurement in made]
    return copies, [statistics.median(measurement.reference_samples_us) for measurement in made]


def tritons_timer(evaluator: Evaluator, repeats: int, *, whole_l2: bool) -> list[float]:
    """Returns the latency of the same kernel on the same size in µs by ``triton.testing.do_bench``.

    In several processes, as each of the evaluator's measurements has one of its own. A context starts with a part of
    the L2 cache set aside on some GPUs; workers give it back, and so does ``whole_l2``.
    """
    source, axes = evaluator.task.seed_kernel("triton").source, evaluator.task.time_workloads[0].axes
    each = -(-repeats // PROCESSES)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        runs = [fresh.submit(do_bench_us, source, dict(axes), each, whole_l2) for _ in range(PROCESSES)]
        return [latency_us for run in runs for latency_us in run.result()]


def do_bench_us(source: str, axes: dict[str, int], repeats: int, whole_l2: bool) -> list[float]:
    """Returns what ``do_bench`` says of a kernel of one matrix in this process, in µs."""
    import ctypes
    import importlib.util

    import torch
    from triton.testing import do_bench

    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        path = Path(folder) / "seed.py"  # Triton reads the source from its file
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("seed", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        x = torch.randn(axes["M"], axes["N"], device="cuda")
        if whole_l2:
            ctypes.CDLL("libcuda.so.1").cuCtxSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(0))
        return [1e3 * do_bench(lambda: module.kernel_fn(x), return_mode="median") for _ in range(repeats)]


def evaluations(evaluator: Evaluator, candidates: int, workers: int, first: int) -> tuple[list[Evaluation], float]:
    """Returns what the evaluator says of different copies of the seed kernel, ``workers`` at once, and the seconds.

    Raises:
        FitnessError: The machine failed.
        RuntimeError: A copy of a correct kernel is not correct.
    """
    calibration = evaluator.calibrate()
    start = time.monotonic()
    seed = evaluator.task.seed_kernel(evaluator.language.name)
    with Local(workers=workers) as executor:
        futures: list[Future[Evaluation]] = [
            executor.submit(evaluator.evaluate, renamed(seed, first + index), calibration)
            for index in range(candidates)
        ]
        made = [future.result() for future in futures]
    seconds = time.monotonic() - start
    for evaluation in made:
        if not evaluation.ok:
            raise RuntimeError(f"a copy of the seed kernel is {evaluation.status}: {evaluation.log}")
    return made, seconds


def timing(evaluator: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns the latency by the evaluator and by Triton's own timer, and the spread of both: from least to most."""
    ours, in_one_process = own_timer(evaluator, arguments.repeats)
    plain = tritons_timer(evaluator, arguments.repeats, whole_l2=False)
    theirs = tritons_timer(evaluator, arguments.repeats, whole_l2=True)
    return {
        "ours_us": statistics.median(ours),
        "do_bench_us": statistics.median(plain),
        "do_bench_whole_l2_us": statistics.median(theirs),
        "ratio": statistics.median(ours) / statistics.median(plain),
        "ratio_whole_l2": statistics.median(ours) / statistics.median(theirs),
        "our_deviation": statistics.stdev(ours) / statistics.median(ours),
        "our_spread": spread(ours),
        "our_spread_in_one_process": spread(in_one_process),
        "do_bench_deviation": statistics.stdev(theirs) / statistics.median(theirs),
        "do_bench_spread": spread(theirs),
        "do_bench_spread_in_one_process": statistics.median(map(spread, by_process(theirs))),
    }


def spread(values: Sequence[float]) -> float:
    """Returns how far the least and the most of some values lie apart, as a fraction of their median."""
    return (max(values) - min(values)) / statistics.median(values)


def by_process(values: Sequence[float]) -> list[Sequence[float]]:
    """Returns what `tritons_timer` found, process by process."""
    each = len(values) // PROCESSES
    return [values[at : at + each] for at in range(0, len(values), each)]


def null(evaluator: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns how far copies of the seed are from being as fast as the seed; the best is what a search would report."""
    made, _ = evaluations(evaluator, arguments.copies, arguments.workers, first=10_000)
    speedups = [each.speedup or 0.0 for each in made]
    return {
        "null_best": max(speedups),
        "null_worst": min(speedups),
        "null_median": statistics.median(speedups),
        "null_deviation": statistics.stdev(speedups),
        "null_beyond_1_percent": float(sum(abs(each - 1.0) > 0.01 for each in speedups)),
    }


def alone(evaluator: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns the median seconds of a candidate that nothing runs beside, and of its stages."""
    return _medians("alone", evaluator, arguments.repeats, first=20_000)


def throughput(evaluator: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns candidates a second through the whole evaluator, and the medians of their stages."""
    made, seconds = evaluations(evaluator, arguments.candidates, arguments.workers, first=30_000)
    return {"candidates_per_s": len(made) / seconds, **_stages("together", made)}


def starts(evaluator: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns how many workers a second come up and go, without a candidate."""
    target = evaluator.target
    devices: tuple[Path, ...] = getattr(target, "device_files", tuple)()
    with (
        closing(Workers(evaluator.sandbox, evaluator.task, target, devices)) as workers,
        ThreadPoolExecutor(arguments.workers) as threads,
    ):
        workers.next(0).close()  # it imports once
        start = time.monotonic()
        for ended in [threads.submit(lambda: workers.next(0).close()) for _ in range(arguments.candidates)]:
            ended.result()
        return {"starts_per_s": arguments.candidates / (time.monotonic() - start)}


def cuda(_: Evaluator, arguments: argparse.Namespace) -> Figures:
    """Returns the median seconds of building and of checking a CUDA candidate, and how many are done a second."""
    with closing(_evaluator(Cuda(), arguments)) as evaluator:
        figures = _medians("cuda", evaluator, arguments.repeats, first=40_000)
        made, seconds = evaluations(evaluator, arguments.candidates, arguments.workers, first=50_000)
    build_and_check_s = figures["cuda_build_s"] + figures["cuda_check_s"]
    figures |= {"cuda_build_and_check_s": build_and_check_s, "cuda_candidates_per_s": len(made) / seconds}
    return figures | _stages("cuda_together", made)


def _medians(name: str, evaluator: Evaluator, repeats: int, first: int) -> Figures:
    """Returns median seconds of candidates one after another; the first one, which warms caches, is left out."""
    calibration, seed = evaluator.calibrate(), evaluator.task.seed_kernel(evaluator.language.name)
    taken, made = [], []
    for index in range(repeats + 1):
        start = time.monotonic()
        made.append(evaluator.evaluate(renamed(seed, first + index), calibration))
        taken.append(time.monotonic() - start)
    return {f"{name}_s": statistics.median(taken[1:]), **_stages(name, made[1:])}


def _stages(name: str, made: Sequence[Evaluation]) -> Figures:
    """Returns the median seconds of each stage, ``name_stage_s``."""
    stages = sorted({stage for each in made for stage in each.seconds})
    medians = (statistics.median(each.seconds.get(stage, 0.0) for each in made) for stage in stages)
    return {f"{name}_{stage}_s": median for stage, median in zip(stages, medians, strict=True)}


def ready(repeats: int) -> Figures:
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


def show(title: str, figures: Figures) -> None:
    """Prints figures as a table."""
    table = Table("figure", "value", title=title)
    for name, value in figures.items():
        table.add_row(name, f"{value:.4f}")
    Console().print(table)


ON_THE_GPU = {
    "timing": timing,
    "null": null,
    "alone": alone,
    "throughput": throughput,
    "starts": starts,
    "cuda": cuda,
}


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="store the figures")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--copies", type=int, default=100, help="of the seed, for the null search")
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--only", default=",".join(ON_THE_GPU), help="names of figures with commas between")
    parser.add_argument("--ready", action="store_true", help="the same as --only ready")
    arguments = parser.parse_args()
    chosen = ["ready"] if arguments.ready else [name.strip() for name in arguments.only.split(",")]
    for name in chosen:
        if name not in (*ON_THE_GPU, "ready"):
            parser.error(f"--only {name}: there are {', '.join((*ON_THE_GPU, 'ready'))}")
    figures: Figures = {}
    for name, found in measured(chosen, arguments):
        figures |= found
        show(name, found)
        if arguments.json:  # at once: a GPU is dear, and the command may be stopped
            write_json(arguments.json, figures)
    return 0


def measured(chosen: Sequence[str], arguments: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Yields the figures by name; those of the GPU are of the first one, all by the same evaluator."""
    if "ready" in chosen:
        print(f"starting {count_text(arguments.repeats, 'worker')} as programs, then as forks", file=sys.stderr)
        yield "ready", ready(arguments.repeats)
    if on_the_gpu := [name for name in chosen if name != "ready"]:
        with closing(_evaluator(Triton(), arguments)) as evaluator:
            for name in on_the_gpu:
                print(f"measuring {name}", file=sys.stderr)
                yield name, ON_THE_GPU[name](evaluator, arguments)


def _evaluator(language: Language, arguments: argparse.Namespace) -> Evaluator:
    task = Softmax(time_sizes=({"M": 4096, "N": 2048},))
    return Evaluator(task, Nvidia(), language, time_limit_s=0.5, **SETTINGS)


if __name__ == "__main__":
    sys.exit(faults.main(main))
