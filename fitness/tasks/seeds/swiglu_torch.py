"""SwiGLU from torch's plain operations."""

from torch.nn.functional import silu


def kernel_fn(gate, up):
    return silu(gate) * up
