"""RMS normalisation through torch's fused kernel."""

from torch.nn.functional import rms_norm


def kernel_fn(x, w):
    return rms_norm(x, w.shape, w, 1e-6)
