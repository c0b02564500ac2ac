"""Feed-forward network with weights a sample, five launches: product, GELU, norm, product, norm; in float32."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply_tile(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(2) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(
            a + (sample * M + rows[:, None]) * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + (sample * K + inner[:, None]) * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(
        c + (sample * M + rows[:, None]) * N + columns[None, :],
        total,
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


@triton.jit
def gelu_block(v, SIZE, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(v + at, mask=at < SIZE, other=0.0)
    tl.store(v + at, 0.5 * values * (1.0 + tl.erf(values * 0.7071067811865476)), mask=at < SIZE)


@triton.jit
def normalise_row(v, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(v + row * N + columns, mask=columns < N, other=0.0)
        squares += values * values
    root = tl.sqrt(tl.sum(squares, axis=0) / N + 1e-6)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(v + row * N + columns, mask=columns < N, other=0.0)
        tl.store(v + row * N + columns, values / root, mask=columns < N)


def kernel_fn(x, w1, w2):
    B, M, D = x.shape
    F = w1.shape[2]
    hidden = torch.empty((B, M, F), dtype=x.dtype, device=x.device)
    out = torch.empty_like(x)
    grid = (B, triton.cdiv(M, 32), triton.cdiv(F, 32))
    multiply_tile[grid](x, w1, hidden, M, F, D, BM=32, BN=32, BK=32, num_warps=4)
    gelu_block[(triton.cdiv(hidden.numel(), 256),)](hidden, hidden.numel(), BLOCK=256, num_warps=4)
    normalise_row[(B * M,)](hidden, F, BLOCK=128, num_warps=4)
    grid = (B, triton.cdiv(M, 32), triton.cdiv(D, 32))
    multiply_tile[grid](hidden, w2, out, M, D, F, BM=32, BN=32, BK=32, num_warps=4)
    normalise_row[(B * M,)](out, D, BLOCK=128, num_warps=4)
    return out
