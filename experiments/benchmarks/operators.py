"""How good are the operators without a model? ``python -m experiments.benchmarks.operators --help``.

Three measurements, on this machine's CPU and the C++ seed kernels:

* ``funnel``: of proposals made from the seed alone, how many parse, build, are correct, are faster, are distinct;
* ``search``: a (mu + lambda) search with these operators alone, for each task and seed;
* ``cost``: CPU time of a proposal, beside the time that parsing its child takes.

Speedups are the evaluator's: medians over interleaved pairs of seed kernel and candidate. Winners are verified in a
fresh process on hidden sizes, and both figures are shown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from evolve import json_text, stream
from fitness import Kernel, Status
from fitness.executors import Local
from operators import Brief, Memory, Operator, Proposal, SyntacticCrossover, SyntacticMutation

from .. import faults
from ..build import Problem, build_engine, build_problem
from ..composition import composed
from ..records import write_json
from ..wording import count_text

TASKS = (
    *("matmul", "row_sum", "softmax", "layer_norm", "gelu_bias"),
    *("transpose", "prefix_sum", "conv1d", "stencil2d", "bucketize"),
)
MARKS = (50, 100, 150, 300)


@dataclass(frozen=True, slots=True)
class Founder:
    """A parent that has not been evaluated."""

    kernel: Kernel
    evaluation: Any = None


def configuration(name: str, *overrides: str) -> DictConfig:
    """Returns the configuration of a run on a task, with few samples a timing."""
    return composed([f"task={name}", "operators=syntactic", "evaluator=quick", "generations=null", *overrides])


def founded(name: str) -> tuple[Problem, Founder, Brief]:
    """Returns a problem, its seed kernel as a parent, and a brief in which that has descendants."""
    problem = build_problem(configuration(name))
    founder = Founder(problem.task.seed_kernel("cpp"))
    return problem, founder, Brief(problem.task, problem.target, problem.language, memory=Memory(ancestors=(founder,)))


def funnel(name: str, proposals: int, seed: int) -> dict[str, Any]:
    """Makes single mutations of a seed kernel and evaluates the distinct ones."""
    problem, founder, brief = founded(name)
    operator = SyntacticMutation(more_edits=0.0)
    made = [operator.propose([founder], brief, stream(seed, slot, "funnel")) for slot in range(proposals)]
    kernels = {each.kernel.digest: each.kernel for each in made if each.kernel is not None}
    verdicts = dict(_evaluated(problem, list(kernels.values())))
    kinds: dict[str, Counter[str]] = {}
    for proposal in made:
        _count(kinds.setdefault(proposal.note.split(":", maxsplit=1)[0], Counter()), proposal, verdicts)
    total = sum(kinds.values(), Counter[str]())
    return {
        "task": name,
        "seed": seed,
        "distinct": len(kernels),
        **total,
        "kinds": {k: {**v} for k, v in kinds.items()},
    }


def _count(counts: Counter[str], proposal: Proposal, verdicts: dict[str, tuple[Status, float | None]]) -> None:
    counts["proposed"] += 1
    if proposal.kernel is None:
        return
    status, speedup = verdicts[proposal.kernel.digest]
    counts["parsed"] += 1
    counts["built"] += status not in {Status.BUILD_FAILED, Status.BUILD_TIMEOUT, Status.REJECTED}
    counts["correct"] += status is Status.OK
    counts["faster"] += speedup is not None and speedup > 1.05
    counts["twice_as_fast"] += speedup is not None and speedup > 2.0


def _evaluated(problem: Problem, kernels: Sequence[Kernel]) -> Iterator[tuple[str, tuple[Status, float | None]]]:
    evaluator = problem.evaluator
    calibration = evaluator.calibrate()
    with Local() as executor:
        futures = [executor.submit(evaluator.evaluate, kernel, calibration) for kernel in kernels]
        for kernel, future in zip(kernels, futures, strict=True):
            evaluation = future.result()
            yield kernel.digest, (evaluation.status, evaluation.speedup)


def search(name: str, seed: int, overrides: Sequence[str]) -> dict[str, Any]:
    """Searches with mutation and crossover alone; returns the best speedup over evaluations."""
    config = configuration(name, f"seed={seed}", *overrides)
    problem = build_problem(config)
    curve: list[tuple[int, float | None, float]] = []
    counts, start, best = Counter[str](), time.monotonic(), ""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        engine = build_engine(config, problem, stack, Path(folder))
        for generation in engine.run():
            curve.append((generation.evaluations, generation.best.evaluation.speedup, time.monotonic() - start))
            counts.update(f"{each.operator} {each.evaluation.status}" for each in generation.offspring)
            best = generation.best.kernel.source
        verified = engine.verification.speedup if engine.verification is not None else None
    return {"task": name, "seed": seed, "curve": curve, "verified": verified, "statuses": {**counts}, "best": best}


def cost(name: str, proposals: int) -> dict[str, Any]:
    """Measures the CPU time of mutations and crossovers of kernels that are two generations old."""
    _, founder, brief = founded(name)
    mutate, cross = SyntacticMutation(), SyntacticCrossover()
    made = [mutate.propose([founder], brief, stream(1, slot, "old")).kernel for slot in range(8)]
    parents = [Founder(kernel) for kernel in made if kernel is not None]
    figures: dict[str, Any] = {"task": name}
    for label, arity in (("mutation_ms", 1), ("crossover_ms", 2)):
        operator: Operator = mutate if arity == 1 else cross
        start = time.process_time()
        for slot in range(proposals):
            chosen = [parents[(slot + each) % len(parents)] for each in range(arity)]
            operator.propose(chosen, brief, stream(2, slot, label))
        figures[label] = (time.process_time() - start) * 1e3 / proposals
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", choices=("funnel", "search", "cost"))
    parser.add_argument("--tasks", default=",".join(TASKS), help="names, with commas between them")
    parser.add_argument("--seeds", default="0", help="numbers, with commas between them")
    parser.add_argument("--proposals", type=int, default=100, help="of funnel and cost")
    parser.add_argument("overrides", nargs="*", help="of each search, e.g. budget.evaluations=200 mu=4")
    parser.add_argument("--json", type=Path, default=None, help="where the records go")
    options = parser.parse_intermixed_args(arguments)
    records = []
    for name in options.tasks.split(","):
        for seed in map(int, options.seeds.split(",")):
            if options.measurement == "funnel":
                record = funnel(name, options.proposals, seed)
            elif options.measurement == "search":
                record = search(name, seed, options.overrides or ["budget.evaluations=150"])
            else:
                record = cost(name, options.proposals)
            records.append(record)
            print(_line(record), flush=True)
    if options.json is not None:
        write_json(options.json, records)
    return 0


def _line(record: dict[str, Any]) -> str:
    """Returns one line for people."""
    if "curve" in record:
        marks: dict[int, float] = {}
        for evaluations, speedup, _ in record["curve"]:
            marks.update({mark: speedup for mark in MARKS if evaluations <= mark})
        reached = ", ".join(f"{speedup:.2f} at {mark}" for mark, speedup in marks.items() if speedup)
        evaluations, speedup, elapsed = record["curve"][-1]
        verified = f"{record['verified']:.2f}" if record["verified"] else "none"
        return (
            f"{record['task']} seed {record['seed']}: {speedup:.2f} (verified {verified}) "
            f"after {count_text(evaluations, 'evaluation')} and {elapsed:.0f} s; {reached}"
        )
    return json_text({key: value for key, value in record.items() if key != "kinds"})


if __name__ == "__main__":
    sys.exit(faults.main(main))
