"""Attention without a mask, a block of one head's queries a program: three passes over the keys, in float32."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def score_tile(q, k, head, rows, keys, L, D, scale, BD: tl.constexpr):
    d = tl.arange(0, BD)
    queries = tl.load(
        q + (head * L + rows[:, None]) * D + d[None, :], mask=(rows[:, None] < L) & (d[None, :] < D), other=0.0
    )
    across = tl.load(
        k + (head * L + keys[None, :]) * D + d[:, None], mask=(keys[None, :] < L) & (d[:, None] < D), other=0.0
    )
    scores = tl.dot(queries, across, input_precision="ieee") * scale
    return tl.where(keys[None, :] < L, scores, float("-inf"))


@triton.jit
def attend(q, k, v, out, L, D, scale, BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BQ + tl.arange(0, BQ)
    highest = tl.full((BQ,), float("-inf"), tl.float32)
    for start in range(0, L, BK):
        scores = score_tile(q, k, head, rows, start + tl.arange(0, BK), L, D, scale, BD)
        highest = tl.maximum(highest, tl.max(scores, axis=1))
    total = tl.zeros((BQ,), tl.float32)
    for start in range(0, L, BK):
        scores = score_tile(q, k, head, rows, start + tl.arange(0, BK), L, D, scale, BD)
        total += tl.sum(tl.exp(scores - highest[:, None]), axis=1)
    d = tl.arange(0, BD)
    result = tl.zeros((BQ, BD), tl.float32)
    for start in range(0, L, BK):
        keys = start + tl.arange(0, BK)
        scores = score_tile(q, k, head, rows, keys, L, D, scale, BD)
        weights = tl.exp(scores - highest[:, None]) / total[:, None]
        values = tl.load(
            v + (head * L + keys[:, None]) * D + d[None, :], mask=(keys[:, None] < L) & (d[None, :] < D), other=0.0
        )
        result += tl.dot(weights, values, input_precision="ieee")
    tl.store(
        out + (head * L + rows[:, None]) * D + d[None, :], result, mask=(rows[:, None] < L) & (d[None, :] < D)
    )


def kernel_fn(q, k, v):
    H, L, D = q.shape
    out = torch.empty_like(q)
    BD = max(16, triton.next_power_of_2(D))
    attend[(triton.cdiv(L, 32), H)](q, k, v, out, L, D, 1.0 / math.sqrt(D), BQ=32, BK=32, BD=BD, num_warps=4)
    return out
