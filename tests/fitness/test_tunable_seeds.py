"""Tunable seeds in Triton: correct as they stand and with other values, judged by Triton's interpreter."""

from __future__ import annotations

import importlib.util

import pytest

from fitness import Evaluator, Kernel
from fitness.languages import Triton
from fitness.targets import Interpret
from fitness.tasks import LayerNorm, Matmul, RowSum, Softmax
from operators.tunables import Tunables

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


@pytest.mark.parametrize("task", [LayerNorm, Matmul, RowSum, Softmax], ids=lambda each: each.name)
def test_a_tunable_seed_is_correct_whatever_its_values(task) -> None:
    evaluator = Evaluator(task(), Interpret(), Triton(), build_timeout_s=60.0, run_timeout_s=120.0)
    seed = task().variant_kernel("triton", "tunable")
    tunables = Tunables.read(seed.source)
    highest = tunables.with_values({name: choices[-1] for name, choices in tunables.choices.items()})
    try:
        calibration = evaluator.calibrate()
        kernels = [seed, Kernel(highest, "triton", seed.entry_point)]
        assert ["ok", "ok"] == [str(evaluator.evaluate(each, calibration).status) for each in kernels]
    finally:
        evaluator.close()
