"""Tiles in shared memory: what CUDA kernels read through them is what they read before, and barriers are met by all."""

import shutil

import numpy as np
import pytest

from fitness import Calibration, Evaluator, Kernel, Status
from fitness.languages import Cuda
from fitness.targets import Interpret
from fitness.tasks import Matmul, RmsNormBackward
from operators.syntax import applied, parse
from operators.syntax.edits import KINDS

COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
SEED = Matmul().seed_kernel("cuda").source
LOOP = "for (long k = 0; k < K; ++k) total += a[i * K + k] * b[k * N + j];"


def changed(source, kind, draws=1):
    """Returns what an edit makes of a kernel, by generators of as many seeds."""
    tree, found = parse(source, "cuda"), []
    for seed in range(draws):
        edit = KINDS["cuda"][kind](tree, np.random.default_rng(seed))
        found.append(None if edit is None else applied(edit, tree, "kernel"))
    return found


def statuses(task, sources):
    evaluator = Evaluator(task, Interpret(), Cuda())
    try:
        return {evaluator.evaluate(Kernel(each, "cuda"), Calibration({}, 0.0)).status for each in sources}
    finally:
        evaluator.close()


@COMPILER
def test_a_product_reads_through_tiles_of_any_depth():
    found = set(changed(SEED, "shared_tile", 12))

    assert {8, 16, 32} == {
        depth for depth in (8, 16, 32) for each in found if f"__shared__ float tile[16][{depth}];" in each
    }
    assert {Status.OK} == statuses(Matmul(), found)


@COMPILER
def test_tiles_follow_the_shape_of_a_block():
    (tiled,) = changed(SEED, "shared_tile")
    found = {each for each in changed(tiled, "block_shape", 6) if "[1024]" not in each}
    wide = next(each for each in changed(tiled, "block_shape", 300) if "dim3(32, 8)" in each)

    assert "__shared__ float tile[8][" in wide
    assert "[32];" in wide
    assert {Status.OK} == statuses(Matmul(), {*found, wide})


@COMPILER
def test_what_all_threads_of_a_block_read_is_brought_once():
    (found,) = changed(RmsNormBackward().seed_kernel("cuda").source, "shared_tile")

    assert "for (int i_in_tile = threadIdx.x;" in found
    assert {Status.OK} == statuses(RmsNormBackward(), [found])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOOP, "for (long k = 0; k < K; ++k) if (k > 0) total += a[i * K + k - 1] * b[k * N + j - N];"),
        (LOOP, "for (long k = 0; k < K; ++k) total += k > 0 ? a[i * K + k - 1] : 0.0f;"),
        (LOOP, "for (long k = 0; k < K; ++k) { long at = k % 7; total += a[at]; }"),
        (LOOP, "for (long k = 0; k < i; ++k) total += a[i * K + k] * b[k * N + j];"),
        (LOOP, "for (long k = 0; k < K; ++k) { if (total > 9.0f) break; total += a[i * K + k] * b[k * N + j]; }"),
        (LOOP, "for (long k = 0; k < K; ++k) total += a[(i + j) * K + k];"),
        (LOOP, f"if (K > 3) {{ {LOOP} }}"),
        ("if (i >= M || j >= N) return;", "if (i * N + j >= M * N) return;"),
        ("if (i >= M || j >= N) return;", "if (i >= M) return; if (j >= N) return;"),
        ("float total = 0.0f;", "float total = a[i * K];"),
        ("dim3(16, 16)", "dim3(16, ROWS)"),
        ("dim3(16, 16)", "1"),
    ],
    ids=[
        *(
            "sometimes",
            "conditional",
            "computed",
            "ragged",
            "leaves",
            "both axes",
            "inner",
            "mixed guard",
            "two guards",
        ),
        *("reads before", "computed block", "one thread"),
    ],
)
def test_a_loop_that_not_all_threads_run_alike_keeps_its_reads(before, after):
    source = SEED.replace(before, after)

    assert source != SEED
    assert {None} == set(changed(source, "shared_tile", 3))
