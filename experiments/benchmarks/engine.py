"""What the search itself costs: CPU time a candidate, memory and disk, with evaluator and operator that cost nothing.

Run: python -m experiments.benchmarks.engine

Prints one table for the engine at 500 and 20,000 candidates and one for every policy. Each row is measured in a
process of its own. Evaluations carry as many samples as real ones, since these are what fills the journal.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from evolve import Budget, Engine, Journal, RecordedEvaluations, json_text
from evolve.policies import (
    NSGA2,
    UCT,
    ClusterSoftmax,
    Curiosity,
    Greedy,
    Islands,
    MapElites,
    Metric,
    MuCommaLambda,
    MuPlusLambda,
    OnePlusOne,
    Phases,
    RandomSampling,
    SequentialConditioned,
    SteadyState,
    WeightedParents,
)
from fitness import Calibration, Duel, Evaluation, Kernel, Measurement, Status
from operators import Brief, Operator, Parent, Proposal

from .. import faults

BODY = "\n".join(f"    y[{i}] = x[{i}] * {i}.0f;" for i in range(32))
"""Filler that makes a source about as long as a real one."""

SAMPLES = 30

CELL_EDGES = [i / 100 for i in range(1, 100)]

POLICIES: Mapping[str, Callable[[], Any]] = {
    "mu_plus_lambda": partial(MuPlusLambda, mu=8, lambda_=16),
    "mu_comma_lambda": partial(MuCommaLambda, mu=8, lambda_=16),
    "random_sampling": partial(RandomSampling, lambda_=16),
    "sequential_conditioned": partial(SequentialConditioned, lambda_=20),
    "one_plus_one": partial(OnePlusOne, lambda_=16),
    "greedy": partial(Greedy, lambda_=16),
    "uct": UCT,
    "steady_state": partial(SteadyState, mu=8, lambda_=16, in_flight=4),
    "nsga2 (mu 256)": partial(NSGA2, mu=256, lambda_=256, elites=4),
    "islands": partial(Islands, island=partial(MuPlusLambda, mu=8, lambda_=4), num_islands=4),
    "map_elites (10,000 cells)": lambda: MapElites(
        descriptors=[Metric("static.a", CELL_EDGES), Metric("static.b", CELL_EDGES)], lambda_=16, emphasis=Curiosity()
    ),
    "shinka": partial(WeightedParents, mu=40, lambda_=16),
    "funsearch": partial(Islands, island=partial(ClusterSoftmax, lambda_=2), num_islands=10, reset_every=40),
    "phases": partial(Phases, drafts=10, growth=UCT),
}


class Instant:
    """Judges kernels without looking at them: the latency is in the source."""

    key = "instant"

    def calibrate(self, device: int = 0) -> Calibration:
        """Returns a quiet machine."""
        return Calibration({"w": 100.0}, 0.01)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Reads the latency and makes up samples around it."""
        _, latency_text, a, b = kernel.source.split("\n", 1)[0].split()
        latency = float(latency_text)
        samples = tuple(latency * (1 + i / 1000) for i in range(SAMPLES))
        speedup = 100.0 / latency
        timing = Measurement("w", samples, samples, latency, 100.0, speedup, (speedup * 0.99, speedup * 1.01))
        return Evaluation(
            kernel.digest,
            Status.OK,
            (timing,),
            latency,
            100.0,
            speedup,
            timing.interval,
            max_rel_error=float(a),
            static={"a": float(a), "b": float(b)},
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        """Calls every duel a draw."""
        return Duel(challenger.digest, elite.digest, 1.0, (0.99, 1.01), 0.01)

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        """Judges as before."""
        return self.evaluate(kernel, calibration)


class AtOnce:
    """An executor that runs a job where it is handed in."""

    workers = 1

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        """Runs the job."""
        future: Future[Any] = Future()
        future.set_result(job(*args, device=0))
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...


class Trivial:
    """Writes a number into the first line of the source: a little better or worse than the first parent's.

    Args:
        arity: 0, 1 or 2.
    """

    memory: frozenset[str] = frozenset()
    takes_failures = False

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.name = ("draft", "mutate", "mate")[arity]
        self._count = itertools.count()

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Makes a kernel that nobody has made before."""
        latency = parents[0].evaluation.latency_us if parents else 100.0
        a, b, step = rng.random(3).tolist()
        source = source_of((latency or 100.0) * (0.99 + 0.03 * step), a, b, f"{self.name}{next(self._count)}")
        return Proposal(Kernel(source, "toy"), self.name, tuple(each.kernel.digest for each in parents))


def source_of(latency_us: float, a: float, b: float, mark: str) -> str:
    """Returns a source with all that `Instant` reads from it."""
    return f"// {latency_us!r} {a!r} {b!r}\n{BODY}\n// {mark}\n"


def measure(policy: str, candidates: int) -> dict[str, float]:
    """Runs a search in this process and returns what it cost.

    Returns:
        ``ms`` of CPU time a candidate, ``peak_mb`` and ``base_mb`` of memory, ``disk_mb`` of the run directory.
    """
    named: Any = SimpleNamespace(name="toy", suffix=".cpp")
    operators: dict[str, Operator] = {each.name: each for each in (Trivial(0), Trivial(1), Trivial(2))}
    base_mb = _peak_mb()
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl") as journal:
        engine = Engine(
            seed_kernels=[Kernel(source_of(100.0, 0.5, 0.5, "seed"), "toy")],
            operators=operators,
            policy=POLICIES[policy](),
            brief=Brief(named, named, named),
            evaluations=RecordedEvaluations(Instant(), AtOnce(), journal),
            journal=journal,
            budget=Budget(evaluations=candidates),
            objectives=("latency_us", "max_rel_error") if policy.startswith("nsga2") else ("latency_us",),
            directory=folder,
        )
        started = time.process_time()
        for _ in engine.run():
            pass
        seconds = time.process_time() - started
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {"ms": 1e3 * seconds / candidates, "peak_mb": _peak_mb(), "base_mb": base_mb, "disk_mb": disk / 1e6}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def elsewhere(policy: str, candidates: int) -> dict[str, float]:
    """Measures in a process of its own, so that memory is this run's alone."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--one", policy, str(candidates)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=2, metavar=("POLICY", "CANDIDATES"), help="measure one and print JSON")
    parser.add_argument("--candidates", type=int, default=1000, help="for the table of policies (default 1000)")
    arguments = parser.parse_args()
    if arguments.one:
        print(json_text(measure(arguments.one[0], int(arguments.one[1]))))
        return 0
    rows = [("mu_plus_lambda", 500), ("mu_plus_lambda", 20_000)]
    rows += [(policy, arguments.candidates) for policy in POLICIES]
    rows += [("uct", 20_000), ("map_elites (10,000 cells)", 20_000)]
    print(f"{'policy':<28}{'candidates':>11}{'CPU ms each':>13}{'peak MB':>9}{'of it base':>11}{'disk MB':>9}")
    for policy, candidates in rows:
        cost = elsewhere(policy, candidates)
        print(
            f"{policy:<28}{candidates:>11,}{cost['ms']:>13.3f}{cost['peak_mb']:>9.0f}{cost['base_mb']:>11.0f}"
            f"{cost['disk_mb']:>9.1f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(faults.main(main))
