"""Problems of KernelBench (Ouyang 2025, https://arxiv.org/abs/2502.10517), from a checkout of the user's own.

`KernelBench` makes one problem file a `fitness.Task`; nothing of the benchmark is in this package.
"""

from .problem import KernelBench

__all__ = ["KernelBench"]
