"""Sum of every row, one row a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_row(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row, tl.sum(total, axis=0))


def kernel_fn(x):
    M, N = x.shape
    y = torch.empty((M,), dtype=x.dtype, device=x.device)
    sum_row[(M,)](x, y, N, BLOCK=128, num_warps=4)
    return y
