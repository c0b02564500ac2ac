"""Builds a CUDA source into a shared object without nvcc: NVRTC for the device, a C++ compiler for the host.

Run in the sandbox as ``python -I build_cuda.py MANIFEST``. The manifest is that of `ahead_cuda` plus
``host`` (a file: the source without device bodies, launches rewritten), ``header`` and ``compiler``
(argv of the C++ compiler). Writes ``kernel.so`` with the source's own ``kernel`` function.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys


def main(path):
    """Builds what the manifest at ``path`` names."""
    spec = importlib.util.spec_from_file_location("ahead_cuda", pathlib.Path(__file__).with_name("ahead_cuda.py"))
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    device.main(path)
    manifest = json.loads(pathlib.Path(path).read_text())
    names = json.loads(pathlib.Path("names.json").read_text())
    rows = "".join(f"    {{{json.dumps(name)}, {json.dumps(symbol)}}},\n" for name, symbol in names.items())
    table = f"const char* const kernelwright_names[][2] = {{\n{rows}    {{nullptr, nullptr}}}};\n"
    blob = ".section .rodata; .balign 64; .global kernelwright_cubin; kernelwright_cubin: "
    blob += '.incbin \\"kernels.cubin\\"; .byte 0'
    host = pathlib.Path(manifest["host"]).read_text()
    text = f'#line 1 "kernel.cu"\n{host}\n{table}__asm__("{blob}; .text");\n'
    pathlib.Path("launch.cpp").write_text(text)
    flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-include", manifest["header"], "launch.cpp", "-ldl"]
    done = subprocess.run([*manifest["compiler"], *flags, "-o", "kernel.so"], check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(sys.argv[1])
