"""An AMD GPU of this machine, with ROCm."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..device import DeviceBench
from ..errors import TargetUnavailable
from .visible import HIP, gpu, place, visible


@dataclass(frozen=True)
class Amd:
    """An AMD GPU, through the ROCm build of torch; the same worker as for NVIDIA. Only the probe decides.

    Attributes:
        is_device: Timed workloads are the task's sizes for devices, unless others are given.
        devices: Which GPUs evaluations may use, by number among those of this process (``HIP_VISIBLE_DEVICES``).
        spares: Workers that wait ready, for each device.
    """

    name: str = "amd"
    measures_time: bool = True
    is_device: bool = True
    devices: tuple[int, ...] = (0,)
    spares: int = 2
    bench = DeviceBench

    @property
    def arch(self) -> str:
        """The compiler's name for the first device, e.g. ``"gfx942"``.

        Raises:
            TargetUnavailable: There is no such GPU.
        """
        return agents()[int(gpu(HIP, self.devices[0]))]

    def environment(self, device: int) -> dict[str, str]:
        """Returns the variables of a worker: one visible GPU."""
        # HIP counts among what ROCR_VISIBLE_DEVICES leaves: setting both to 1 would leave nothing.
        kept = {name: os.environ[name] for name in ("ROCR_VISIBLE_DEVICES",) if name in os.environ}
        return {HIP: gpu(HIP, place(self.devices, device)), **kept, "PATH": "/opt/rocm/bin:/usr/bin:/bin"}

    def device_files(self) -> tuple[Path, ...]:
        """Returns what a worker must reach of the driver, beside the system's folders."""
        names = ("/dev/kfd", "/dev/dri", "/opt/rocm", "/proc", "/sys", "/dev/shm")
        return tuple(Path(name) for name in names if Path(name).exists())

    def describe(self) -> Mapping[str, str]:
        """Returns facts about the devices."""
        return {"agents": ", ".join(agents())}


def gpus() -> tuple[str, ...]:
    """Returns what HIP calls the GPUs that this process may use.

    Raises:
        TargetUnavailable: There is none.
    """
    return visible(HIP) or tuple(str(number) for number in range(len(agents())))


@functools.cache
def agents() -> tuple[str, ...]:
    """Returns the architectures of this machine's AMD GPUs, in the system's order.

    Raises:
        TargetUnavailable: There is none, or no ROCm.
    """
    tool = shutil.which("rocminfo") or shutil.which("rocminfo", path="/opt/rocm/bin")
    if tool is None or not Path("/dev/kfd").exists():
        raise TargetUnavailable(
            "target=amd times kernels on an AMD GPU with ROCm, and there is none here; "
            "python -m experiments.compile builds for one, target=interpret checks without one"
        )
    done = subprocess.run([tool], capture_output=True, text=True, timeout=60, check=False)
    found = tuple(re.findall(r"^\s*Name:\s+(gfx\w+)\s*$", done.stdout, re.MULTILINE))
    if not found:
        raise TargetUnavailable(f"rocminfo names no GPU: {(done.stdout + done.stderr).strip()[-200:]}")
    return found
