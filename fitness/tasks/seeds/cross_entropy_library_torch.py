"""Cross entropy of rows of logits through torch's own function."""

from torch.nn.functional import cross_entropy


def kernel_fn(x, label):
    return cross_entropy(x, label.long(), reduction="none")
