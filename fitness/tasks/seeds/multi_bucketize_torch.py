"""Bucket indices, feature by feature, by counting."""

import torch


def kernel_fn(x, borders):
    return (borders < x[:, :, None]).sum(dim=2, dtype=torch.int32)
