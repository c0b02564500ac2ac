"""The SASS of a cubin, where a disassembler is installed."""

from __future__ import annotations

import functools
import importlib.util
import shutil
from pathlib import Path

from ..cell import Limits
from ..compiler import find_compiler
from ..host_code import listing
from ..sandbox import find_sandbox
from ..static import Metrics, sass_metrics

_PLACES = {"triton": "backends/nvidia/bin", "nvidia": "cu13/bin"}
_LIMITS = Limits(wall_s=60.0, cpu_s=60, memory_bytes=4 << 30, file_bytes=1 << 28)


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
    """Counts the instructions of a binary; empty where there is no disassembler or it does not know the binary.

    Raises:
        SandboxError: Nothing can be confined here.
        ToolchainError: There is no compiler that builds the sandbox.
    """
    tool = find_nvdisasm()
    if tool is None:
        return {}
    # Without its analysis of the data flow it takes 0.25 s, of which nearly all is its start, and not 0.35.
    return sass_metrics(listing((tool, "-c", "-ndf"), cubin, find_sandbox(find_compiler()), _LIMITS))
