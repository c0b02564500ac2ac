"""Seeds, cheats and honest kernels on a real NVIDIA GPU, through the whole evaluator."""

import dataclasses

import pytest

from fitness import Evaluator, Kernel, Status
from fitness.languages import Cuda, Triton
from fitness.targets import Nvidia
from fitness.tasks import (
    Bucketize,
    Conv1d,
    GeluBias,
    LayerNorm,
    Matmul,
    PrefixSum,
    RowSum,
    Softmax,
    Stencil2d,
    Transpose,
)

pytestmark = pytest.mark.gpu

SETTINGS = {"build_timeout_s": 60, "run_timeout_s": 60, "cache_regime": "cold", "time_limit_s": 0.5, "null_every": 0}
SIZES = [{"M": 1024, "N": 2048}]


def evaluator_of(task, language, **settings):
    return Evaluator(task, Nvidia(), language, **{**SETTINGS, **settings})


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


TASKS = [Softmax, RowSum, Matmul, LayerNorm, GeluBias, Transpose, PrefixSum, Conv1d, Stencil2d, Bucketize]


@pytest.mark.parametrize("language", [Triton(), Cuda()], ids=lambda language: language.name)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_seeds_are_correct_and_timed(task, language):
    made = evaluator_of(task().on_device(), language, time_limit_s=0.2)
    evaluation = made.evaluate(made.task.seed_kernel(language.name), made.calibrate())
    made.close()

    assert Status.OK == evaluation.status, evaluation.log
    assert evaluation.interval[0] <= 1.05
    assert evaluation.interval[1] >= 0.95


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

CHEATS = {
    "side stream": (
        "side = torch.cuda.Stream()\n\n\ndef kernel_fn(x):\n    y = torch.empty((x.shape[0],), device=x.device)\n"
        "    with torch.cuda.stream(side):\n        torch.cuda._sleep(2_000_000)\n        y.copy_(honest(x))\n    return y\n",
        {Status.WRONG_VALUE},
    ),
    "stale graph": (
        "graphs = {}\n\n\ndef kernel_fn(x):\n    if x.shape not in graphs:\n        honest(x)\n        torch.cuda.synchronize()\n"
        "        static = x.clone()\n        graph = torch.cuda.CUDAGraph()\n        with torch.cuda.graph(graph):\n"
        "            out = honest(static)\n        graphs[x.shape] = graph, out\n    graph, out = graphs[x.shape]\n"
        "    graph.replay()\n    return out.clone()\n",
        {Status.WRONG_VALUE},
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
        {Status.WRONG_VALUE},
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
    "endless": ("def kernel_fn(x):\n    while True:\n        pass\n", {Status.RUN_TIMEOUT}),
    "memory bomb": (
        "def kernel_fn(x):\n    hoard = [torch.empty(1 << 34, dtype=torch.int8, device=x.device) for _ in range(64)]\n    return honest(x)\n",
        {Status.OUT_OF_MEMORY},
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_do_not_score(triton, name):
    source, expected = CHEATS[name]
    evaluator, calibration = triton
    if name == "endless":
        evaluator = evaluator_of(evaluator.task, Triton(), run_timeout_s=3, build_timeout_s=6)
    evaluation = evaluator.evaluate(Kernel(HEAD + source, "triton", "kernel_fn"), calibration)

    assert evaluation.status in expected, evaluation.log


def test_an_innocent_kernel_after_an_illegal_access(triton):
    evaluator, calibration = triton
    evaluator.evaluate(Kernel(HEAD + CHEATS["illegal access"][0], "triton", "kernel_fn"), calibration)
    evaluation = evaluator.evaluate(Kernel(HEAD + "kernel_fn = honest\n", "triton", "kernel_fn"), calibration)

    assert Status.OK == evaluation.status, evaluation.log


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

    assert Status.OK == evaluation.status, evaluation.log
    assert evaluation.latency_us > 0


def test_tf32_is_not_float32():
    task = Matmul(time_sizes=[{"M": 512, "N": 512, "K": 512}])
    made = evaluator_of(task, Triton())
    seed = task.seed_kernel("triton")
    evaluation = made.evaluate(
        dataclasses.replace(seed, source=seed.source.replace('input_precision="ieee"', 'input_precision="tf32"')),
        made.calibrate(),
    )
    made.close()

    assert Status.WRONG_VALUE == evaluation.status


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

    assert evaluation.status in expected, evaluation.log
