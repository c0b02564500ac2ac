"""Starting a worker of a GPU target: what it sees, what it may use, and the wait until its device is awake."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..ahead import python_reads
from ..cell import Cell, Limits
from ..confined import Confined
from ..disk import Scratch
from ..errors import TargetUnavailable
from ..sandbox import Sandbox
from ..session import Failed
from ..task import Task
from .process import DISK_BYTES, DeviceProcess
from .session import DeviceSession
from .zygote import Zygote

_WORKER = Path(__file__).resolve().parent.parent / "workers" / "device.py"
_PINGS = 5
_OPTIONS = {"local_sockets": 1}  # a GPU's driver talks to itself through one


def device_cell(devices: Sequence[Path], variables: Mapping[str, str], scratch: Path | None = None) -> Cell:
    """Returns what a worker sees: this Python, ``devices`` (files and folders of the driver) and its scratch folder."""
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
    user = {"LOGNAME": "candidate"}  # torch.compile asks for it, and a worker's number has no name
    return Cell((*python_reads(), *devices), scratch, {**path, **user, **variables})


def scratch_cell(sandbox: Sandbox, devices: Sequence[Path], variables: Mapping[str, str], scratch: Path) -> Cell:
    """Returns what a candidate's process sees: as `device_cell`, with home and all caches in its scratch folder."""
    home = "/scratch" if sandbox.mechanism == "bubblewrap" else str(scratch)
    caches = {"TRITON_CACHE_DIR": f"{home}/triton", "TORCHINDUCTOR_CACHE_DIR": f"{home}/inductor"}
    return device_cell(devices, {"HOME": home, "TMPDIR": home, **caches, **variables}, scratch)


def candidate_limits(timeout_s: float) -> Limits:
    """Returns what a candidate's process may use: compilers of its own, and as many threads as they start."""
    return Limits(
        timeout_s,
        int(16 * timeout_s),
        0,
        file_bytes=1 << 30,
        processes=4096,
        descriptors=4096,
        disk_bytes=DISK_BYTES,
    )


def start_device(
    sandbox: Sandbox,
    task: Task,
    environment: Mapping[str, str],
    devices: Sequence[Path],
    *,
    timeout_s: float,
    zygote: Zygote | None = None,
) -> DeviceSession:
    """Starts a worker: torch is imported and the device awake, and no candidate is loaded.

    Args:
        sandbox: Confines it.
        task: What its candidate will compute.
        environment: Variables of the target.
        devices: Device files and folders of the driver that it must reach.
        timeout_s: Wall clock of everything that the worker will do.
        zygote: Forks it; None starts a program, which imports everything anew.

    Raises:
        SandboxError: It cannot be confined.
        TargetUnavailable: It does not come up.
    """
    folder = Scratch(zygote.folder if zygote else None)
    try:
        path = Path(folder.name)
        path.chmod(0o777)
        if zygote is not None and zygote.caches.is_dir():
            shutil.copytree(zygote.caches, path / "triton")
        dtypes = {spec.dtype for spec in (*task.inputs.values(), *task.outputs.values())}
        variables = {"KERNELWRIGHT_DTYPES": ",".join(sorted(dtypes)), **environment}
        cell, limits = scratch_cell(sandbox, devices, variables, path), candidate_limits(timeout_s)

        def start(channel: tuple[int, int]) -> Confined:
            if zygote is not None:
                return zygote.start(cell, limits, _OPTIONS, channel)
            return sandbox.start(cell, limits, _OPTIONS, (sys.executable, "-I", "-B", str(_WORKER)), channel=channel)

        return _greet(DeviceProcess.connected(start, path), task, folder)
    except BaseException:
        folder.cleanup()
        raise


def _greet(process: DeviceProcess, task: Task, folder: Scratch) -> DeviceSession:
    """Waits until the device is awake, and measures a round trip; ends a worker that does not come up."""
    trips_s = []
    try:
        told, _ = process.receive()
        for _ in range(_PINGS):
            trips_s.append(process.round_trip({"command": "ping"})[0])
    except Failed as failure:
        process.close()
        raise TargetUnavailable(f"the device worker does not come up: {failure.log.splitlines()[-1:]}") from failure
    except BaseException:
        process.close()
        raise
    return DeviceSession(process, task, folder, round_trip_s=min(trips_s), memory_bytes=int(told["memory_bytes"]))
