"""Gradients of RMS normalisation: dx one row a program, then dw a block of columns a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def gradient_of_x(dy, x, w, dx, r, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        pulls = tl.load(dy + row * N + columns, mask=columns < N, other=0.0)
        pulls *= tl.load(w + columns, mask=columns < N, other=0.0)
        squares += values * values
        products += pulls * values
    reciprocal = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / N + 1e-6)
    c = tl.sum(products, axis=0)
    tl.store(r + row, reciprocal)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        pulls = tl.load(dy + row * N + columns, mask=columns < N, other=0.0)
        pulls *= tl.load(w + columns, mask=columns < N, other=0.0)
        result = reciprocal * (pulls - values * reciprocal * reciprocal * c / N)
        tl.store(dx + row * N + columns, result, mask=columns < N)


@triton.jit
def gradient_of_w(dy, x, r, dw, M, N, BLOCK: tl.constexpr):
    columns = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(M):
        values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        pulls = tl.load(dy + row * N + columns, mask=columns < N, other=0.0)
        total += pulls * values * tl.load(r + row)
    tl.store(dw + columns, total, mask=columns < N)


def kernel_fn(dy, x, w):
    M, N = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    r = torch.empty((M,), dtype=x.dtype, device=x.device)
    gradient_of_x[(M,)](dy, x, w, dx, r, N, BLOCK=128, num_warps=4)
    gradient_of_w[(triton.cdiv(N, 32),)](dy, x, r, dw, M, N, BLOCK=32, num_warps=1)
    return dx, dw
