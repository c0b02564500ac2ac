"""Compiles the kernels that a Triton source launches, for a GPU that need not be here.

Run in the sandbox as ``python -I ahead_triton.py MANIFEST`` with the source's folder as current
folder. The manifest is JSON: ``source``, ``entry_point``, ``arch``, ``inputs`` (dtype and shape).
The source is loaded, ``entry_point`` is called on CPU tensors, and every launch on the way is
compiled for ``arch`` instead of being run, with the argument types, divisibility, constants, warps
and stages of that launch. Writes, for launch *i*, ``launch_i.json`` (metadata) and its binary and
assembly (``launch_i.cubin`` and ``.ptx``, or ``launch_i.hsaco`` and ``.amdgcn``).
"""

import importlib.util
import json
import os
import pathlib
import re
import sys


class Launches:
    """Stands in for the GPU driver: says what it compiles for, and has no device to launch on."""

    def __init__(self, target):
        """Remembers the target and how many launches were compiled."""
        self.target = target
        self.count = 0

    def get_current_target(self):
        """Returns what Triton compiles for."""
        return self.target

    def get_active_torch_device(self):
        """Returns where the tensors are."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        """Returns the module that a GPU's would be."""
        import torch

        return torch.cpu

    def get_current_device(self):
        """Returns the only device there is."""
        return 0

    def set_current_device(self, device):
        """Does nothing: there is one device."""

    def get_current_stream(self, device=None):
        """Returns the only stream there is."""
        return 0

    def map_python_to_cpp_type(self, ty):
        """Never used: nothing is launched."""
        return ty


def gpu_target(arch):
    """Returns Triton's name for ``sm_90`` or ``gfx942``."""
    from triton.backends.compiler import GPUTarget

    if arch.startswith("gfx"):
        return GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)
    number = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if number is None:
        sys.exit(f"{arch} is no name of an NVIDIA architecture; write it as in sm_90a")
    return GPUTarget("cuda", int(number[1]), 32)


def record(driver, compiled):
    """Writes the binary, the assembly and the metadata of one compiled launch."""
    name = f"launch_{driver.count}"
    driver.count += 1
    for kind in ("cubin", "ptx", "hsaco", "amdgcn"):
        if kind in compiled.asm:
            data = compiled.asm[kind]
            pathlib.Path(f"{name}.{kind}").write_bytes(data if isinstance(data, bytes) else data.encode())
    metadata = compiled.metadata
    facts = {key: getattr(metadata, key, None) for key in ("name", "shared", "num_warps", "num_stages", "num_ctas")}
    pathlib.Path(f"{name}.json").write_text(json.dumps(facts))


def redirect_launches(driver):
    """Makes every launch of a jitted function compile for the driver's target and stop there."""
    from triton.runtime import driver as active
    from triton.runtime.jit import JITFunction

    active.set_active(driver)
    run = JITFunction.run
    seen = set()

    def compile_only(self, *args, grid, warmup, **kwargs):
        compiled = run(self, *args, grid=grid, warmup=True, **kwargs)
        if compiled is not None and id(compiled) not in seen:
            seen.add(id(compiled))
            record(driver, compiled)
        return compiled

    JITFunction.run = compile_only


def choose_first_configuration():
    """Makes an autotuner take its first configuration: there is no device to try the others on."""
    from triton.runtime.autotuner import Autotuner

    def run(self, *args, **kwargs):
        config = self.configs[0]
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    Autotuner.run = run


def main(path):
    """Compiles what the manifest at ``path`` names."""
    manifest = json.loads(pathlib.Path(path).read_text())
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as it always was; 3.9 asks to be told
    os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path("cache").resolve())
    import torch

    driver = Launches(gpu_target(manifest["arch"]))
    redirect_launches(driver)
    choose_first_configuration()
    spec = importlib.util.spec_from_file_location("candidate", manifest["source"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    inputs = [torch.empty(each["shape"], dtype=getattr(torch, each["dtype"])) for each in manifest["inputs"]]
    getattr(module, manifest["entry_point"])(*inputs)
    if not driver.count:
        sys.exit(f"{manifest['entry_point']} launches no Triton kernel")


if __name__ == "__main__":
    main(sys.argv[1])
