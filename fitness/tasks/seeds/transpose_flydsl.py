"""Transposition, one thread an element."""

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch
from flydsl.expr import gpu

TILE = 16


@flyc.kernel
def move(x: fx.Tensor, y: fx.Tensor, M: fx.Constexpr[int], N: fx.Constexpr[int]):
    i = gpu.block_idx.y * TILE + gpu.thread_idx.y
    j = gpu.block_idx.x * TILE + gpu.thread_idx.x
    if i < M:
        if j < N:
            y[j, i] = x[i, j]


@flyc.jit
def launch(x: fx.Tensor, y: fx.Tensor, M: fx.Constexpr[int], N: fx.Constexpr[int]):
    move(x, y, M, N).launch(grid=((N + TILE - 1) // TILE, (M + TILE - 1) // TILE), block=(TILE, TILE))


def kernel_fn(x):
    y = torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
    launch(x, y, x.shape[0], x.shape[1])
    return y
