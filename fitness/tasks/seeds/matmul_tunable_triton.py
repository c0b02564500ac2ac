"""Matrix product, one tile of the result a program, in full float32; tiles, warps and stages may be tuned."""

import torch
import triton
import triton.language as tl

# tunable TILE_M = 32 in {16, 32, 64, 128}
TILE_M = 32
# tunable TILE_N = 32 in {16, 32, 64, 128}
TILE_N = 32
# tunable TILE_K = 32 in {16, 32, 64}
TILE_K = 32
# tunable WARPS = 4 in {2, 4, 8}
WARPS = 4
# tunable STAGES = 2 in {1, 2, 3, 4}
STAGES = 2


@triton.jit
def matmul_tile(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)).to(tl.int64)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0
        )
        right = tl.load(
            b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(
        c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N)
    )


def kernel_fn(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, TILE_M), triton.cdiv(N, TILE_N))
    matmul_tile[grid](a, b, c, M, N, K, BM=TILE_M, BN=TILE_N, BK=TILE_K, num_warps=WARPS, num_stages=STAGES)
    return c
