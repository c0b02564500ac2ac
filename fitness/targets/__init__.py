"""Where kernels run: one class a file."""

from .cpu import Cpu

__all__ = ["Cpu"]
