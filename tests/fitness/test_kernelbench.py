"""Problem files in KernelBench's form become tasks; the model runs in a sandboxed process of its own."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil

import numpy as np
import pytest

import kernelbench_problems as problems
from fitness import Calibration, Evaluator, Kernel, Status, TaskError
from fitness.check import draw_inputs
from fitness.kernelbench import KernelBench
from fitness.languages import Cpp, Torch
from fitness.memory import available_bytes
from fitness.targets import Cpu, Interpret
from kernelbench_problems import checkout

TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
QUICK = {"min_pairs": 3, "max_pairs": 5, "time_limit_s": 0.05, "null_every": 0}


def stream(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def task(tmp_path):
    def made(source, **settings):
        return KernelBench(1, 1, checkout(tmp_path, source), **settings)

    return made


@TORCH
def test_arguments_then_weights_are_inputs_and_numbers_are_constants(task):
    affine = task(problems.AFFINE)

    assert {
        "x": ("float32", (32, 20)),
        "scale": ("float32", (12,)),
        "linear_weight": ("float32", (12, 20)),
        "linear_bias": ("float32", (12,)),
    } == {name: (spec.dtype, spec.shape) for name, spec in affine.inputs.items()}
    assert {"out": (32, 12)} == {name: spec.shape for name, spec in affine.outputs.items()}
    assert "factor = 1.5" in affine.description


@TORCH
def test_the_reference_is_the_model_in_double_precision(task):
    affine = task(problems.AFFINE, sizes={"batch": 5, "features": 9})
    inputs = affine.make_inputs(affine.time_workloads[0], stream())
    x, weight, bias, scale = (
        inputs[name].astype(np.float64) for name in ("x", "linear_weight", "linear_bias", "scale")
    )

    np.testing.assert_allclose((x @ weight.T + bias) * scale * 1.5, affine.reference(inputs)["out"], rtol=1e-12)


@TORCH
def test_weights_that_start_all_alike_are_drawn_too(task):
    affine = task(problems.AFFINE)
    first, second = (affine.make_inputs(affine.time_workloads[0], stream(seed))["scale"] for seed in (1, 2))

    assert np.ptp(first) > 0
    assert not np.array_equal(first, second)


@TORCH
def test_state_that_no_result_depends_on_is_no_input(task):
    normed = task(problems.NORMED)

    assert ["x", "keep", "bn_weight", "bn_bias"] == list(normed.inputs)
    assert {"out0": "float32", "out1": "int64"} == {name: spec.dtype for name, spec in normed.outputs.items()}
    assert normed.admission(stream()).admitted


@TORCH
def test_of_many_buffers_those_that_matter_are_inputs(task):
    assert ["x", "used2", "used3", "used7"] == list(task(problems.BUFFERS).inputs)


@TORCH
def test_of_many_weights_a_few_are_tried(task):
    tried = {check.name for check in task(problems.DEEP).admission(stream()).checks if " matters: " in check.name}

    assert {"input matters: x", "half of input matters: x", "input matters: layers_0_weight"} <= tried
    assert 2 * (1 + 8) == len(tried)


@TORCH
def test_that_a_bias_is_taken_out_again_is_advice(task):
    checks = {check.name: check for check in task(problems.BIAS_TAKEN_OUT).admission(stream()).checks}

    assert checks["input matters: linear_bias"].passed
    assert checks["input matters: linear_bias"].reason.startswith("only advice: within tolerance")
    assert not checks["input matters: linear_weight"].reason


@TORCH
def test_a_sum_so_long_that_no_output_tells_how_exact_its_inputs_are_is_fit_for_search(task):
    task(problems.LONG_SUMS).examine(stream())


@TORCH
@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        (problems.AFFINE, {"batch": 1 << 22, "features": 1 << 20}),
        (problems.SQUARES, {"rows": 1 << 22, "columns": 1 << 24}),
    ],
    ids=["a batch", "no batch"],
)
def test_a_problem_that_is_too_large_is_refused_with_sizes_that_do(tmp_path, monkeypatch, source, sizes):
    root = checkout(tmp_path, source)
    monkeypatch.setattr("fitness.kernelbench.reference._COPIES", available_bytes() >> 14)

    with pytest.raises(TaskError, match=r"is too large: .* GB of inputs, weights and outputs") as caught:
        _ = KernelBench(1, 1, root, sizes=sizes).inputs
    told = dict(each.split(":") for each in re.search(r"task\.sizes={(.*?)}", str(caught.value))[1].split(","))
    smaller = KernelBench(1, 1, root, sizes={name: int(number) for name, number in told.items()})
    held = sum(4 * math.prod(spec.shape) for spec in (*smaller.inputs.values(), *smaller.outputs.values()))
    assert 1 << 13 < held <= 1 << 14


@TORCH
def test_a_model_that_takes_more_memory_than_there_is_is_too_large(task):
    with pytest.raises(TaskError, match=r"is too large: .*\(line 6\); task.sizes gives smaller numbers"):
        _ = task(problems.GREEDY).inputs


@TORCH
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (problems.TINY, "zeros fail KernelBench's own rule: zeros pass with its atol = rtol = 0.0001"),
        (problems.CONSTANT, "zeros fail: within tolerance"),
        (problems.POSITIVE, "inputs passed through fail: within tolerance"),
        (problems.RANDOM, "repeatable reference: the reference gives another answer to the same inputs"),
    ],
    ids=["tiny", "constant", "positive", "random"],
)
def test_a_degenerate_problem_is_refused_with_the_reason(task, source, reason):
    degenerate = task(source)

    with pytest.raises(TaskError, match="not fit for search") as caught:
        degenerate.examine(stream())
    assert reason in str(caught.value)


@TORCH
def test_a_degenerate_problem_can_be_forced(task):
    task(problems.POSITIVE, forced=True).examine(stream())


@TORCH
@COMPILER
def test_a_kernel_is_judged_and_torch_is_timed_beside_it(task, tmp_path):
    seed = tmp_path / "seed.cpp"
    seed.write_text(problems.SQUARES_CPP)
    evaluator = Evaluator(task(problems.SQUARES, seed=str(seed), compiled=False), Cpu(), Cpp(), **QUICK)
    calibration = evaluator.calibrate()

    assert calibration.facts["eager_us"] > 0
    assert Status.OK == evaluator.evaluate(Kernel(problems.SQUARES_CPP, "cpp"), calibration).status
    wrong = Kernel(problems.SQUARES_CPP.replace("j < 32", "j < 31"), "cpp")
    assert Status.WRONG_VALUE == evaluator.evaluate(wrong, calibration).status


@TORCH
def test_the_model_itself_is_the_kernel_where_torch_hosts_the_language(task):
    affine = task(problems.AFFINE, sizes={"batch": 3})
    evaluator = Evaluator(affine, Interpret(), Torch())
    try:
        evaluation = evaluator.evaluate(affine.seed_kernel("torch"), Calibration({}, 0.0))
    finally:
        evaluator.close()

    assert (Status.OK, True) == (evaluation.status, "launches_no_kernel" in evaluation.flags), evaluation.log
    assert affine.seed_kernel("triton").source == affine.seed_kernel("torch").source


def test_other_languages_need_a_kernel_of_the_users(task):
    with pytest.raises(TaskError, match=r"no kernel in 'cpp'.*task.seed=FILE.cpp"):
        task(problems.SQUARES).seed_kernel("cpp")


@TORCH
@pytest.mark.parametrize(
    ("source", "words"),
    [
        (problems.READS, "No such file|Permission denied"),
        (problems.LEAVES, "ended without delivering"),
        (problems.QUITS, "fails: SystemExit: bye"),
        (problems.MASK, r"out is strided bool \[16, 32\]; known are dense tensors"),
        (problems.HANGS, "stopped at its time limit"),
        (problems.NO_PROBLEM, "defines no get_inputs"),
        (problems.AFFINE, r"no number 'width'; it has batch, features, outputs"),
        (problems.NO_LIST, "get_inputs must return a list of arguments; it returns a Tensor"),
        (problems.NO_ARGUMENTS, "get_init_inputs must return a list of arguments; it returns a NoneType"),
        (problems.NO_CLASS, "Model is no class"),
        (problems.NO_FORWARD, 'missing the required "forward" function'),
        (problems.NAMELESS, r"get_inputs gives more values \(1\) than forward has arguments \(none\)"),
        (problems.NOTHING, "the model returns no tensor at all"),
        (problems.MAPPING, "the model returns a dict; known are a tensor and a list or tuple of tensors"),
        (problems.BROKEN, r"invalid syntax \(problem.py, line 2\)"),
        (problems.FAILING, r"has no attribute 'no_such_method' \(line 6\)"),
    ],
    ids=[
        *(
            "reads",
            "leaves",
            "quits",
            "mask",
            "hangs",
            "no problem",
            "unknown size",
            "no list",
            "no arguments",
            "no class",
        ),
        *("no forward", "nameless", "nothing", "mapping", "broken", "failing"),
    ],
)
def test_what_a_foreign_file_does_ends_as_one_clear_error(task, source, words):
    settings = {"sizes": {"width": 3}} if source is problems.AFFINE else {}

    with pytest.raises(TaskError, match=words):
        _ = task(source, timeout_s=6.0 if source is problems.HANGS else 120.0, **settings).inputs


@TORCH
def test_what_a_model_makes_itself_is_in_double_precision_too(task):
    hidden = task(problems.HIDDEN)
    inputs = hidden.make_inputs(hidden.time_workloads[0], stream())

    np.testing.assert_allclose(
        inputs["x"].astype(np.float64) @ np.full((32, 3), 0.1), hidden.reference(inputs)["out"], rtol=1e-12
    )


@TORCH
def test_the_same_stream_draws_the_same_data_whatever_generator_a_problem_uses(task):
    drawn = task(problems.NUMPY)
    first, again, other = (drawn.make_inputs(drawn.time_workloads[0], stream(seed))["x"] for seed in (1, 1, 2))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@TORCH
def test_a_source_keeps_its_text_whatever_ends_lines_elsewhere(task):
    unusual = task(problems.UNUSUAL_TEXT, sizes={"rows": 5})

    assert (5, 32) == unusual.inputs["x"].shape
    assert 'rows = 3\nrows = 5\ntext = "a\u2028b\x0cc"' in unusual.seed_kernel("torch").source


def test_a_seed_that_is_no_text_is_told_in_one_line(task, tmp_path):
    seed = tmp_path / "seed.cpp"
    seed.write_bytes(b"int a;\xff")

    with pytest.raises(TaskError, match=r"seed.cpp is not UTF-8 text \(byte 6\)"):
        task(problems.SQUARES, seed=str(seed)).seed_kernel("cpp")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"level": 1, "problem": 1}, "needs level=N problem=N root=FOLDER"),
        ({"level": 1, "problem": 1, "root": "/nowhere"}, "holds no KernelBench/level1"),
        ({"level": 1, "problem": 2, "root": True}, "holds 0 files 2_"),
        ({"level": 1, "problem": 1, "root": True, "seed": "/nowhere.cpp"}, "task.seed: /nowhere.cpp is no file"),
        ({"level": 1, "problem": 1, "root": True, "sizes": {"rows": 1.5}}, "task.sizes.rows: must be a whole number"),
        ({"level": 1, "problem": 1, "root": True, "timeout_s": -1.0}, "task.timeout_s: must be more than 0"),
    ],
)
def test_a_missing_problem_is_told_in_one_line(tmp_path, settings, words):
    root = checkout(tmp_path, problems.SQUARES)

    with pytest.raises(TaskError, match=words):
        KernelBench(**{**settings, **({"root": root} if settings.get("root") is True else {})})


@TORCH
def test_a_tensor_without_axes_is_an_input(tmp_path):
    source = problems.AFFINE.replace(
        "torch.randn(batch, features), 1.5", "torch.randn(batch, features), torch.rand(())"
    )
    task = KernelBench(1, 1, checkout(tmp_path, source))
    drawn = draw_inputs(task, task.time_workloads[0], np.random.default_rng(0))

    assert () == drawn["factor"].shape
