"""Transpose into contiguous memory of its own: of a single row or column, ``contiguous`` would give the input."""

import torch


def kernel_fn(x):
    return x.t().clone(memory_format=torch.contiguous_format)
