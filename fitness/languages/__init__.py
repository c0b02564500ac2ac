"""What kernels are written in: one class a file.

`Cpp`, `Numba` and `OpenCL` for the CPU; `Cuda`, `Triton` and `Cute` for NVIDIA; `Hip`, `Triton` and `FlyDSL` for AMD;
`Torch` for what kernels are compared with; `ExternalLanguage` for what only a private toolchain builds.
"""

from .cpp import Cpp
from .cuda import Cuda
from .cute import Cute
from .external import ExternalLanguage
from .flydsl import FlyDSL
from .hip import Hip
from .numba import Numba
from .opencl import OpenCL
from .torch import Torch
from .triton import Triton

__all__ = ["Cpp", "Cuda", "Cute", "FlyDSL", "Hip", "Numba", "OpenCL", "Torch", "Triton", "ExternalLanguage"]
