"""Evaluation by a worker in Python: GPUs through torch, and Triton's interpreter on the CPU."""

from .bench import DeviceBench
from .conditions import Conditions, expect_there, nvml_conditions

__all__ = ["DeviceBench", "Conditions", "expect_there", "nvml_conditions"]
