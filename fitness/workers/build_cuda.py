"""Builds a CUDA source into a shared object without nvcc: NVRTC for the device, a C++ compiler for the host.

Run in the sandbox as ``python -I build_cuda.py MANIFEST [ARGUMENT...]``. The manifest is that of `ahead_cuda` plus
``host`` (a file: the source without device bodies, launches rewritten), ``headers`` (a folder with what it includes
of CUDA), ``header``, ``command`` (argv of the C++ compiler with its flags) and ``link`` (flags for a shared object).
The arguments make the compiler read the header precompiled. Both compilers run side by side. Writes ``kernel.so``
with the source's own ``kernel`` function.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys


def embedded(names):
    """Returns the source of the binary and of the table of its kernels, as the header declares them."""
    rows = "".join(f"    {{{json.dumps(name)}, {json.dumps(symbol)}, nullptr}},\n" for name, symbol in names.items())
    table = "namespace kernelwright { struct Compiled { const char *name, *symbol; void* function; }; }\n"
    table += f"kernelwright::Compiled kernelwright_compiled[] = {{\n{rows}    {{nullptr, nullptr, nullptr}}}};\n"
    blob = ".section .rodata; .balign 64; .global kernelwright_cubin; kernelwright_cubin: "
    blob += '.incbin \\"kernels.cubin\\"; .byte 0'
    return f'{table}__asm__("{blob}; .text");\n'


def main(path, header):
    """Builds what the manifest at ``path`` names."""
    spec = importlib.util.spec_from_file_location("ahead_cuda", pathlib.Path(__file__).with_name("ahead_cuda.py"))
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    manifest = json.loads(pathlib.Path(path).read_text())
    command = manifest["command"]
    included = header or ["-include", manifest["header"]]
    argv = [*command, *included, f"-I{manifest['headers']}", "-x", "c++", "-c", manifest["host"], "-o", "launch.o"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as host:
        try:
            device.main(path)
        except BaseException:
            host.kill()  # what it says of the same mistake says it worse
            raise
        _, log = host.communicate()
    sys.stderr.buffer.write(log)
    if host.returncode:
        sys.exit(1)
    pathlib.Path("embedded.cpp").write_text(embedded(json.loads(pathlib.Path("names.json").read_text())))
    argv = [*command, *manifest["link"], "launch.o", "embedded.cpp", "-ldl", "-o", "kernel.so"]
    done = subprocess.run(argv, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
