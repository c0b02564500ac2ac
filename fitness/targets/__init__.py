"""Where kernels run: one class a file.

`Cpu` is this machine's processor, `Nvidia` and `Amd` its GPUs, `Interpret` a stand-in without hardware
that judges and does not time.
"""

from .amd import Amd
from .cpu import Cpu
from .interpret import Interpret
from .nvidia import Nvidia

__all__ = ["Cpu", "Nvidia", "Amd", "Interpret"]
