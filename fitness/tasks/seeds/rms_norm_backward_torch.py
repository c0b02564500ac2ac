"""Gradients of RMS normalisation from torch's plain operations."""

import torch


def kernel_fn(dy, x, w):
    r = torch.rsqrt(x.square().mean(dim=1, keepdim=True) + 1e-6)
    c = (dy * w * x).mean(dim=1, keepdim=True)
    return r * (dy * w - x * r * r * c), (dy * x * r).sum(dim=0)
