"""Compiles the kernels that a FlyDSL source launches, for an AMD GPU that need not be here.

Run in the sandbox as ``python -I ahead_flydsl.py MANIFEST`` with the manifest of `ahead_triton`. The
source is loaded and ``entry_point`` is called on CPU tensors; FlyDSL itself stops after compiling.
Writes the assembly of every kernel as ``launch_i.amdgcn``. FlyDSL links with ``ld.lld`` of LLVM 19
or newer, which it looks for below ``ROCM_PATH``: the manifest's ``lld``.
"""

import importlib.util
import json
import os
import pathlib
import sys


def main(path):
    """Compiles what the manifest at ``path`` names."""
    manifest = json.loads(pathlib.Path(path).read_text())
    linker = pathlib.Path("rocm/llvm/bin/ld.lld")
    linker.parent.mkdir(parents=True)
    linker.symlink_to(manifest["lld"])
    os.environ.update(
        ROCM_PATH=str(pathlib.Path("rocm").resolve()),
        ARCH=manifest["arch"],
        COMPILE_ONLY="1",
        FLYDSL_DUMP_IR="1",
        FLYDSL_DEBUG_DUMP_ASM="1",
        FLYDSL_DUMP_DIR="dump",
        FLYDSL_RUNTIME_ENABLE_CACHE="0",
    )
    import torch

    spec = importlib.util.spec_from_file_location("candidate", manifest["source"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    inputs = [torch.empty(each["shape"], dtype=getattr(torch, each["dtype"])) for each in manifest["inputs"]]
    getattr(module, manifest["entry_point"])(*inputs)
    listings = sorted(pathlib.Path("dump").glob("*/*final_isa.s"))
    for i, listing in enumerate(listings):
        pathlib.Path(f"launch_{i}.amdgcn").write_bytes(listing.read_bytes())
    if not listings:
        sys.exit(f"{manifest['entry_point']} launches no FlyDSL kernel")


if __name__ == "__main__":
    main(sys.argv[1])
