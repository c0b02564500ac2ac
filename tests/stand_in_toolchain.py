"""A stand-in for a private toolchain: compiles C++ for this CPU and runs it as a manifest says.

build: python stand_in_toolchain.py build SOURCE ARTIFACT        run: python stand_in_toolchain.py run ARTIFACT MANIFEST
"""

import ctypes
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def build(source: str, artifact: str) -> int:
    return subprocess.run(
        ["g++", "-O2", "-shared", "-fPIC", "-x", "c++", source, "-o", artifact], check=False
    ).returncode


def run(artifact: str, manifest: str) -> int:
    wanted = json.loads(Path(manifest).read_text())
    shutil.copy(artifact, "./artifact.so")
    function = getattr(ctypes.CDLL("./artifact.so"), wanted["entry_point"])
    times = []
    for call in wanted["calls"]:
        arrays = [np.fromfile(each["file"], each["dtype"]) for each in [*call["inputs"], *call["outputs"]]]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        axes = [ctypes.c_long(size) for size in call["axes"].values()]
        taken = []
        for _ in range(wanted["repeats"]):
            start = time.perf_counter()
            function(*pointers, *axes)
            taken.append((time.perf_counter() - start) * 1e6)
        times.append(taken)
        for each, array in zip(call["outputs"], arrays[len(call["inputs"]) :], strict=True):
            array.tofile(each["file"])
    sys.stdout.write(json.dumps({"status": "ok", "times_us": times}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit({"build": build, "run": run}[sys.argv[1]](*sys.argv[2:]))
