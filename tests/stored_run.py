"""A run directory made by the real engine, with kernels, logs and notes that try to break out of a report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from evolve import Engine, Journal, RecordedEvaluations
from evolve.policies.generational import MuPlusLambda
from fitness import Baseline, Calibration, Duel, Evaluation, Kernel, Measurement, Status
from operators import Proposal
from toy_search import Inline, ToyOperator, brief

HOSTILE = "</pre></code><script>alert('pwned')</script><img src=x onerror=alert(2)>&\"'"
CONFIG = "seed: 3\nmu: 4\ngenerations: 4\nbudget:\n  evaluations: 60\n  seconds: null\n  tokens: null\n"


class HostileEvaluator:
    """Times kernels by a number in their source; some fail with a log that holds markup."""

    key = "hostile"

    def __init__(self, *, succeeds: bool = True, verdict: Status = Status.OK, seeds: int = 1) -> None:
        self._seeds = seeds
        self._succeeds = succeeds
        self._verdict = verdict

    def calibrate(self, device: int = 0) -> Calibration:
        return Calibration({"w": 100.0}, noise_floor=0.01)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        number = int(kernel.source.split()[1])
        seconds = {"build": 0.1, "check": 0.02, "time": 0.05}
        if number >= self._seeds and (number % 3 == 0 or not self._succeeds):
            return Evaluation(kernel.digest, Status.BUILD_FAILED, log=f"error: {HOSTILE}", seconds=seconds)
        speedup = 1.0 + number / 10
        rng = np.random.default_rng(number)
        samples = tuple(float(each) for each in 100 / speedup * rng.lognormal(0, 0.02, 20))
        reference = tuple(float(each) for each in 100 * rng.lognormal(0, 0.02, 20))
        interval = (speedup * 0.99, speedup * 1.01)
        measurement = Measurement(f"w{HOSTILE}", samples, reference, 100 / speedup, 100.0, speedup, interval)
        return Evaluation(
            kernel.digest,
            Status.OK,
            (measurement,),
            latency_us=100 / speedup,
            reference_latency_us=100.0,
            speedup=speedup,
            interval=interval,
            max_rel_error=1e-7,
            flags=(HOSTILE,),
            seconds=seconds,
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        return Duel(challenger.digest, elite.digest, 1.1, (1.08, 1.12), 0.01)

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        if self._verdict is not Status.OK:
            return Evaluation(kernel.digest, self._verdict, log=HOSTILE)
        baselines = (
            Baseline("eager", speedup=1.25, interval=(1.2, 1.3)),
            Baseline("compile", Status.RUN_TIMEOUT, log=HOSTILE),
        )
        return replace(self.evaluate(kernel, calibration), baselines=baselines)


def count_up(parents, rng):
    """Makes a kernel with a larger number from the first parent."""
    number = int(parents[0].split()[1]) + int(rng.integers(1, 4))
    return None if rng.random() < 0.2 else f"// {number} {HOSTILE}\nint kernel;\n"


class HostileOperator(ToyOperator):
    """Leaves a note that holds markup."""

    def propose(self, parents, brief, rng):
        made = super().propose(parents, brief, rng)
        kernel = None if made.kernel is None else Kernel(made.kernel.source, "cpp")
        return Proposal(kernel, made.operator, made.parents, made.outcome, note=HOSTILE, tokens=7)


def make_run(
    directory: Path,
    *,
    succeeds: bool = True,
    verify: bool = True,
    verdict: Status = Status.OK,
    generations: int = 4,
    seeds: int = 1,
) -> Path:
    """Makes a run directory; ``verify=False`` leaves it unfinished."""
    evaluator = HostileEvaluator(succeeds=succeeds, verdict=verdict, seeds=seeds)
    with Journal(directory / "journal.jsonl") as journal:
        engine = Engine(
            seed_kernels=[Kernel(f"// {number} {HOSTILE}\nint kernel;\n", "cpp") for number in range(seeds)],
            operators={"count": HostileOperator(count_up), "cross": HostileOperator(count_up, arity=2)},
            policy=MuPlusLambda(mu=4, lambda_=8),
            brief=brief(),
            evaluations=RecordedEvaluations(evaluator, Inline(), journal),
            journal=journal,
            seed=3,
            duels=True,
            verify=verify,
            directory=directory,
        )
        for _ in engine.run(generations=generations):
            pass
    (directory / "config.yaml").write_text(CONFIG)
    facts = {"schema": "kernelwright.environment/1", "choices": {"task": "toy", "language": "cpp", "target": "cpu"}}
    (directory / "environment.json").write_text(json.dumps({**facts, "cpu": HOSTILE, "isolation": HOSTILE}))
    if verify:
        (directory / "result.json").write_text(json.dumps({"ended": "generations", "elapsed_s": 12.5}))
    return directory
