"""A search without a compiler: bit strings as kernels, an evaluator that computes a latency from them.

The evaluator stands at the real seam (`evolve.recording.Judge`); journal, doors and engine are real.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from deap import tools

from evolve import Budget, Engine, Generation, Journal, RecordedEvaluations
from evolve.policies import (
    NSGA2,
    UCT,
    AlgorithmLevel,
    ClusterSoftmax,
    Curiosity,
    Greedy,
    Islands,
    MapElites,
    MemoryLevel,
    Metric,
    MuCommaLambda,
    MuPlusLambda,
    NeutralChain,
    OnePlusOne,
    ParallelLevel,
    Phases,
    RandomSampling,
    SequentialConditioned,
    SteadyState,
    Surrogate,
    Tuned,
    WeightedParents,
    select_by_beta,
    select_by_rank,
    select_certified,
)
from evolve.surrogates import TuningSpace
from fitness import Calibration, Duel, Evaluation, Kernel, Status
from operators import Brief, Operator, Proposal

BITS = 12


def kernel(bits: str) -> Kernel:
    return Kernel(bits, "toy")


def ones(bits: str) -> float:
    """OneMax as a latency: fewer zeros, less time."""
    return 1.0 + bits.count("0")


class ToyEvaluator:
    """Judges bit strings; ``fails`` says which are wrong. Counts what it is asked."""

    def __init__(
        self,
        latency_us: Callable[[str], float] = ones,
        fails: Callable[[str], bool] = lambda bits: False,
        spread: float = 0.0,
        jitter_s: float = 0.0,
        static: Callable[[str], Mapping[str, float]] = lambda bits: {},
    ) -> None:
        self.key = "toy"
        self.asked: list[str] = []
        self._latency_us = latency_us
        self._fails = fails
        self._spread = spread
        self._jitter_s = jitter_s
        self._static = static

    def calibrate(self, device: int = 0) -> Calibration:
        return Calibration({"w": 100.0}, noise_floor=0.01)

    def evaluate(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        self.asked.append(kernel.source)
        if self._jitter_s:
            time.sleep(self._jitter_s * (int(kernel.digest[:2], 16) / 256))
        if self._fails(kernel.source):
            return Evaluation(kernel.digest, Status.WRONG_VALUE, max_rel_error=float("nan"), log="wrong")
        latency = self._latency_us(kernel.source)
        speedup = 100.0 / latency
        interval = (speedup * (1 - self._spread), speedup * (1 + self._spread))
        return Evaluation(
            kernel.digest,
            Status.OK,
            latency_us=latency,
            reference_latency_us=100.0,
            speedup=speedup,
            interval=interval,
            max_rel_error=kernel.source.count("1") / 100,
            static=self._static(kernel.source),
        )

    def duel(self, challenger: Kernel, elite: Kernel, calibration: Calibration, device: int = 0) -> Duel:
        self.asked.append(f"{challenger.source} against {elite.source}")
        gain = self._latency_us(elite.source) / self._latency_us(challenger.source)
        return Duel(challenger.digest, elite.digest, gain, (gain * 0.99, gain * 1.01), calibration.noise_floor)

    def verify(self, kernel: Kernel, calibration: Calibration, device: int = 0) -> Evaluation:
        return self.evaluate(kernel, calibration)


class Inline:
    """An executor in the caller's thread."""

    workers = 1

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(job(*args, device=0))
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...


class Pooled:
    """An executor with several threads."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._pool.submit(job, *args, device=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(wait=True)


class ToyOperator:
    """An operator over bit strings."""

    def __init__(
        self,
        change: Callable[[list[str], np.random.Generator], str | None],
        arity: int = 1,
        memory: Sequence[str] = (),
        takes_failures: bool = False,
        name: str = "toy",
    ) -> None:
        self.name = name
        self.arity = arity
        self.memory = frozenset(memory)
        self.takes_failures = takes_failures
        self.briefs: list[Brief] = []
        self._change = change

    def propose(self, parents: Sequence[Any], brief: Brief, rng: np.random.Generator) -> Proposal:
        self.briefs.append(brief)
        bits = self._change([parent.kernel.source for parent in parents], rng)
        digests = tuple(parent.kernel.digest for parent in parents)
        if bits is None:
            return Proposal(None, self.name, digests, outcome="no_code", note="nothing came")
        return Proposal(kernel(bits), self.name, digests, tokens=len(bits))


def flip(parents: list[str], rng: np.random.Generator) -> str:
    """Flips every bit with probability 1 / length, and at least one."""
    bits = np.array([bit == "1" for bit in parents[0]])
    mask = rng.random(bits.size) < 1 / bits.size
    mask[rng.integers(bits.size)] |= not mask.any()
    return "".join("01"[int(bit)] for bit in bits ^ mask)


def cross(parents: list[str], rng: np.random.Generator) -> str:
    cut = int(rng.integers(1, len(parents[0])))
    return parents[0][:cut] + parents[1][cut:]


def draft(parents: list[str], rng: np.random.Generator) -> str:
    return "".join("01"[int(bit)] for bit in rng.integers(2, size=BITS))


def operators(**more: Operator) -> dict[str, Operator]:
    """Mutation, crossover and draft, and whatever else is given."""
    return {
        "mutate": ToyOperator(flip, name="mutate"),
        "mate": ToyOperator(cross, arity=2, name="mate"),
        "draft": ToyOperator(draft, arity=0, name="draft"),
        "repair": ToyOperator(repair, takes_failures=True, name="repair"),
        **more,
    }


def brief(client: Any = None) -> Brief:
    """A brief of which only names are read."""
    named: Any = SimpleNamespace(name="toy", suffix=".toy")
    return Brief(task=named, target=named, language=named, client=client)


def engine(policy: Any, folder: Path, journal: Journal, **settings: Any) -> Engine:
    """An engine over a toy task; ``evaluator``, ``executor`` and ``client`` are its doors."""
    doors = RecordedEvaluations(
        settings.pop("evaluator", None) or ToyEvaluator(), settings.pop("executor", None) or Inline(), journal
    )
    defaults: dict[str, Any] = {
        "seed_kernels": [kernel("0" * BITS)],
        "operators": operators(),
        "brief": brief(settings.pop("client", None)),
        "seed": 7,
        "directory": folder,
        "budget": Budget(),
    }
    return Engine(policy=policy, evaluations=doors, journal=journal, **{**defaults, **settings})


def run(policy: Any, folder: Path, generations: int | None = 30, **settings: Any) -> tuple[list[Generation], Engine]:
    """Runs a search to its end; ``strict`` and ``configuration`` go to the journal."""
    options = {name: settings.pop(name) for name in ("strict", "configuration") if name in settings}
    with Journal(folder / "journal.jsonl", **options) as journal:
        made = engine(policy, folder, journal, **settings)
        return list(made.run(generations)), made


def digest(folder: Path) -> str:
    """Of the derived record of a run."""
    return hashlib.sha256((folder / "generations.jsonl").read_bytes()).hexdigest()


def repair(parents: list[str], rng: np.random.Generator) -> str:
    """Sets the first zero of a failure."""
    return parents[0].replace("0", "1", 1)


def nothing(parents: list[str], rng: np.random.Generator) -> None:
    """A model that never writes code."""


def bits_descriptors() -> list[Metric]:
    return [Metric("static.left", [1, 2, 3]), Metric("static.right", [1, 2, 3])]


def halves(bits: str) -> dict[str, float]:
    """Ones in either half, as metrics of an artifact."""
    return {"left": bits[: BITS // 2].count("1"), "right": bits[BITS // 2 :].count("1")}


class Bits:
    """Bit strings as points of a space: a template of `Surrogate` and `Tuned`."""

    def __init__(self, kernel: Kernel, task: Any) -> None:
        self.space = TuningSpace({f"bit{i}": [0, 1] for i in range(BITS)})

    def read(self, kernel: Kernel) -> tuple[int, ...] | None:
        return tuple(map(int, kernel.source)) if len(kernel.source) == BITS else None

    def write(self, configuration: Sequence[int]) -> Kernel:
        return kernel("".join(map(str, configuration)))


def tuned(method: Any, policy: Callable[..., Any], **more: Any) -> Tuned:
    return Tuned(policy=policy(**more), method=method, cap=3, template=Bits)


POLICIES: dict[str, Callable[..., Any]] = {
    "mu_plus_lambda": partial(MuPlusLambda, mu=4, lambda_=5),
    "mu_plus_lambda_certified": partial(MuPlusLambda, mu=4, lambda_=5, survivor_selection=select_certified),
    "mu_plus_lambda_rank": partial(MuPlusLambda, mu=4, lambda_=5, parent_selection=select_by_rank),
    "mu_plus_lambda_beta": partial(MuPlusLambda, mu=4, lambda_=5, parent_selection=select_by_beta),
    "mu_comma_lambda": partial(MuCommaLambda, mu=3, lambda_=5),
    "lexicase": partial(MuPlusLambda, mu=4, lambda_=5, parent_selection=tools.selAutomaticEpsilonLexicase),
    "random_sampling": partial(RandomSampling, lambda_=5),
    "sequential_conditioned": partial(SequentialConditioned, lambda_=5),
    "one_plus_one": partial(OnePlusOne, lambda_=5),
    "neutral_chain": partial(NeutralChain, lambda_=5),
    "greedy": partial(Greedy, lambda_=5, drafts=2),
    "greedy_in_flight": partial(Greedy, lambda_=5, drafts=2, in_flight=3),
    "uct": partial(UCT, children=3),
    "steady_state": partial(SteadyState, mu=4, lambda_=5),
    "steady_state_lagged": partial(SteadyState, mu=4, lambda_=5, in_flight=3),
    "nsga2": partial(NSGA2, mu=4, lambda_=5, elites=1),
    "shinka": partial(WeightedParents, mu=4, lambda_=5, in_flight=2),
    "map_elites": lambda **more: MapElites(descriptors=bits_descriptors(), lambda_=5, **more),
    "kernelfoundry": lambda **more: MapElites(
        descriptors=[MemoryLevel(), ParallelLevel(), AlgorithmLevel(), *bits_descriptors()],
        lambda_=5,
        emphasis=Curiosity(),
        **more,
    ),
    "surrogate": partial(Surrogate, lambda_=5, initial=4, candidates=50, template=Bits),
    "surrogate_in_flight": partial(Surrogate, lambda_=5, in_flight=3, initial=4, candidates=50, template=Bits),
    "surrogate_without_tunables": partial(Surrogate, lambda_=5),
    "tuned": partial(tuned, "random", partial(MuPlusLambda, mu=3, lambda_=4)),
    "tuned_grid": partial(tuned, "grid", partial(SteadyState, mu=3, lambda_=4, in_flight=2)),
    "tuned_surrogate": partial(tuned, "surrogate", partial(SteadyState, mu=3, lambda_=4)),
    "islands": partial(Islands, island=partial(MuPlusLambda, mu=3, lambda_=2), num_islands=3, migration_every=2),
    "islands_random": partial(
        Islands,
        island=partial(SteadyState, mu=3, lambda_=2, in_flight=2),
        num_islands=3,
        migration_every=1,
        topology="random",
    ),
    "funsearch": partial(
        Islands, island=partial(ClusterSoftmax, lambda_=2), num_islands=4, migration_every=None, reset_every=1
    ),
    "phases": partial(Phases, drafts=4, growth=partial(UCT, children=3)),
    "phases_generational": partial(Phases, drafts=4, growth=partial(MuPlusLambda, mu=3, lambda_=5)),
    "phases_islands": partial(
        Phases, drafts=4, growth=partial(Islands, island=partial(MuPlusLambda, mu=3, lambda_=2), num_islands=2)
    ),
}
"""Every policy, in a size that shows all of it within thirty slots. Each takes a ``choice``."""


def run_all(folder: Path) -> dict[str, str]:
    """Runs every policy once and returns the digests of the records, by policy."""
    digests = {}
    for name, make in POLICIES.items():
        run(make(), folder / name, evaluator=ToyEvaluator(static=halves), budget=Budget(evaluations=20))
        digests[name] = digest(folder / name)
    return digests


if __name__ == "__main__":
    print(json.dumps(run_all(Path(sys.argv[1]))))  # noqa: T201 - the parent process reads it
