"""CUDA and HIP sources on fibers: the real evaluator, no GPU."""

from contextlib import closing
from pathlib import Path

import pytest

from fitness import Evaluator, Kernel, Status, tasks
from fitness.languages import Cuda, Hip
from fitness.targets import Interpret
from fitness.tasks import RowSum, Softmax, Transpose

SEEDS = Path(tasks.__file__).parent / "seeds"


def judged(source, task=None, language=None):
    task, language = task or RowSum(), language or Cuda()
    with closing(Evaluator(task, Interpret(), language)) as evaluator:
        return evaluator.evaluate(Kernel(source, language.name), evaluator.calibrate())


BLOCK_SUM = """\
__global__ void sum(const float* x, float* y, long N) {
    __shared__ float part[128];
    float total = 0;
    for (long j = threadIdx.x; j < N; j += 128) total += x[blockIdx.x * N + j];
    part[threadIdx.x] = total;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) {
    sum<<<M, 128, 0, stream>>>(x, y, N);
}
"""

WARP_SUM = """\
__global__ void sum(const float* x, float* y, long N) {
    float total = 0;
    for (long j = threadIdx.x; j < N; j += 32) total += x[blockIdx.x * N + j];
    for (int o = 16; o; o /= 2) total += __shfl_down_sync(0xffffffffu, total, o);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) { sum<<<M, 32>>>(x, y, N); }
"""

DYNAMIC_SUM = """\
template <int THREADS> __global__ void sum(const float* x, float* y, long N) {
    extern __shared__ float part[];
    float total = 0;
    for (long j = threadIdx.x; j < N; j += THREADS) total += x[blockIdx.x * N + j];
    part[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x == 0) { total = 0; for (int i = 0; i < THREADS; ++i) total += part[i]; y[blockIdx.x] = total; }
}
extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) {
    sum<64><<<dim3(M), dim3(64), 64 * sizeof(float), stream>>>(x, y, N);
}
"""

ATOMIC_SUM = """\
__global__ void sum(const float* x, float* y, long M, long N) {
    const long row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M) for (long j = 0; j < N; ++j) atomicAdd(y + row, x[row * N + j]);
}
extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, M * sizeof(float), stream);
    sum<<<(M + 31) / 32, 32, 0, stream>>>(x, y, M, N);
}
"""


TILE_SUM = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n" + WARP_SUM.replace(
    "for (int o = 16; o; o /= 2) total += __shfl_down_sync(0xffffffffu, total, o);",
    "namespace cg = cooperative_groups;\n    auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
    "    total = cg::reduce(tile, total, cg::plus<float>());\n    tile.sync();",
)
PARTS_SUM = WARP_SUM.replace(
    "for (int o = 16; o;",
    "const unsigned part = threadIdx.x < 8 ? 0xffu : 0xffffff00u;\n"
    "    if (threadIdx.x < 8) total += 0 * __shfl_xor_sync(0xffu, total, 1);\n"
    "    const int lanes = __reduce_add_sync(part, 1);\n    if (__popc(__match_any_sync(part, 1)) != lanes || lanes != (threadIdx.x < 8 ? 8 : 24)) total = 0;\n"
    "    if (__syncthreads_count(threadIdx.x < 5) != 5) total = 0;\n    for (int o = 16; o;",
)


@pytest.mark.parametrize(
    "source",
    [BLOCK_SUM, WARP_SUM, DYNAMIC_SUM, ATOMIC_SUM, TILE_SUM, PARTS_SUM],
    ids=["block", "warp", "dynamic", "atomic", "tile", "parts of a warp"],
)
def test_barriers_shuffles_shared_memory_and_atomics(source):
    evaluation = judged(source)

    assert (Status.OK, ("not_timed",)) == (evaluation.status, evaluation.flags), evaluation.log
    assert evaluation.latency_us is None


def test_a_missing_barrier_is_found():
    evaluation = judged(
        BLOCK_SUM.replace("    part[threadIdx.x] = total;\n    __syncthreads();", "    part[threadIdx.x] = total;")
    )

    assert evaluation.status in {Status.WRONG_VALUE, Status.UNREPEATABLE}


ENDS = {
    "it writes behind its shared memory": (DYNAMIC_SUM.replace("64 * sizeof", "63 * sizeof"), "behind the 252 bytes"),
    "it has too much shared memory": (
        DYNAMIC_SUM.replace("64 * sizeof", "(1 << 20) * sizeof"),
        "more than a block can",
    ),
    "its grid is too high": (WARP_SUM.replace("<<<M, 32>>>", "<<<dim3(M, 1 << 20), 32>>>"), "cannot be launched"),
    "its block has 2^32 threads": (WARP_SUM.replace("32>>>", "dim3(65536, 65536)>>>"), "cannot be launched"),
    "a part of it waits": (
        WARP_SUM.replace("    for (int o", "    if (threadIdx.x < 8) __syncthreads();\n    for (int o"),
        "deadlock",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_no_gpu_would_do_ends_with_a_word(name):
    source, told = ENDS[name]
    evaluation = judged(source)

    assert Status.CRASHED == evaluation.status, evaluation.log
    assert told in evaluation.log


def test_lanes_that_are_elsewhere_take_no_part_in_a_shuffle_of_hip():
    source = WARP_SUM.replace("cudaStream_t", "hipStream_t").replace(
        "for (int o = 16; o; o /= 2) total += __shfl_down_sync(0xffffffffu, total, o);",
        "if (threadIdx.x < 32) for (int o = 16; o; o /= 2) total += __shfl_down(total, o);\n    __syncthreads();",
    )

    assert Status.OK == judged(source, language=Hip()).status


def test_the_order_of_atomics_changes_between_launches():
    source = ATOMIC_SUM.replace(
        "if (row < M) for (long j = 0; j < N; ++j) atomicAdd(y + row, x[row * N + j]);",
        "for (long j = threadIdx.x; j < N; j += 32) atomicAdd(y + blockIdx.x, x[blockIdx.x * N + j]);",
    )
    source = source.replace("(M + 31) / 32, 32", "M, 32")

    assert Status.UNREPEATABLE == judged(source).status


def test_hip_has_warps_of_64():
    source = (
        WARP_SUM.replace("cudaStream_t", "hipStream_t")
        .replace("j += 32", "j += 64")
        .replace("<<<M, 32>>>", "<<<M, 64>>>")
    )
    source = source.replace("__shfl_down_sync(0xffffffffu, total, o)", "__shfl_down(total, o)").replace(
        "int o = 16", "int o = 32"
    )

    assert Status.OK == judged(source, language=Hip()).status


CUDA_SEEDED = [
    task
    for task in (getattr(tasks, name) for name in tasks.__all__)
    if task is not tasks.TensorTask and (SEEDS / f"{task.name}.cu").is_file()
]


@pytest.mark.parametrize("task", CUDA_SEEDED, ids=lambda task: task.name)
def test_cuda_seeds_are_correct(task):
    few = task(check_sizes=task().check_sizes[2:8])
    evaluation = judged(few.seed_kernel("cuda").source, few)

    assert Status.OK == evaluation.status, evaluation.log


@pytest.mark.parametrize("task", [Softmax(), Transpose()], ids=lambda task: task.name)
def test_hip_seeds_are_correct(task):
    evaluation = judged(task.seed_kernel("hip").source, task, Hip())

    assert Status.OK == evaluation.status, evaluation.log


def test_every_task_has_a_cuda_seed():
    assert {path.stem for path in SEEDS.glob("*.cpp") if not path.stem.endswith("_tunable")} == {
        task.name for task in CUDA_SEEDED
    }


@pytest.mark.parametrize("task", CUDA_SEEDED, ids=lambda task: task.name)
def test_a_hip_seed_is_the_cuda_seed_with_hips_stream(task):
    cuda = task().seed_kernel("cuda").source
    as_hip = cuda.replace("cudaStream_t", "hipStream_t").replace("cuda_fp16.h", "hip/hip_fp16.h")
    assert as_hip == task().seed_kernel("hip").source


def test_a_block_that_is_too_large_cannot_be_launched():
    assert Status.CRASHED == judged(WARP_SUM.replace("<<<M, 32>>>", "<<<M, 2048>>>")).status


def test_what_is_not_covered_does_not_build():
    source = WARP_SUM.replace("float total = 0;", "float total = 0; nvcuda::wmma::fragment<int> f;")

    assert Status.BUILD_FAILED == judged(source).status


def test_a_search_refuses_a_target_without_times(command, tmp_path):
    done = command("run", "language=cuda", "target=interpret", f"hydra.run.dir={tmp_path / 'run'}")

    assert done.returncode in {1, 2}
    assert "latency_us" in done.stderr


def test_a_build_is_kept_by_all_that_it_depends_on(monkeypatch):
    before = Cuda().fingerprint(Interpret())
    monkeypatch.setattr("fitness.languages.simt.digest_of_workers", lambda *names: "another header")

    assert before != Cuda().fingerprint(Interpret())
