"""Builds a Numba source into a shared object without Python: the code of a ``cfunc``, linked with a small runtime.

Run in the sandbox as ``python -I build_numba.py ENTRY_POINT COMPILER…``, in the folder of ``candidate.py``; writes
``kernel.so`` with the entry point under its own name.
"""

import importlib.util
import pathlib
import subprocess
import sys
import warnings

INTERFACE = (
    'must be decorated with numba.cfunc and the types of its arguments: @cfunc("void(CPointer(float32), …, int64)")'
)


def main(entry_point, compiler):
    """Builds the function called ``entry_point``."""
    warnings.simplefilter("ignore")  # about this sandbox, or about speed
    code, unreachable = compiled(loaded(entry_point), entry_point)
    pathlib.Path("kernel.o").write_bytes(code)
    runtime = pathlib.Path(__file__).with_name("numba_runtime.cpp").read_text(encoding="utf-8")
    pathlib.Path("runtime.cpp").write_text(f"{runtime}{''.join(f'NEVER({name})' for name in unreachable)}")
    flags = ["-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"]
    done = subprocess.run([*compiler, *flags, "kernel.o", "runtime.cpp", "-lm", "-o", "kernel.so"], check=False)
    sys.exit(done.returncode)


def loaded(entry_point):
    """Runs the module and returns its entry point."""
    from numba.core.ccallback import CFunc
    from numba.core.errors import NumbaError

    spec = importlib.util.spec_from_file_location("candidate", "candidate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    try:
        spec.loader.exec_module(module)
    except NumbaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    function = getattr(module, entry_point, None)
    if not isinstance(function, CFunc):
        sys.exit(f"{entry_point} {INTERFACE}")
    return function


def compiled(function, entry_point):
    """Returns the object code of a ``cfunc`` with one visible symbol, and what it names of Python: raising uses it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = function.inspect_llvm()
    if "numba_parallel_for" in text:
        sys.exit("parallel=True needs Numba's own threads, which are not there when the kernel runs")
    module = llvm.parse_assembly(text)
    for each in module.functions:
        if each.name == function.native_name:
            each.name = entry_point
        elif not each.is_declaration:
            each.linkage = "internal"
    named = [each.name for each in (*module.functions, *module.global_variables) if each.is_declaration]
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        llvm.get_host_cpu_name(), features, opt=3, reloc="pic", codemodel="default"
    )
    return machine.emit_object(module), [name for name in named if name.startswith("Py")]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
