"""Evaluation by a worker in Python: GPUs through torch, and Triton's interpreter on the CPU."""

from .bench import DeviceBench

__all__ = ["DeviceBench"]
