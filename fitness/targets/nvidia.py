"""An NVIDIA GPU of this machine."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..device import Conditions, DeviceBench, expect_there, nvml_conditions
from ..errors import TargetUnavailable
from .visible import CUDA, gpu, place, visible

_FACTS = ("name", "uuid", "driver_version", "memory.total", "compute_cap", "power.limit", "clocks.max.sm")
_MOMENTARY = {
    "temperature_c": "temperature.gpu",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "power_w": "power.draw",
    "utilization_percent": "utilization.gpu",
}
_HOPPER = 90


@dataclass(frozen=True)
class Nvidia:
    """An NVIDIA GPU, through torch's worker. Nothing is probed before the first use.

    Attributes:
        is_device: Timed workloads are the task's sizes for devices, unless others are given.
        devices: Which GPUs evaluations may use, by number among those of this process (``CUDA_VISIBLE_DEVICES``).
        spares: Workers that wait ready, for each device.
    """

    name: str = "nvidia"
    measures_time: bool = True
    is_device: bool = True
    devices: tuple[int, ...] = (0,)
    spares: int = 2
    bench = DeviceBench

    @property
    def arch(self) -> str:
        """The compiler's name for the first device, e.g. ``"sm_90a"``.

        Raises:
            TargetUnavailable: There is no such GPU.
        """
        capability = int(query(gpu(CUDA, self.devices[0]))["compute_cap"].replace(".", ""))
        return f"sm_{capability}{'a' if capability >= _HOPPER else ''}"

    def environment(self, device: int) -> dict[str, str]:
        """Returns the variables of a worker: one visible GPU, and no shared caches."""
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "CUDA_HOME") if name in os.environ}
        path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        shown = {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            CUDA: gpu(CUDA, place(self.devices, device)),
        }  # as nvidia-smi counts
        return {**kept, **shown, "PATH": path, "CUDA_CACHE_DISABLE": "1"}

    def device_files(self) -> tuple[Path, ...]:
        """Returns what a worker must reach of the driver, beside the system's folders."""
        found = sorted(Path("/dev").glob("nvidia*"))
        more = [Path(name) for name in ("/proc", "/sys", "/dev/shm", "/usr/local/nvidia") if Path(name).exists()]
        return (*found, *more)

    def describe(self) -> Mapping[str, str]:
        """Returns facts about the first device."""
        return query(gpu(CUDA, self.devices[0]))

    def counter_tool(self) -> str | None:
        """Returns the path of Nsight Compute's command line, which may read hardware counters; None without one."""
        return shutil.which("ncu")

    def conditions(self, device: int) -> Conditions | None:
        """Returns what a device is like at this moment; None where NVML cannot be asked."""
        return nvml_conditions(gpu(CUDA, place(self.devices, device)))

    def expect_others(self) -> tuple[int, ...]:
        """Takes who computes on its devices now for the model's server, which takes turns; returns process ids."""
        return tuple(pid for device in self.devices for pid in expect_there(gpu(CUDA, device)))

    def momentary(self) -> dict[str, float]:
        """Returns clocks, temperature, power and who else computes on the first device."""
        seen = self.conditions(0)
        if seen is not None:
            facts = {"sm_clock_mhz": seen.sm_clock_mhz, "temperature_c": seen.temperature_c, "power_w": seen.power_w}
            return {**facts, "clock_event_reasons": float(seen.reasons), "strangers": float(len(seen.strangers))}
        answers = _ask(gpu(CUDA, self.devices[0]), tuple(_MOMENTARY.values()))
        facts = {ours: float(answers[theirs]) for ours, theirs in _MOMENTARY.items() if _is_number(answers[theirs])}
        reasons = _ask(gpu(CUDA, self.devices[0]), ("clocks_event_reasons.active",))["clocks_event_reasons.active"]
        with contextlib.suppress(ValueError):
            facts["clock_event_reasons"] = float(int(reasons, 16))
        return facts


@functools.cache
def query(device: str) -> Mapping[str, str]:
    """Returns what the driver tells about a device that does not change.

    Raises:
        TargetUnavailable: There is no driver or no such device.
    """
    return _ask(device, _FACTS)


def _ask(device: str, names: tuple[str, ...]) -> dict[str, str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise TargetUnavailable("target=nvidia needs an NVIDIA GPU with its driver; there is no nvidia-smi here")
    argv = [tool, f"--id={device}", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetUnavailable(f"nvidia-smi does not answer: {error}") from error
    values = [value.strip() for value in done.stdout.strip().split(",")]
    if done.returncode != 0 or len(values) != len(names):
        raise TargetUnavailable(f"there is no NVIDIA GPU {device}: {(done.stdout + done.stderr).strip()[:200]}")
    return dict(zip(names, values, strict=True))


def gpus() -> tuple[str, ...]:
    """Returns what the driver calls the GPUs that this process may use.

    Raises:
        TargetUnavailable: There is none.
    """
    if visible(CUDA):
        return visible(CUDA)
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise TargetUnavailable("there is no nvidia-smi here")
    done = subprocess.run([tool, "--list-gpus"], capture_output=True, text=True, timeout=30, check=False)
    count = sum(line.startswith("GPU ") for line in done.stdout.splitlines())
    if not count:
        raise TargetUnavailable(f"nvidia-smi names no GPU: {(done.stdout + done.stderr).strip()[:200]}")
    return tuple(str(number) for number in range(count))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
