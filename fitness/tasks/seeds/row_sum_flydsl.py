"""Sum of every row, one thread a row."""

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch
from flydsl.expr import gpu

THREADS = 64


@flyc.kernel
def sum_rows(x: fx.Tensor, y: fx.Tensor, M: fx.Constexpr[int], N: fx.Constexpr[int]):
    row = gpu.block_idx.x * THREADS + gpu.thread_idx.x
    if row < M:
        total = fx.Float32(0.0)
        for j in range(N):
            total = total + x[row, j]
        y[row] = total


@flyc.jit
def launch(x: fx.Tensor, y: fx.Tensor, M: fx.Constexpr[int], N: fx.Constexpr[int]):
    sum_rows(x, y, M, N).launch(grid=((M + THREADS - 1) // THREADS,), block=(THREADS,))


def kernel_fn(x):
    y = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    launch(x, y, x.shape[0], x.shape[1])
    return y
