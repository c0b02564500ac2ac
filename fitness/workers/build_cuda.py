"""Builds a CUDA source into a shared object without nvcc: NVRTC for the device, a C++ compiler for the host.

Run in the sandbox as ``python -I -S build_cuda.py MANIFEST [ARGUMENT...]``: it imports nothing but the standard
library, and to look through an environment's packages would take longer than the rest of its start. The manifest is
that of `ahead_cuda` plus ``host`` (a file: the source without device bodies, launches rewritten), ``headers`` (a folder
with what it includes of CUDA), ``header``, ``command`` (argv of the C++ compiler with its flags), ``link`` (flags for a
shared object) and ``nvcc`` (argv that builds the whole source, slowly; empty where there is none). The arguments make
the compiler read the header precompiled. Both compilers run side by side; what they say they cannot do is left to nvcc.
Writes ``kernel.so`` with the source's own ``kernel`` function.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys

BEYOND = re.compile(
    r"A launch names a kernel that is not known|not supported when compiling with NVRTC"
    r"|(?:could|can)\s?not open source file|: No such file or directory"
    r"|identifier [\"']cu\w+[\"']|['‘]cu\w+['’] was not declared|no member named ['‘]cu\w+['’]"
)


def embedded(names):
    """Returns the source of the binary and of the table of its kernels, as the header declares them."""
    rows = "".join(f"    {{{json.dumps(name)}, {json.dumps(symbol)}, nullptr}},\n" for name, symbol in names.items())
    table = "namespace kernelwright { struct Compiled { const char *name, *symbol; void* function; }; }\n"
    table += f"kernelwright::Compiled kernelwright_compiled[] = {{\n{rows}    {{nullptr, nullptr, nullptr}}}};\n"
    blob = ".section .rodata; .balign 64; .global kernelwright_cubin; kernelwright_cubin: "
    blob += '.incbin \\"kernels.cubin\\"; .byte 0'
    return f'{table}__asm__("{blob}; .text");\n'


def build(path, manifest, header):
    """Builds what the manifest at ``path`` holds; returns whether that went well, and what the compilers said."""
    spec = importlib.util.spec_from_file_location("ahead_cuda", pathlib.Path(__file__).with_name("ahead_cuda.py"))
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    command = manifest["command"]
    included = header or ["-include", manifest["header"]]
    argv = [*command, *included, f"-I{manifest['headers']}", "-x", "c++", "-c", manifest["host"], "-o", "launch.o"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, errors="replace") as host:
        try:
            report = device.compile_device(path)
        except device.Rejected as rejection:
            host.kill()  # what it says of the same mistake says it worse
            return False, str(rejection)
        except BaseException:
            host.kill()
            raise
        _, log = host.communicate()
    if host.returncode:
        return False, log
    pathlib.Path("embedded.cpp").write_text(embedded(json.loads(pathlib.Path("names.json").read_text())))
    argv = [*command, *manifest["link"], "launch.o", "embedded.cpp", "-ldl", "-o", "kernel.so"]
    done = subprocess.run(argv, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    return done.returncode == 0, f"{report}\n{log}{done.stderr}"


def main(path, header):
    """Builds with the two compilers, else with nvcc where it may know better."""
    manifest = json.loads(pathlib.Path(path).read_text())
    built, log = build(path, manifest, header)
    if not built and manifest["nvcc"] and BEYOND.search(log):
        sys.exit(subprocess.run(manifest["nvcc"], check=False).returncode)
    print(log.strip(), file=sys.stderr)
    sys.exit(0 if built else 1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
