"""What the edits for CUDA, HIP and Python-hosted kernels make of small kernels."""

import numpy as np
import pytest

from operators.syntax import applied, parse
from operators.syntax.edits import KINDS

CUDA = """\
__global__ void scale(const float* x, float* y, long N) {
    __shared__ float tile[32][32];
    long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = x[i] + tile[0][0];
}

extern "C" void kernel(const float* x, float* y, long N, cudaStream_t stream) {
    scale<<<(N + 127) / 128, 128, 0, stream>>>(x, y, N);
}
"""
ROWS = """\
__global__ void rows(const float* x, float* y, long M, long N) {
    long row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) return;
    float sum = 1.0f;
    for (long j = 0; j < N; ++j) {
        sum += x[row * N + j];
    }
    y[row] = sum;
}

extern "C" void kernel(const float* x, float* y, long M, long N, cudaStream_t stream) {
    rows<<<(M + 127) / 128, 128, 0, stream>>>(x, y, M, N);
}
"""
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def double(x, y, N, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        scale = N * 2
        total += tl.load(x + offsets, mask=offsets < N, other=0.0) * scale
    tl.store(y, tl.sum(total, axis=0))


def kernel_fn(x):
    y = x.new_empty(1)
    double[(1,)](x, y, x.numel(), BLOCK=128, num_warps=4)
    return y
"""
OPENCL = """\
#pragma launch rows global((M + 15) / 16 * 16) local(16)

__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void rows(__global const float* x, __global float* y, long M, long N) {
    __local float part[16];
    long i = get_global_id(0);
    float sum = 0.0f;
    for (long j = 0; j < N; ++j) {
        sum += exp(x[i * N + j]) * (M * N + 1);
    }
    if (i < M) y[i] = sum;
}
"""
NUMBA = """\
from numba import cfunc, njit


@njit
def add(a, b):
    return a + b


@cfunc("void(CPointer(float32), int64)")
def kernel_fn(x, N):
    for i in range(N):
        x[i] = add(x[i], 1)
"""


def outcomes(grammar: str, kind: str, source: str, draws: int = 30) -> set[str | None]:
    tree = parse(source, grammar)
    edits = [KINDS[grammar][kind](tree, np.random.default_rng(seed)) for seed in range(draws)]
    return {applied(edit, tree, "kernel_fn") if edit is not None else None for edit in edits}


def test_the_grammar_reads_cuda():
    assert 0 == parse(CUDA, "cuda").num_errors


def test_a_block_size_changes_with_the_division_that_rounds_up():
    assert CUDA.replace("127", "255").replace("128", "256") in outcomes("cuda", "block_size", CUDA)


def test_a_block_takes_another_shape_with_the_grid_that_rounds_up_to_it():
    flat = "(M + 15) / 16), dim3(16, 16), 0"
    tall = CUDA.replace("<<<(N + 127) / 128, 128, 0", "<<<dim3((N + 15) / 16, " + flat)
    found = outcomes("cuda", "block_shape", tall, 200)

    assert tall.replace("(N + 15) / 16", "(N + 31) / 32").replace("dim3(16, 16)", "dim3(32, 16)") in found
    both = tall.replace("(N + 15) / 16", "(N + 31) / 32").replace(flat, "(M + 7) / 8), dim3(32, 8), 0")
    assert both in found
    assert None not in found


def test_launch_bounds_grow_with_a_block_that_outgrows_them():
    bound = CUDA.replace("__global__ void scale", "__global__ void __launch_bounds__(128) scale")
    found = outcomes("cuda", "block_shape", bound)

    assert bound.replace("(128) scale", "(512) scale").replace("127) / 128, 128", "511) / 512, 512") in found
    assert bound.replace("127) / 128, 128", "63) / 64, 64") in found


def test_a_block_whose_size_is_computed_keeps_its_shape():
    assert {None} == outcomes("cuda", "block_shape", CUDA.replace("/ 128, 128,", "/ 128, THREADS,"), 5)


def test_launch_bounds_are_set_and_dropped():
    bound = CUDA.replace("__global__ void scale", "__global__ void __launch_bounds__(128) scale")

    assert bound in outcomes("cuda", "launch_bounds", CUDA, 60)
    assert CUDA in outcomes("cuda", "launch_bounds", bound)


def test_launch_bounds_are_no_smaller_than_the_launch():
    assert not any("__launch_bounds__(64" in each for each in outcomes("cuda", "launch_bounds", CUDA, 60))


def test_constant_parameters_are_read_through_the_read_only_cache():
    wrapped = CUDA.replace("x[i]", "__ldg(&x[i])")

    assert {wrapped} == outcomes("cuda", "read_only_load", CUDA)
    assert {CUDA} == outcomes("cuda", "read_only_load", wrapped)


def test_a_shared_array_gets_a_column_more():
    assert {CUDA.replace("[32][32]", "[32][33]")} == outcomes("cuda", "shared_padding", CUDA)


def test_loops_of_kernels_are_unrolled():
    found = outcomes("cuda", "device_unroll", ROWS)

    assert any("    #pragma unroll 4\n    for (long j" in each for each in found)


def test_a_row_is_given_to_a_warp():
    (found,) = outcomes("cuda", "warp_per_row", ROWS, 2)

    assert "long row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;" in found
    assert "if (row_lane != 0) sum = 0;\n    for (long j = 0 + row_lane; j < N; j += 32)" in found
    assert "__shfl_xor_sync(0xffffffff, sum, distance)" in found
    assert "rows<<<((M + 127) / 128) * 32, 128, 0, stream>>>" in found


def test_hip_has_its_own_shuffle():
    (found,) = outcomes("cuda", "warp_per_row", ROWS.replace("cudaStream_t", "hipStream_t"), 1)

    assert "__shfl_xor(sum, distance, 32)" in found


def test_a_row_of_stores_is_not_folded():
    source = ROWS.replace("sum += x[row * N + j];", "sum = sum * 2 + x[row * N + j];")

    assert {None} == outcomes("cuda", "warp_per_row", source, 2)


def test_four_elements_are_read_at_once_where_they_are_aligned():
    (found,) = outcomes("cuda", "vector_load", ROWS, 2)

    assert "const float4 four = *reinterpret_cast<const float4*>(&x[row * N + j]);" in found
    assert "% 16 == 0" in found


def test_an_address_that_the_loop_computes_is_not_taken_before_it():
    source = ROWS.replace("sum += x[row * N + j];", "long at = row * N + j; sum += x[at];")

    assert {None} == outcomes("cuda", "vector_load", source, 2)


def test_block_sizes_of_a_launch_change():
    found = outcomes("python", "block_size", TRITON)

    assert TRITON.replace("BLOCK=128", "BLOCK=256") in found
    assert all("num_warps=4" in each for each in found)


@pytest.mark.parametrize("option", ["num_warps=8", "num_stages=2"])
def test_launch_options_are_set(option):
    assert any(option in each for each in outcomes("python", "launch_option", TRITON))


def test_memory_hints_come_and_go():
    hinted = TRITON.replace("other=0.0)", 'other=0.0, eviction_policy="evict_first")')

    assert hinted in outcomes("python", "memory_hint", TRITON)
    assert TRITON in outcomes("python", "memory_hint", hinted)


def test_loops_become_pipelined_ones():
    assert TRITON.replace("in range(", "in tl.range(") in outcomes("python", "loop_kind", TRITON)


def test_masks_are_dropped():
    assert TRITON.replace("mask=offsets < N, ", "") in outcomes("python", "mask", TRITON)


def test_accumulators_change_their_type():
    assert TRITON.replace("tl.float32", "tl.bfloat16") in outcomes("python", "precision", TRITON)


def test_fixed_assignments_leave_the_loop():
    moved = TRITON.replace("        scale = N * 2\n", "").replace("    for start", "    scale = N * 2\n    for start")

    assert {moved} == outcomes("python", "hoist", TRITON, 4)


def test_loops_of_python_are_swapped_where_they_are_free_of_each_other():
    nested = "def f(a, n):\n    for i in range(n):\n        for j in range(4):\n            a[i, j] = 0\n"
    swapped = "def f(a, n):\n    for j in range(4):\n        for i in range(n):\n            a[i, j] = 0\n"

    assert {swapped} == outcomes("python", "interchange", nested, 2)
    assert {None} == outcomes("python", "interchange", nested.replace("range(4)", "range(i)"), 2)


def test_the_last_statement_of_a_block_leaves_a_pass():
    found = outcomes("python", "delete", "def f(x):\n    if x:\n        g(x)\n", 20)

    assert "def f(x):\n    if x:\n        pass\n" in found


def test_parameters_of_python_functions_are_left_alone():
    source = "def kernel_fn(x, n=128):\n    return x\n"

    assert {None} == outcomes("python", "constant", source, 5) | outcomes("python", "block_size", source, 5)


def test_a_tile_that_is_named_changes_its_size_wherever_it_stands():
    named = CUDA.replace("__global__", "#define TILE 32\nconstexpr int WIDE = 64;\n__global__", 1).replace(
        "[32][32]", "[TILE][WIDE]"
    )
    found = outcomes("cuda", "block_size", named, 60)

    assert named.replace("TILE 32", "TILE 64") in found
    assert named.replace("WIDE = 64", "WIDE = 32") in found


def test_loops_of_cute_are_unrolled():
    plain = "import cutlass\n\ndef rows(x, N):\n    for j in range(N):\n        total += x[j]\n"
    unrolled = plain.replace("range(N)", "cutlass.range(N, unroll=4)")

    assert unrolled in outcomes("python", "loop_kind", plain)
    assert {plain, unrolled.replace("=4", "=8")} <= outcomes("python", "loop_kind", unrolled)


def test_promises_about_offsets_come_and_go():
    promised = TRITON.replace("start + tl.arange(0, BLOCK)", "tl.multiple_of(start + tl.arange(0, BLOCK), 8)")

    assert promised in outcomes("python", "alignment_hint", TRITON)
    assert TRITON in outcomes("python", "alignment_hint", promised)


def test_the_grammar_reads_opencl():
    tree = parse(OPENCL, "opencl")

    assert 0 == tree.num_errors
    assert OPENCL.encode() == tree.source


def test_a_work_group_changes_in_its_launch_and_where_it_is_required():
    found = outcomes("opencl", "work_group", OPENCL, 60)
    wanted = OPENCL.replace("15", "63").replace("16", "64").replace("part[64]", "part[16]")

    assert wanted in found


def test_a_work_group_of_one_is_left():
    one = OPENCL.replace("((M + 15) / 16 * 16) local(16)", "(M) local(1)")

    assert {None} == outcomes("opencl", "work_group", one, 3)


def test_functions_become_native_and_exact_again():
    native = OPENCL.replace("exp(", "native_exp(")

    assert {native} == outcomes("opencl", "native_function", OPENCL, 3)
    assert {OPENCL} == outcomes("opencl", "native_function", native, 3)


def test_loops_of_opencl_kernels_are_unrolled():
    assert any("#pragma unroll 4\n    for (long j" in each for each in outcomes("opencl", "device_unroll", OPENCL))


def test_what_is_hoisted_has_a_type_of_c():
    (found,) = outcomes("opencl", "hoist", OPENCL, 1)

    assert "const __auto_type" in found
    assert "auto " not in found.replace("__auto_type", "")


def test_parameters_of_opencl_kernels_are_promised_not_to_overlap():
    assert any("* __restrict__ x" in each for each in outcomes("opencl", "restrict", OPENCL) if each)


def test_functions_of_numba_get_options_and_lose_them():
    found = outcomes("python", "compile_option", NUMBA, 60)
    fast = NUMBA.replace('int64)")', 'int64)", fastmath=True)')

    assert fast in found
    assert NUMBA.replace("@njit\n", '@njit(error_model="numpy")\n') in found
    assert not any('int64)", inline' in each for each in found if each)
    assert NUMBA in outcomes("python", "compile_option", fast, 60)


SUMS = NUMBA.replace(
    "    for i in range(N):\n        x[i] = add(x[i], 1)\n",
    "    for i in range(N):\n        for j in range(N):\n            x[i] += y[i, j]\n",
)


def test_what_a_loop_of_numba_adds_to_an_element_is_held_in_a_variable():
    inner = "        held = x[i]\n        for j in range(N):\n            held += y[i, j]\n        x[i] = held\n"
    head, _ = SUMS.split("        for j")

    assert {head + inner} == outcomes("python", "hold_in_variable", SUMS, 4)


@pytest.mark.parametrize("body", ["x[j] += y[i, j]", "x[i] += x[j]", "x[i] += f(x)"])
def test_an_element_that_may_be_another_one_is_not_held(body):
    assert {None} == outcomes("python", "hold_in_variable", SUMS.replace("x[i] += y[i, j]", body), 3)


@pytest.mark.parametrize("kind", ["launch_option", "memory_hint", "loop_kind", "mask", "axis", "alignment_hint"])
def test_numba_kernels_get_nothing_of_triton(kind):
    assert {None} == outcomes("python", kind, NUMBA, 5)


def test_triton_kernels_get_nothing_of_numba():
    assert {None} == outcomes("python", "compile_option", TRITON, 5)
