"""Numba and OpenCL on this processor: the real compilers, the real evaluator, every seed; each where it is installed."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from fitness import Calibration, Evaluator, Status, ToolchainError, tasks
from fitness.languages import Numba, OpenCL
from fitness.targets import Cpu

SEEDS = Path(tasks.__file__).parent / "seeds"
BY_NAME = {each.name: each for each in map(tasks.__dict__.get, tasks.__all__) if hasattr(each, "name")}
NUMBA = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="Numba is not installed")
POCL = pytest.mark.skipif(
    importlib.util.find_spec("pyopencl") is None or importlib.util.find_spec("pocl_binary_distribution") is None,
    reason="PoCL and pyopencl are not installed",
)
SHIPPED = [
    *(pytest.param(Numba(), path.stem.removesuffix("_numba"), marks=NUMBA) for path in SEEDS.glob("*_numba.py")),
    *(pytest.param(OpenCL(), path.stem, marks=POCL) for path in SEEDS.glob("*.cl")),
]
QUICK = {"min_pairs": 3, "max_pairs": 5, "time_limit_s": 0.05, "null_every": 0, "build_timeout_s": 120.0}


def evaluator(language, task=None):
    return Evaluator(task or tasks.RowSum(), Cpu(), language, **QUICK)


def judged(language, source):
    """The whole evaluation of a source."""
    judge = evaluator(language)
    return judge.evaluate(kernel(judge, source), judge.calibrate())


def refused(language, source):
    """The evaluation of a source that is not timed, so that no calibration is needed."""
    judge = evaluator(language)
    return judge.evaluate(kernel(judge, source), Calibration({}, 0.0))


def kernel(judge, source):
    seed = judge.task.seed_kernel(judge.language.name)
    return dataclasses.replace(seed, source=source)


@pytest.mark.parametrize(("language", "task"), SHIPPED)
def test_every_seed_is_correct_and_timed(language, task):
    calibration = evaluator(language, BY_NAME[task]()).calibrate()

    assert {workload.name for workload in BY_NAME[task]().time_workloads} == set(calibration.reference_latency_us)


ROW_SUM = """\
#pragma launch partial global(M * 32) local(32)
__kernel void partial(__global const float* x, __global float* y, long M, long N) {
    __local float part[32];
    int t = get_local_id(0);
    float total = 0.0f;
    for (long j = t; j < N; j += 32) total += x[get_group_id(0) * N + j];
    part[t] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = 16; width > 0; width /= 2) {
        if (t < width) part[t] += part[t + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) y[get_group_id(0)] = part[0];
}
"""
TWO_LAUNCHES = """\
#define STEP 8
#pragma launch clear global(M)
#pragma launch add global((M + STEP - 1) / STEP * STEP) local(STEP)
__kernel void clear(__global const float* x, __global float* y, long M, long N) { y[get_global_id(0)] = 0.0f; }
__kernel void add(__global const float* x, __global float* y, long M, long N) {
    long i = get_global_id(0);
    if (i < M) for (long j = 0; j < N; j++) y[i] += x[i * N + j];
}
"""


@POCL
@pytest.mark.parametrize("source", [ROW_SUM, TWO_LAUNCHES], ids=["barriers and local memory", "two launches"])
def test_opencl_kernels_work_as_the_standard_says(source):
    evaluation = judged(OpenCL(), source)

    assert Status.OK == evaluation.status, evaluation.log
    assert evaluation.speedup > 0


OPENCL_REFUSED = {
    "no launch": (ROW_SUM.replace("#pragma launch", "// launch"), "the source launches nothing"),
    "no such kernel": (ROW_SUM.replace("launch partial", "launch other"), "there is no kernel of this name"),
    "host code": (ROW_SUM.replace("(M * 32)", '(M * 32); system("id")'), "write #pragma launch NAME"),
    "int size": (ROW_SUM.replace("long M, long N", "int M, int N"), "M is int"),
    "local argument": (ROW_SUM.replace("long M, long N", "__local float* s, long M, long N"), "s is float*"),
    "much local memory": (ROW_SUM.replace("part[32]", "part[1 << 20]"), "of local memory"),
    "broken": (ROW_SUM.replace("total +=", "totl +="), "totl"),
}


@POCL
@pytest.mark.parametrize("name", OPENCL_REFUSED)
def test_opencl_sources_that_cannot_be_built_are_told_why(name):
    source, words = OPENCL_REFUSED[name]
    evaluation = refused(OpenCL(), source)

    assert (Status.BUILD_FAILED, True) == (evaluation.status, words in evaluation.log), evaluation.log


@POCL
def test_a_global_size_that_does_not_divide_ends_the_kernel():
    evaluation = refused(OpenCL(), ROW_SUM.replace("(M * 32)", "(M * 32 + 1)"))

    assert (Status.CRASHED, True) == (evaluation.status, "no multiple of local size" in evaluation.log)


HEAD = """\
import numpy as np
from numba import carray, cfunc, njit, prange


@njit(parallel=PARALLEL)
def add(rows, sums, scratch):
    for i in prange(rows.shape[0]):
        scratch[:] = rows[i]
        for j in range(rows.shape[1]):
            sums[i] += scratch[j]


@cfunc("void(CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, y, M, N):
    sums = carray(y, (M,))
    sums[:] = 0
"""
CALL = "    add(carray(x, (M, N)), sums, np.zeros(N, np.float32))\n"


@NUMBA
def test_numba_kernels_may_call_functions_and_make_arrays():
    evaluation = judged(Numba(), HEAD.replace("PARALLEL", "False") + CALL)

    assert Status.OK == evaluation.status, evaluation.log
    assert evaluation.speedup > 0


NUMBA_REFUSED = {
    "parallel": (HEAD.replace("PARALLEL", "True") + CALL, "parallel=True needs Numba's own threads"),
    "a plain function": ("def kernel_fn(x):\n    return x.sum(1)\n", "must be decorated with numba.cfunc"),
    "a type that does not fit": (HEAD.replace("PARALLEL", "False") + "    sums.nothing()\n", "TypingError"),
    "a set": (HEAD.replace("PARALLEL", "False") + "    sums[0] = len({N, M})\n", "undefined reference"),
}


@NUMBA
@pytest.mark.parametrize("name", NUMBA_REFUSED)
def test_numba_sources_that_cannot_be_built_are_told_why(name):
    source, words = NUMBA_REFUSED[name]
    evaluation = refused(Numba(), source)

    assert (Status.BUILD_FAILED, True) == (evaluation.status, words in evaluation.log), evaluation.log


@NUMBA
def test_an_exception_ends_a_numba_kernel():
    source = HEAD.replace("PARALLEL", "False") + '    if M > 2:\n        raise ValueError("no", M)\n'
    evaluation = refused(Numba(), source)

    assert (Status.CRASHED, True) == (evaluation.status, "raised an exception" in evaluation.log), evaluation.log


@pytest.mark.parametrize(("language", "package"), [(Numba(), "numba"), (OpenCL(), "pocl-binary-distribution")])
def test_what_is_missing_is_said_with_the_command_that_installs_it(language, package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ToolchainError, match=f"pip install .*{package}"):
        language.fingerprint(Cpu())
