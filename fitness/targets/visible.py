"""Which GPUs this process may use: a sweep gives each of its runs one, by the variables that drivers read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import TargetUnavailable

CUDA, HIP = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"


def visible(variable: str) -> tuple[str, ...]:
    """Returns the GPUs that a variable of drivers leaves to this process; none when it says nothing."""
    return tuple(name.strip() for name in os.environ.get(variable, "").split(",") if name.strip())


def gpu(variable: str, number: int) -> str:
    """Returns what drivers call the GPU that has a number among those of this process.

    Raises:
        TargetUnavailable: The variable leaves fewer.
    """
    names = visible(variable)
    if not names:
        return str(number)
    if number >= len(names):
        raise TargetUnavailable(
            f"{variable}={','.join(names)} leaves fewer GPUs ({len(names)}): there is no GPU {number}"
        )
    return names[number]


def place(devices: Sequence[int], slot: int) -> int:
    """Returns the GPU that a slot of the executor means.

    Raises:
        TargetUnavailable: There is none.
    """
    if slot >= len(devices):
        raise TargetUnavailable(f"executor.devices has {slot}, but target.devices names {len(devices)} GPU(s)")
    return devices[slot]
