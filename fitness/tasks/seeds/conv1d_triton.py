"""Convolution in one dimension with zero padding, a block of positions of one filter a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def convolve(x, w, y, C, F, L, K, BLOCK: tl.constexpr):
    b = (tl.program_id(0) // F).to(tl.int64)
    f = (tl.program_id(0) % F).to(tl.int64)
    positions = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for c in range(C):
        for k in range(K):
            source = positions + k - (K - 1) // 2
            values = tl.load(x + (b * C + c) * L + source, mask=(source >= 0) & (source < L), other=0.0)
            total += values * tl.load(w + (f * C + c) * K + k)
    tl.store(y + (b * F + f) * L + positions, total, mask=positions < L)


def kernel_fn(x, w):
    B, C, L = x.shape
    F, _, K = w.shape
    y = torch.empty((B, F, L), dtype=x.dtype, device=x.device)
    convolve[(B * F, triton.cdiv(L, 64))](x, w, y, C, F, L, K, BLOCK=64, num_warps=2)
    return y
