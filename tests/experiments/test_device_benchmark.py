"""The benchmark of the evaluator on a GPU, with the CPU in its place: that it measures, not how long it takes."""

import importlib.util
from argparse import Namespace
from contextlib import closing

import pytest

from experiments.benchmarks.device import alone, evaluations, null, renamed, starts, throughput
from fitness import Evaluator, Kernel
from fitness.languages import Torch
from fitness.tasks import RowSum
from torch_on_cpu import TorchOnCpu

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

SIZES = {"time_sizes": [{"M": 64, "N": 257}], "check_sizes": [{"M": 3, "N": 7}]}
SETTINGS = {"min_pairs": 2, "max_pairs": 2, "time_limit_s": 0.1, "run_timeout_s": 60.0, "null_every": 0}
ARGUMENTS = Namespace(repeats=2, copies=3, candidates=2, workers=1)


@pytest.fixture(scope="module")
def evaluator():
    with closing(Evaluator(RowSum(**SIZES), TorchOnCpu(), Torch(), **SETTINGS)) as made:
        yield made


def test_a_null_search_tells_the_best_and_the_worst_of_all_copies(evaluator):
    figures = null(evaluator, ARGUMENTS)

    assert figures["null_worst"] <= figures["null_median"] <= figures["null_best"]
    assert 0 <= figures["null_beyond_1_percent"] <= ARGUMENTS.copies


def test_a_candidate_alone_is_told_by_stage(evaluator):
    figures = alone(evaluator, ARGUMENTS)
    stages = ("build", "check", "judge", "queue", "rehearse", "time")

    assert {"alone_s", *(f"alone_{stage}_s" for stage in stages)} == set(figures)
    assert all(value >= 0 for value in figures.values())


def test_throughput_is_a_rate(evaluator):
    assert throughput(evaluator, ARGUMENTS)["candidates_per_s"] > 0


def test_starts_are_a_rate(evaluator):
    assert starts(evaluator, ARGUMENTS)["starts_per_s"] > 0


@pytest.mark.parametrize("language", ["triton", "torch", "cuda"])
def test_a_copy_is_the_same_kernel_under_another_name(language):
    seed = RowSum().seed_kernel(language)
    copies = [renamed(seed, index) for index in range(2)]

    assert 3 == len({each.digest for each in (seed, *copies)})
    assert all(each.source.partition("\n")[2] == seed.source for each in copies)


def test_a_copy_that_is_wrong_ends_the_benchmark(evaluator, monkeypatch):
    wrong = Kernel("def kernel_fn(x):\n    return x.sum(1) * 2\n", "torch", "kernel_fn")
    calibration = evaluator.calibrate()
    monkeypatch.setattr(type(evaluator), "calibrate", lambda self: calibration)
    monkeypatch.setattr(RowSum, "seed_kernel", lambda self, language: wrong)

    with pytest.raises(RuntimeError, match="a copy of the seed kernel is wrong_value"):
        evaluations(evaluator, 1, 1, first=1)
