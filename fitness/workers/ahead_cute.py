"""Compiles the kernels that a CuTe DSL source launches, for a GPU that need not be here.

Run in the sandbox as ``python -I ahead_cute.py MANIFEST`` with the manifest of `ahead_triton`. The
source is loaded, ``entry_point`` is called on CPU tensors, and every ``cute.jit`` function that it
calls is compiled instead of being run. Writes ``launch_i.cubin`` and ``launch_i.ptx``.
"""

import importlib.util
import json
import os
import pathlib
import sys
import types

count = 0
tracing = False


def compile_instead(cute):
    """Makes a call of a ``cute.jit`` function compile it, unless it is being traced already."""
    jit = cute.jit

    def decorate(function):
        compiled = jit(function)

        def call(*args, **kwargs):
            global count, tracing  # one program, one run
            if tracing:
                return compiled(*args, **kwargs)
            tracing = True
            try:
                binary = cute.compile(compiled, *args, options="--keep-ptx --keep-cubin", **kwargs)
            finally:
                tracing = False
            pathlib.Path(f"launch_{count}.cubin").write_bytes(binary.__cubin__)
            ptx = binary.__ptx__
            pathlib.Path(f"launch_{count}.ptx").write_bytes(ptx if isinstance(ptx, bytes) else ptx.encode())
            count += 1
            return None

        return call

    cute.jit = decorate


def main(path):
    """Compiles what the manifest at ``path`` names."""
    manifest = json.loads(pathlib.Path(path).read_text())
    # Without it the DSL silently compiles for its newest architecture.
    os.environ["CUTE_DSL_ARCH"] = manifest["arch"]
    import torch
    from cutlass import cute

    compile_instead(cute)
    spec = importlib.util.spec_from_file_location("candidate", manifest["source"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.cuda.current_stream = lambda *_: types.SimpleNamespace(cuda_stream=0)  # sources launch on torch's stream
    inputs = [torch.empty(each["shape"], dtype=getattr(torch, each["dtype"])) for each in manifest["inputs"]]
    getattr(module, manifest["entry_point"])(*inputs)
    if not count:
        sys.exit(f"{manifest['entry_point']} calls no cute.jit function")


if __name__ == "__main__":
    main(sys.argv[1])
