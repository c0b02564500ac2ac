"""Builds a CUDA source into a shared object without nvcc: NVRTC for the device, a C++ compiler for the host.

Run in the sandbox as ``python -I -S build_cuda.py MANIFEST [ARGUMENT...]``: it imports nothing but the standard
library, and to look through an environment's packages would take longer than the rest of its start. The manifest is
that of `ahead_cuda` plus ``host`` (a file: the source without device bodies, launches rewritten), ``headers`` (a folder
with what it includes of CUDA), ``header``, ``command`` (argv of the C++ compiler with its flags), ``link`` (flags for a
shared object) and ``nvcc`` (argv that builds the whole source, slowly; empty where there is none). The arguments make
the compiler read the header precompiled. Both compilers run side by side; what they say they cannot do is left to nvcc.
Writes ``kernel.so`` with the source's own ``kernel`` function.

What starts slowly is left out: ``pathlib``, ``importlib.util``, a C++ compiler for what is no code.
"""

import json
import os
import re
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import ahead_cuda  # lies beside this file, and isolated Pythons do not look there

BEYOND = re.compile(
    r"A launch names a kernel that is not known|not supported when compiling with NVRTC"
    r"|(?:could|can)\s?not open source file|: No such file or directory"
    r"|identifier [\"']cu\w+[\"']|['‘]cu\w+['’] was not declared|no member named ['‘]cu\w+['’]"
)


ASSEMBLY = """\
.section .rodata
.balign 64
.globl kernelwright_cubin
kernelwright_cubin: .incbin "kernels.cubin"
.byte 0
{texts}
.data
.balign 8
.globl kernelwright_compiled
kernelwright_compiled: {rows}
.quad 0, 0, 0
.section .note.GNU-stack, "", %progbits
"""


def embedded(names):
    """Returns the binary and the table of its kernels, as the header declares them, in assembly."""
    texts = "\n".join(f"{at}: .asciz {quoted(text)}" for at, text in enumerate(sum(names.items(), ()), 1))
    rows = "\n".join(f".quad {at}b, {at + 1}b, 0" for at in range(1, 2 * len(names), 2))
    return ASSEMBLY.format(texts=texts, rows=rows)


def quoted(text):
    """Returns a text as assemblers take it, whatever is in it."""
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def build(path, manifest, header):
    """Builds what the manifest at ``path`` holds; returns whether that went well, and what the compilers said."""
    command = manifest["command"]
    included = header or ["-include", manifest["header"]]
    argv = [*command, *included, f"-I{manifest['headers']}", "-x", "c++", "-c", manifest["host"], "-o", "launch.o"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, errors="replace") as host:
        try:
            report, names = ahead_cuda.compile_device(path)
        except ahead_cuda.Rejected as rejection:
            host.kill()  # what it says of the same mistake says it worse
            return False, str(rejection)
        except BaseException:
            host.kill()
            raise
        _, log = host.communicate()
    if host.returncode:
        return False, log
    with open("embedded.s", "w", encoding="utf-8") as file:
        file.write(embedded(names))
    argv = [*command, *manifest["link"], "launch.o", "embedded.s", "-ldl", "-o", "kernel.so"]
    done = subprocess.run(argv, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    return done.returncode == 0, f"{report}\n{log}{done.stderr}"


def main(path, header):
    """Builds with the two compilers, else with nvcc where it may know better."""
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    built, log = build(path, manifest, header)
    if not built and manifest["nvcc"] and BEYOND.search(log):
        sys.exit(subprocess.run(manifest["nvcc"], check=False).returncode)
    print(log.strip(), file=sys.stderr, flush=True)
    os._exit(0 if built else 1)  # NVRTC takes leave in a tenth of the time that it compiles for


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
