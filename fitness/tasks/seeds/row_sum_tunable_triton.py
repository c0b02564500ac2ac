"""Sum of every row, one row a program; block, warps and stages may be tuned."""

import torch
import triton
import triton.language as tl

# tunable BLOCK = 128 in {64, 128, 256, 512, 1024, 2048, 4096}
BLOCK = 128
# tunable WARPS = 4 in {1, 2, 4, 8, 16}
WARPS = 4
# tunable STAGES = 2 in {1, 2, 3, 4}
STAGES = 2


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
    sum_row[(M,)](x, y, N, BLOCK=BLOCK, num_warps=WARPS, num_stages=STAGES)
    return y
