"""Kernels against torch: what is compared is correct, and a comparison says what it found. On a CPU, for want of a GPU."""

import importlib.util
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fitness import Baseline, Calibration, Evaluation, Evaluator, Kernel, Measurement, Status, TaskError, tasks
from fitness.baselines import BASELINES, baseline_kernel
from fitness.check import make_instance
from fitness.compare import judge
from fitness.languages import Cpp, Torch, Triton
from fitness.targets import Cpu, Nvidia
from fitness.tasks import RowSum, Softmax
from torch_on_cpu import TorchOnCpu

TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
SHIPPED = [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"]
SIZES = ({"M": 64, "N": 257},)


def expressions():
    for task in SHIPPED:
        for name in ("eager", "library"):
            if baseline_kernel(task(), name) is not None:
                yield pytest.param(task(), name, id=f"{task.name}-{name}")


@TORCH
@pytest.mark.parametrize(("task", "name"), list(expressions()))
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
def test_a_task_in_torch_is_correct_on_every_workload(task, name):
    import torch

    module: dict = {}
    exec(baseline_kernel(task, name).source, module)
    rng = np.random.default_rng(5)
    for workload in (*task.check_workloads, *task.time_workloads, *task.hidden_workloads(rng)):
        instance = make_instance(task, workload, rng)
        inputs = [torch.from_numpy(array.copy()) for array in instance.inputs.values()]
        made = module["kernel_fn"](*inputs)
        outputs = made if isinstance(made, tuple) else (made,)
        places = [
            {each.untyped_storage().data_ptr() for each in tensors if each.numel()} for tensors in (inputs, outputs)
        ]
        assert not places[0] & places[1], f"{workload.name}: an output is an input"
        arrays = [each.numpy() for each in outputs]
        assert [spec.dtype for spec in task.outputs.values()] == [str(array.dtype) for array in arrays]
        verdict = judge(dict(zip(task.outputs, arrays, strict=True)), instance.expected, instance.tolerance)
        assert "" == verdict.reason, workload.name


@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.name)
def test_every_task_is_there_in_torch(task):
    assert baseline_kernel(task(), "eager") is not None


def test_a_task_without_torch_has_no_baselines():
    class Bare:
        def seed_kernel(self, language):
            raise TaskError(f"no seed in {language}")

    assert [None] * len(BASELINES) == [baseline_kernel(Bare(), name) for name in BASELINES]


def test_compiled_baselines_end_with_a_compiled_entry_point():
    eager, compiled, tuned = (baseline_kernel(RowSum(), name) for name in ("eager", "compile", "max_autotune"))
    assert compiled.source.startswith(eager.source)
    assert compiled.source.endswith("kernel_fn = torch.compile(kernel_fn, dynamic=False)\n")
    assert 'mode="max-autotune-no-cudagraphs"' in tuned.source


def test_unknown_baselines_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="baselines knows eager, compile, max_autotune, library; it does not know 'x'"):
        Evaluator(RowSum(), Nvidia(), Triton(), baselines=["x"])


def test_baselines_are_refused_where_workers_run_no_torch():
    with pytest.raises(ValueError, match=r"baselines must be \[\] for target=cpu"):
        Evaluator(RowSum(), Cpu(), Cpp(), baselines=["eager"])


def test_the_key_of_an_evaluator_names_its_baselines():
    plain, one = Evaluator(RowSum(), Nvidia(), Triton()), Evaluator(RowSum(), Nvidia(), Triton(), baselines=["eager"])
    assert plain.key != one.key


def test_records_come_back():
    found = Baseline("eager", speedup=1.5, interval=(1.4, 1.6)), Baseline("compile", Status.RUN_TIMEOUT, log="late")
    evaluation = Evaluation("0" * 32, Status.OK, baselines=found)
    assert evaluation == Evaluation.from_json(evaluation.to_json())


def test_records_without_baselines_are_as_they_were():
    assert "baselines" not in Evaluation("0" * 32, Status.OK).to_json()


MEASURED = Measurement("time-64x257", (1.0,), (1.0,), 1.0, 1.0, 1.0, (1.0, 1.0))
SETTINGS = {"min_pairs": 3, "max_pairs": 3, "time_limit_s": 0.2, "run_timeout_s": 120.0, "build_timeout_s": 120.0}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Softmax in float64, which is slower than the seed, against two baselines, of which the second is wrong."""
    folder = tmp_path_factory.mktemp("seeds")
    softmax = Softmax(time_sizes=SIZES, seeds=str(folder))
    plain = softmax.seed_kernel("torch").source
    Path(folder / "softmax_torch.py").write_text(plain)
    Path(folder / "softmax_library_torch.py").write_text(plain.replace("dim=1", "dim=0"))
    evaluator = Evaluator(softmax, TorchOnCpu(), Torch(), **SETTINGS, baselines=("eager", "library"))
    kernel = Kernel(plain.replace("(x,", "(x.double(),").replace("dim=1)", "dim=1).float()"), "torch", "kernel_fn")
    calibration = Calibration({}, 0.01)
    yield evaluator.verify(kernel, calibration), evaluator.verify(replace(kernel, source=plain + "\n#"), calibration)
    evaluator.close()


@TORCH
def test_a_verified_kernel_is_timed_against_its_baselines(compared):
    evaluation = compared[0]
    assert Status.OK == evaluation.status, evaluation.log
    eager = evaluation.baselines[0]
    assert ("eager", Status.OK) == (eager.name, eager.status), eager.log
    assert eager.interval[0] <= eager.speedup <= eager.interval[1]
    assert [each.name for each in Softmax(time_sizes=SIZES).time_workloads] == [
        each.workload for each in eager.measurements
    ]
    assert all(3 == len(each.samples_us) == len(each.reference_samples_us) for each in eager.measurements)


@TORCH
def test_a_wrong_baseline_is_not_compared_and_says_why(compared):
    library = compared[0].baselines[1]
    assert ("library", Status.WRONG_VALUE, None) == (library.name, library.status, library.speedup)
    assert "expected" in library.log


@TORCH
def test_a_second_kernel_is_compared_too(compared):
    assert ["eager", "library"] == [each.name for each in compared[1].baselines]


@TORCH
def test_a_search_s_own_evaluations_are_not_compared():
    evaluator = Evaluator(RowSum(time_sizes=SIZES), TorchOnCpu(), Torch(), **SETTINGS, baselines=("eager",))
    evaluation = evaluator.evaluate(evaluator.task.seed_kernel("torch"), Calibration({}, 0.01))
    evaluator.close()

    assert (Status.OK, ()) == (evaluation.status, evaluation.baselines), evaluation.log


@TORCH
@pytest.mark.parametrize("which", ["kernel", "baseline"])
def test_what_becomes_wrong_while_it_is_timed_is_found_out(which, tmp_path):
    """The first outputs that are judged are right: those of the check and of the rehearsal."""
    task = RowSum(time_sizes=SIZES, check_sizes=({"M": 2, "N": 3},), seeds=str(tmp_path))
    plain = task.seed_kernel("torch").source
    tired = "calls = 0\n" + plain.replace(
        "    return", "    global calls\n    calls += 1\n    if calls > LIMIT:\n        x = x * 0\n    return"
    )
    (tmp_path / "row_sum_torch.py").write_text(tired.replace("LIMIT", "6") if which == "baseline" else plain)
    kernel = Kernel(tired.replace("LIMIT", "6") if which == "kernel" else plain, "torch", "kernel_fn")
    with closing(Evaluator(task, TorchOnCpu(), Torch(), **SETTINGS, baselines=("eager",))) as evaluator:
        timed = Evaluation(kernel.digest, Status.OK, (MEASURED,), 1.0, 1.0, 1.0, (1.0, 1.0))
        evaluation = evaluator.compare(kernel, timed)

    if which == "kernel":
        assert (Status.WRONG_VALUE, ()) == (evaluation.status, evaluation.baselines)
    else:
        assert [Status.WRONG_VALUE] == [each.status for each in evaluation.baselines]
