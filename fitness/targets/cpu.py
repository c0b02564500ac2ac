"""This machine's processor."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..compiler import processor


@dataclass(frozen=True)
class Cpu:
    """The processor that this program runs on.

    Attributes:
        name: As in configuration.
        arch: The compiler's name for it, for ``-march``.
        measures_time: It does.
        threads: How many threads a kernel may use while it is checked and timed alike.
    """

    name: str = "cpu"
    arch: str = "native"
    measures_time: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        available = len(os.sched_getaffinity(0))
        if not 1 <= self.threads <= available:
            raise ValueError(f"target.threads must be between 1 and {available} on this machine, is {self.threads}")

    def environment(self, device: int) -> dict[str, str]:
        """Returns the variables of a runner: a fixed number of OpenMP threads that sleep while they wait.

        Waiting actively would be counted as work, and costs a time slice a region on a busy machine.
        """
        return {
            "LC_ALL": "C",
            "OMP_NUM_THREADS": str(self.threads),
            "OMP_THREAD_LIMIT": str(self.threads),
            "OMP_WAIT_POLICY": "passive",
            "OMP_DYNAMIC": "false",
        }

    def describe(self) -> Mapping[str, str]:
        """Returns facts about the processor and the system."""
        info = _cpuinfo()
        flags = info.get("flags", info.get("Features", "")).split()
        vectors = [
            flag for flag in ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "asimd", "sve") if flag in flags
        ]
        return {
            "processor": info.get("model name", platform.processor() or platform.machine()),
            "architecture": platform.machine(),
            "processors": str(len(os.sched_getaffinity(0))),
            "threads": str(self.threads),
            "vector_extensions": " ".join(vectors),
            "caches": _caches(),
            "system": f"{platform.system()} {platform.release()}",
            "fingerprint": processor(),
        }

    def momentary(self) -> dict[str, float]:
        """Returns what moves from one moment to the next: load, frequency, throttling, as far as the system tells."""
        facts = {"load_average": os.getloadavg()[0]}
        root = Path("/sys/devices/system/cpu/cpu0")
        for name, path, unit in (
            ("frequency_hz", root / "cpufreq/scaling_cur_freq", 1e3),
            ("throttled_count", root / "thermal_throttle/core_throttle_count", 1.0),
        ):
            try:
                facts[name] = float(path.read_text()) * unit
            except (OSError, ValueError):
                continue
        if "frequency_hz" not in facts and "cpu MHz" in (info := _cpuinfo()):
            facts["frequency_hz"] = float(info["cpu MHz"]) * 1e6
        return facts


def _cpuinfo() -> dict[str, str]:
    info: dict[str, str] = {}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return info
    for line in lines:
        if not line.strip():
            break
        key, _, value = line.partition(":")
        info[key.strip()] = value.strip()
    return info


def _caches() -> str:
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        found.append(f"L{level}{'' if kind == 'Unified' else kind[0].lower()} {size}")
    return ", ".join(found)
