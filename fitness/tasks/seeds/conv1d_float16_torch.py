"""Convolution in one dimension with zero padding, through the vendor's library."""

from torch.nn.functional import conv1d


def kernel_fn(x, w):
    return conv1d(x, w, padding="same")
