"""A stand-in for a GPU, for what can be tested of device code without one."""

from dataclasses import dataclass

from fitness.device import DeviceBench
from fitness.targets import Interpret


class CpuBench(DeviceBench):
    def peaks(self):
        return 1e15, 1e18


@dataclass(frozen=True)
class TorchOnCpu:
    """A stand-in for a GPU: the same worker and stopwatch, with the CPU's clock in the place of events."""

    name: str = "torch_cpu"
    arch: str = "native"
    measures_time: bool = True
    is_device: bool = True
    spares: int = 0
    bench = CpuBench

    def environment(self, device):
        return {"KERNELWRIGHT_DEVICE": "cpu", "OMP_NUM_THREADS": "1", "LC_ALL": "C"}

    def device_files(self):
        return Interpret().device_files()

    def describe(self):
        return {}
