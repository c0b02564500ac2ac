"""A 3 x 3 stencil as a convolution, through the vendor's library."""

from torch.nn.functional import conv2d


def kernel_fn(x, w):
    return conv2d(x[None, None], w[None, None], padding=1)[0, 0]
