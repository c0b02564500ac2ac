"""Where kernels run: one class a file.

`Cpu` is this machine's processor, `Nvidia` and `Amd` its GPUs, `Interpret` a stand-in without hardware
that judges and does not time. `External` is any accelerator behind commands of the user's.
"""

from .amd import Amd
from .cpu import Cpu
from .external import External
from .interpret import Interpret
from .nvidia import Nvidia

__all__ = ["Cpu", "Nvidia", "Amd", "Interpret", "External"]
