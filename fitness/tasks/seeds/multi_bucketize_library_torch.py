"""Bucket indices, feature by feature, by torch's batched binary search."""

import torch


def kernel_fn(x, borders):
    return torch.searchsorted(borders, x.t().contiguous(), out_int32=True).t().contiguous()
