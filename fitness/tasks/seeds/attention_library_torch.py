"""Attention through the fused kernel that torch chooses."""

from torch.nn.functional import scaled_dot_product_attention


def kernel_fn(q, k, v):
    return scaled_dot_product_attention(q[None], k[None], v[None])[0]
