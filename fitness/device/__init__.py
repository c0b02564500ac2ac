"""Evaluation by a worker in Python: GPUs through torch, and Triton's interpreter on the CPU."""

from .bench import DeviceBench
from .conditions import Conditions, nvml_conditions

__all__ = ["DeviceBench", "Conditions", "nvml_conditions"]
