"""Bucketize, clamp, gather and where."""

import torch


def kernel_fn(x, borders, ids):
    bucket = torch.bucketize(x, borders).clamp(max=len(ids) - 1)
    return torch.where(x == 0, -1, ids[bucket])
