"""Layer normalisation through torch's fused kernel."""

from torch.nn.functional import layer_norm


def kernel_fn(x, gamma, beta):
    return layer_norm(x, gamma.shape, gamma, beta, 1e-5)
