"""The same as a two-dimensional convolution with channels last, the layout that tensor units like."""

import torch
from torch.nn.functional import conv2d

torch.backends.cudnn.benchmark = True


def kernel_fn(x, w):
    image = x[:, :, None].contiguous(memory_format=torch.channels_last)
    weight = w[:, :, None].contiguous(memory_format=torch.channels_last)
    return conv2d(image, weight, padding="same")[:, :, 0].contiguous()
