"""The SASS of a cubin, where a disassembler is installed."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import subprocess
from pathlib import Path

from ..static import Metrics, sass_metrics

_PLACES = {"triton": "backends/nvidia/bin", "nvidia": "cu13/bin"}


@functools.cache
def find_nvdisasm() -> str | None:
    """Returns the ``nvdisasm`` of the CUDA toolkit, of NVIDIA's wheel or of Triton's, in this order."""
    found = shutil.which("nvdisasm")
    if found:
        return found
    for package, folder in reversed(_PLACES.items()):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(root) / folder / "nvdisasm"
            if path.is_file():
                return str(path)
    return None


def sass(cubin: Path) -> Metrics:
    """Counts the instructions of a binary; empty where there is no disassembler or it does not know the binary."""
    tool = find_nvdisasm()
    if tool is None:
        return {}
    try:
        done = subprocess.run([tool, "-c", str(cubin)], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return sass_metrics(done.stdout) if done.returncode == 0 else {}
