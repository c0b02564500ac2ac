"""Seeds, cheats and honest kernels on a real NVIDIA GPU, through the whole evaluator."""

import dataclasses
import importlib.util
import json
import shutil
from contextlib import closing

import pytest

import kernelbench_problems as problems
from fitness import Calibration, Evaluator, Kernel, Status, tasks
from fitness.baselines import baseline_kernel
from fitness.executors import Local
from fitness.kernelbench import KernelBench
from fitness.languages import Cuda, Cute, Torch, Triton
from fitness.targets import Nvidia
from fitness.tasks import Matmul, RowSum, Softmax
from kernelbench_problems import checkout

pytestmark = pytest.mark.gpu

SETTINGS = {"build_timeout_s": 60, "run_timeout_s": 60, "cache_regime": "cold", "time_limit_s": 0.5, "null_every": 0}
SIZES = [{"M": 1024, "N": 2048}]
UNMEASURED = Calibration({}, 0.01)
"""Of a device whose peaks and noise nobody asked for: that takes as long as three evaluations."""


def evaluator_of(task, language, **settings):
    return Evaluator(
        task, Nvidia(spares=1), language, **{**SETTINGS, **settings}
    )  # fewer wait ready: all share one driver


@pytest.fixture(scope="module")
def triton():
    made = evaluator_of(RowSum(time_sizes=SIZES), Triton())
    yield made, made.calibrate()
    made.close()


@pytest.fixture(scope="module")
def cuda():
    made = evaluator_of(RowSum(time_sizes=SIZES), Cuda())
    yield made, made.calibrate()
    made.close()


TASKS = [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"]


def told(evaluation):
    """What a failing test should say: the record without its samples."""
    samples = {"samples_us", "reference_samples_us"}
    record = evaluation.to_json()
    record["measurements"] = [
        {name: value for name, value in each.items() if name not in samples} for each in record["measurements"]
    ]
    return json.dumps(record)  # as text: pytest shortens everything else


@pytest.mark.parametrize("language", [Triton(), Cuda()], ids=lambda language: language.name)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_seeds_are_correct_and_timed(task, language):
    with closing(evaluator_of(task().on_device(), language, time_limit_s=0.2)) as made:
        evaluation = made.evaluate(made.task.seed_kernel(language.name), UNMEASURED)

    assert Status.OK == evaluation.status, told(evaluation)
    # It is timed against itself; where memory lies differs from process to process.
    assert evaluation.interval[0] <= 1.1, told(evaluation)
    assert evaluation.interval[1] >= 0.9, told(evaluation)


@pytest.mark.parametrize("task", [RowSum, Softmax], ids=lambda task: task.name)
def test_cute_seeds_are_correct_and_timed(task):
    pytest.importorskip("cutlass")
    with closing(evaluator_of(task().on_device(), Cute(), time_limit_s=0.2)) as made:
        evaluation = made.evaluate(made.task.seed_kernel("cute"), UNMEASURED)

    assert Status.OK == evaluation.status, told(evaluation)
    assert evaluation.latency_us > 0


KERNELBENCH_ROW_SUMS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x, y, N, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row, tl.sum(values * values, axis=0))


def kernel_fn(x):
    y = torch.empty((x.shape[0],), device=x.device)
    squares[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
"""


def test_a_kernelbench_problem_is_timed_and_judged(tmp_path):
    task = KernelBench(1, 1, checkout(tmp_path, problems.SQUARES))
    with closing(evaluator_of(task.on_device(), Torch(), time_limit_s=0.2)) as made:
        model = made.evaluate(made.task.seed_kernel("torch"), made.calibrate())
    with closing(evaluator_of(task.on_device(), Triton(), time_limit_s=0.2)) as made:
        calibration = made.calibrate()
        kernel = made.evaluate(Kernel(KERNELBENCH_ROW_SUMS, "triton", "kernel_fn"), calibration)
        halved = KERNELBENCH_ROW_SUMS.replace("values * values", "values * values / 2")
        wrong = made.evaluate(Kernel(halved, "triton", "kernel_fn"), calibration)

    assert Status.OK == model.status, told(model)
    assert Status.OK == kernel.status, told(kernel)
    assert "launches_no_kernel" not in kernel.flags
    assert Status.WRONG_VALUE == wrong.status, told(wrong)


@pytest.mark.parametrize("task", [Softmax, Matmul, tasks.Attention], ids=lambda task: task.name)
def test_seeds_are_timed_against_torch(task):
    names = ("eager", "compile", "max_autotune", "library")
    with closing(evaluator_of(task().on_device(), Triton(), time_limit_s=0.2, baselines=names)) as made:
        kernel = made.task.seed_kernel("triton")
        evaluation = made.compare(kernel, made.evaluate(kernel, made.calibrate()))

    assert Status.OK == evaluation.status, told(evaluation)
    there = [name for name in names if baseline_kernel(made.task, name) is not None]
    assert [(name, Status.OK) for name in there] == [(each.name, each.status) for each in evaluation.baselines], [
        each.log for each in evaluation.baselines
    ]


HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def sum_row(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row, tl.sum(total, axis=0))


def honest(x):
    y = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    sum_row[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    return y


"""

CAUGHT = {Status.WRONG_VALUE, Status.UNREPEATABLE, Status.TAMPERED}
"""Of a race: while the first call compiles, a side stream catches up, and equal inputs then give two results; or what
it still writes when its output is given up lands in memory that is another call's by then."""

CHEATS = {
    "side stream": (
        "side = torch.cuda.Stream()\n\n\ndef kernel_fn(x):\n    y = torch.empty((x.shape[0],), device=x.device)\n"
        "    with torch.cuda.stream(side):\n        torch.cuda._sleep(2_000_000)\n        y.copy_(honest(x))\n    return y\n",
        CAUGHT,
    ),
    "stale graph": (
        "graphs = {}\n\n\ndef kernel_fn(x):\n    if x.shape not in graphs:\n        honest(x)\n        torch.cuda.synchronize()\n"
        "        static = x.clone()\n        graph = torch.cuda.CUDAGraph()\n        with torch.cuda.graph(graph):\n"
        "            out = honest(static)\n        graphs[x.shape] = graph, out\n    graph, out = graphs[x.shape]\n"
        "    graph.replay()\n    return out.clone()\n",
        CAUGHT,
    ),
    "by pointer": (
        "memo = {}\n\n\ndef kernel_fn(x):\n    key = (x.data_ptr(), x.shape)\n    if key not in memo:\n"
        "        memo[key] = honest(x)\n    return memo[key].clone()\n",
        {Status.WRONG_VALUE},
    ),
    "by a sampled checksum": (
        "memo = {}\n\n\ndef kernel_fn(x):\n    key = (float(x.view(-1)[0]), x.shape)\n    if key not in memo:\n"
        "        memo[key] = honest(x)\n    return memo[key].clone()\n",
        {Status.WRONG_VALUE, Status.OK},  # new data for every call: the memo never helps, and then it is honest
    ),
    "half precision": ("def kernel_fn(x):\n    return honest(x.half().float())\n", {Status.WRONG_VALUE}),
    "patched events": (
        "torch.cuda.Event.elapsed_time = lambda self, other: 1e-4\n\n\ndef kernel_fn(x):\n    return honest(x)\n",
        {Status.SUSPECT},
    ),
    "slow and patched": (
        "real = torch.cuda.Event.elapsed_time\ntorch.cuda.Event.elapsed_time = lambda self, other: real(self, other) / 20\n\n\n"
        "def kernel_fn(x):\n    torch.cuda._sleep(300_000)\n    return honest(x)\n",
        {Status.SUSPECT},
    ),
    "patched synchronisation": (
        "torch.cuda.synchronize = lambda *a: None\nside = torch.cuda.Stream()\n\n\ndef kernel_fn(x):\n"
        "    y = torch.empty((x.shape[0],), device=x.device)\n    with torch.cuda.stream(side):\n"
        "        torch.cuda._sleep(2_000_000)\n        y.copy_(honest(x))\n    return y\n",
        CAUGHT,
    ),
    "patched recording": (
        "real = torch.cuda.Event.record\n\n\ndef kernel_fn(x):\n    torch.cuda._sleep(300_000)\n    y = honest(x)\n"
        "    torch.cuda.Event.record = lambda self, *a: real(self, torch.cuda.default_stream())\n    return y\n",
        {Status.OK},  # all of it is on the default stream, so nothing is hidden: slow, and told to be
    ),
    "work after the events": (
        "import threading\nside = torch.cuda.Stream()\n\n\ndef later(y, x):\n    with torch.cuda.stream(side):\n        y.copy_(honest(x))\n\n\n"
        "def kernel_fn(x):\n    y = torch.zeros((x.shape[0],), device=x.device)\n"
        "    threading.Timer(0.002, later, (y, x)).start()\n    return y\n",
        CAUGHT,
    ),
    "reserved L2": (
        "import ctypes\ndriver = ctypes.CDLL('libcuda.so.1')\n\n\ndef kernel_fn(x):\n"
        "    driver.cuCtxSetLimit(6, ctypes.c_size_t(16 << 20))\n    return honest(x)\n",
        {Status.TAMPERED},
    ),
    "bfloat16 sums": (
        "def kernel_fn(x):\n    return x.bfloat16().sum(1).float()\n",
        {Status.WRONG_VALUE},
    ),
    "zeros": ("def kernel_fn(x):\n    return torch.zeros(x.shape[0], device=x.device)\n", {Status.WRONG_VALUE}),
    "memory of before": (
        "def kernel_fn(x):\n    return torch.empty(x.shape[0], device=x.device)\n",
        {Status.WRONG_VALUE},
    ),
    "half of the rows": (
        "def kernel_fn(x):\n    y = torch.empty((x.shape[0],), device=x.device)\n"
        "    sum_row[(max(1, x.shape[0] // 2),)](x, y, x.shape[1], BLOCK=1024)\n    return y\n",
        {Status.WRONG_VALUE},
    ),
    "only aligned sizes": (
        "def kernel_fn(x):\n    y = honest(x)\n    return y if x.shape[1] % 128 == 0 else torch.zeros_like(y)\n",
        {Status.WRONG_VALUE},
    ),
    "cheap after many calls": (
        "calls = 0\n\n\ndef kernel_fn(x):\n    global calls\n    calls += 1\n"
        "    return honest(x) if calls < 90 else torch.zeros(x.shape[0], device=x.device)\n",
        CAUGHT,
    ),
    "on the CPU": (
        "def kernel_fn(x):\n    return x.cpu().sum(1)\n",
        {Status.WRONG_SHAPE, Status.CRASHED, Status.TAMPERED, Status.WRONG_VALUE},
    ),
    "lazy": (
        "class Lazy(torch.Tensor):\n    pass\n\n\ndef kernel_fn(x):\n    return honest(x).as_subclass(Lazy)\n",
        {Status.TAMPERED},
    ),
    "input as scratch": (
        "def kernel_fn(x):\n    y = honest(x)\n    x.zero_()\n    return y\n",
        {Status.TAMPERED},
    ),
    "illegal access": (
        "@triton.jit\ndef far(x):\n    tl.store(x + (tl.program_id(0).to(tl.int64) + 1) * (1 << 40), 1.0)\n\n\n"
        "def kernel_fn(x):\n    far[(1,)](x)\n    return honest(x)\n",
        {Status.CRASHED},
    ),
    "memory bomb": (
        "def kernel_fn(x):\n    hoard = [torch.empty(1 << 34, dtype=torch.int8, device=x.device) for _ in range(64)]\n    return honest(x)\n",
        {Status.OUT_OF_MEMORY},
    ),
}


def test_who_refuses_to_be_captured_is_timed_by_the_parents_clock(triton):
    """Events that claim a twentieth, as in "slow and patched", of calls that wait for the device: no graph holds those."""
    body = (
        "real = torch.cuda.Event.elapsed_time\ntorch.cuda.Event.elapsed_time = lambda self, other: real(self, other) / 20\n\n\n"
        "def kernel_fn(x):\n    torch.cuda.synchronize()\n    torch.cuda._sleep(3_000_000)\n    return honest(x)\n"
    )
    evaluator, calibration = triton
    evaluation = evaluator.evaluate(Kernel(HEAD + body, "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, told(evaluation)
    assert "not_capturable" in evaluation.flags
    assert evaluation.speedup < 0.2, told(evaluation)  # it sleeps for milliseconds, the seed takes microseconds
    claimed = evaluator.evaluate(Kernel(HEAD + body.replace(" / 20", ""), "triton", "kernel_fn"), calibration)
    assert evaluation.speedup < 4 * claimed.speedup, told(evaluation)  # 20 if it were believed; others make both vary


def test_an_honest_kernel_that_waits_for_the_device_passes(triton):
    evaluator, calibration = triton
    body = "def kernel_fn(x):\n    y = honest(x)\n    torch.cuda.synchronize()\n    return y\n"
    evaluation = evaluator.evaluate(Kernel(HEAD + body, "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, told(evaluation)
    assert "not_capturable" in evaluation.flags
    assert evaluation.speedup < 1.1, told(evaluation)  # it is the seed, and waiting costs


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_do_not_score(triton, name):
    source, expected = CHEATS[name]
    evaluator, calibration = triton
    evaluation = evaluator.evaluate(Kernel(HEAD + source, "triton", "kernel_fn"), calibration)

    assert evaluation.status in expected, told(evaluation)


def test_an_endless_kernel_is_stopped():
    source = HEAD + "def kernel_fn(x):\n    while True:\n        pass\n"
    with closing(evaluator_of(RowSum(time_sizes=SIZES), Triton(), run_timeout_s=3, build_timeout_s=6)) as made:
        evaluation = made.evaluate(Kernel(source, "triton", "kernel_fn"), UNMEASURED)

    assert Status.RUN_TIMEOUT == evaluation.status, told(evaluation)


def test_a_kernel_for_show_is_flagged(triton):
    evaluator, calibration = triton
    body = "def kernel_fn(x):\n    honest(x[:1])\n    return x.sum(1)\n"
    evaluation = evaluator.evaluate(Kernel(HEAD + body, "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, evaluation.log
    assert "ghost_kernel" in evaluation.flags


@pytest.fixture(scope="module")
def honest(triton):
    evaluator, calibration = triton
    return evaluator.evaluate(Kernel(HEAD + "kernel_fn = honest\n", "triton", "kernel_fn"), calibration)


def test_an_evaluation_tells_the_limit(honest):
    assert Status.OK == honest.status, told(honest)
    assert "of the roofline" in honest.profile


@pytest.mark.skipif(importlib.util.find_spec("elftools") is None, reason="pyelftools is not installed")
def test_an_evaluation_tells_registers(honest):
    assert honest.static["registers"] > 0
    assert "registers a thread" in honest.profile


@pytest.mark.skipif(importlib.util.find_spec("pynvml") is None, reason="nvidia-ml-py is not installed")
def test_an_evaluation_tells_clocks(honest):
    assert "MHz" in honest.profile


def test_a_seed_is_timed_without_namespaces():
    with closing(evaluator_of(RowSum(time_sizes=SIZES), Triton(), sandbox="limits")) as made:
        evaluation = made.evaluate(made.task.seed_kernel("triton"), UNMEASURED)

    assert Status.OK == evaluation.status, told(evaluation)


def test_two_gpus_time_side_by_side():
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    made = Evaluator(RowSum(time_sizes=SIZES), Nvidia(devices=(0, 1)), Triton(), **SETTINGS)
    calibration = made.calibrate()
    kernels = [Kernel(HEAD + f"# {number}\nkernel_fn = honest\n", "triton", "kernel_fn") for number in range(4)]
    with Local(workers=2, devices=(0, 1)) as executor:
        futures = [executor.submit(made.evaluate, kernel, calibration) for kernel in kernels]
        statuses = [future.result().status for future in futures]
    made.close()

    assert [Status.OK] * 4 == statuses


def test_an_innocent_kernel_after_an_illegal_access(triton):
    evaluator, calibration = triton
    evaluator.evaluate(Kernel(HEAD + CHEATS["illegal access"][0], "triton", "kernel_fn"), calibration)
    evaluation = evaluator.evaluate(Kernel(HEAD + "kernel_fn = honest\n", "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, told(evaluation)


HONEST = {
    "plain": "kernel_fn = honest\n",
    "scratch": "scratch = {}\n\n\ndef kernel_fn(x):\n    buffer = scratch.setdefault(x.shape, torch.empty_like(x))\n    buffer.copy_(x)\n    return honest(buffer)\n",
    "own stream, joined": (
        "side = torch.cuda.Stream()\n\n\ndef kernel_fn(x):\n    side.wait_stream(torch.cuda.current_stream())\n"
        "    with torch.cuda.stream(side):\n        y = honest(x)\n    torch.cuda.current_stream().wait_stream(side)\n    return y\n"
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_kernels_pass(triton, name):
    evaluator, calibration = triton
    evaluation = evaluator.evaluate(Kernel(HEAD + HONEST[name], "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, told(evaluation)
    assert evaluation.latency_us > 0


def test_tf32_is_not_float32():
    task = Matmul(time_sizes=[{"M": 512, "N": 512, "K": 512}])
    seed = task.seed_kernel("triton")
    coarse = dataclasses.replace(seed, source=seed.source.replace('input_precision="ieee"', 'input_precision="tf32"'))
    with closing(evaluator_of(task, Triton())) as made:
        evaluation = made.evaluate(coarse, UNMEASURED)

    assert Status.WRONG_VALUE == evaluation.status, told(evaluation)


CUDA = """\
__global__ void sum_row(const float* x, float* y, long M, long N) {
    long row = blockIdx.x;
    if (row >= M) return;
    float total = 0.0f;
    for (long j = threadIdx.x; j < N; j += 32) total += x[row * N + j];
    for (int o = 16; o; o /= 2) total += __shfl_down_sync(0xffffffffu, total, o);
    if (threadIdx.x == 0) y[row] = total;
}
extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) {
    sum_row<<<M, 32, 0, stream>>>(x, y, M, N);
}
"""

CUDA_KERNELS = {
    "honest": (CUDA, {Status.OK}),
    "past the end": (
        CUDA.replace("y[row] = total", "y[row] = total, y[row + 1] = row + 1 == M ? 1.0f : y[row + 1]"),
        {Status.TAMPERED},
    ),
    "input written": (
        CUDA.replace("y[row] = total", "y[row] = total, const_cast<float*>(x)[row * N] = 0"),
        {Status.TAMPERED},
    ),
    "too many threads": (CUDA.replace("<<<M, 32", "<<<M, 4096"), {Status.CRASHED}),
    "no launch": (CUDA.replace("    sum_row<<<M, 32, 0, stream>>>(x, y, M, N);\n", ""), {Status.WRONG_VALUE}),
    "null pointer": (CUDA.replace("y[row] = total", "*(volatile float*)0 = total"), {Status.CRASHED}),
    "does not compile": (CUDA.replace("float total = 0.0f", "float total = nothing"), {Status.BUILD_FAILED}),
}


@pytest.mark.parametrize("name", CUDA_KERNELS)
def test_cuda_kernels(cuda, name):
    source, expected = CUDA_KERNELS[name]
    evaluator, calibration = cuda
    evaluation = evaluator.evaluate(Kernel(source, "cuda"), calibration)

    assert evaluation.status in expected, told(evaluation)


def test_hardware_counters_are_read_where_ncu_may(caplog):
    if shutil.which("ncu") is None:
        pytest.skip("needs ncu on the PATH")
    with closing(evaluator_of(RowSum(time_sizes=SIZES), Triton(), profiler=True)) as made:
        evaluation = made.evaluate(Kernel(HEAD + "kernel_fn = honest\n", "triton", "kernel_fn"), UNMEASURED)

    assert Status.OK == evaluation.status, told(evaluation)
    if refusals := [each for each in caplog.messages if "no hardware counters" in each]:
        pytest.skip(refusals[0])
    assert "Hardware counters of sum_row: DRAM at " in evaluation.profile
    assert "achieved occupancy" in evaluation.profile
    assert "Its warps wait most for " in evaluation.profile
