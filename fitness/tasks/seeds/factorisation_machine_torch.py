"""Two batched products."""


def kernel_fn(x, y):
    return x @ (x.transpose(1, 2) @ y)
