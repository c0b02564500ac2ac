"""Two products through memory: inner[b] = x[b]^T y, then out[b] = x[b] inner[b]; one tile a program, in float32."""

import torch
import triton
import triton.language as tl


@triton.jit
def inner_tile(x, y, inner, N, D, K, BD: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    total = tl.zeros((BD, BK), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        left = tl.load(
            x + (b * N + n[None, :]) * D + d[:, None], mask=(n[None, :] < N) & (d[:, None] < D), other=0.0
        )
        right = tl.load(y + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(
        inner + (b * D + d[:, None]) * K + k[None, :], total, mask=(d[:, None] < D) & (k[None, :] < K)
    )


@triton.jit
def outer_tile(x, inner, out, N, D, K, BN: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    total = tl.zeros((BN, BK), tl.float32)
    for start in range(0, D, BD):
        d = start + tl.arange(0, BD)
        left = tl.load(
            x + (b * N + n[:, None]) * D + d[None, :], mask=(n[:, None] < N) & (d[None, :] < D), other=0.0
        )
        right = tl.load(
            inner + (b * D + d[:, None]) * K + k[None, :], mask=(d[:, None] < D) & (k[None, :] < K), other=0.0
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(out + (b * N + n[:, None]) * K + k[None, :], total, mask=(n[:, None] < N) & (k[None, :] < K))


def kernel_fn(x, y):
    B, N, D = x.shape
    K = y.shape[1]
    inner = torch.empty((B, D, K), dtype=x.dtype, device=x.device)
    out = torch.empty((B, N, K), dtype=x.dtype, device=x.device)
    grid = (B, triton.cdiv(D, 32), triton.cdiv(K, 16))
    inner_tile[grid](x, y, inner, N, D, K, BD=32, BK=16, BN=16, num_warps=4)
    grid = (B, triton.cdiv(N, 32), triton.cdiv(K, 16))
    outer_tile[grid](x, inner, out, N, D, K, BN=32, BK=16, BD=16, num_warps=4)
    return out
