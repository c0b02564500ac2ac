"""Transposition, a square tile a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def move_tile(x, y, M, N, BLOCK: tl.constexpr):
    rows = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    columns = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tile = tl.load(x + rows[:, None] * N + columns[None, :], mask=inside)
    tl.store(y + columns[None, :] * M + rows[:, None], tile, mask=inside)


def kernel_fn(x):
    M, N = x.shape
    y = torch.empty((N, M), dtype=x.dtype, device=x.device)
    move_tile[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, y, M, N, BLOCK=16, num_warps=4)
    return y
