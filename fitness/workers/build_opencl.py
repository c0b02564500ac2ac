"""Builds an OpenCL source into a shared object: PoCL compiles the kernels, a launcher of ours runs their work-groups.

Run in the sandbox as ``python -I build_opencl.py ENTRY_POINT COMPILER…``, in the folder of ``kernel.cl``; writes
``kernel.so``. What is launched stands in the source, one line a launch, in their order; sizes are expressions
in the names of the kernel's integers and in macros::

    #pragma launch NAME global(N, M) local(16, 16)
"""

import os
import pathlib
import re
import subprocess
import sys

LAUNCH = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+launch\b(.*)$", re.MULTILINE)
FORM = re.compile(r"\s*(\w+)\s+global\s*(\(.+?\))(?:\s+local\s*(\(.+\)))?\s*$")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w \t+\-*/%()<>?:,]+?)[ \t]*(?://.*)?$", re.MULTILINE)
EXPRESSION = re.compile(r"\([\w \t+\-*/%()<>?:,]+\)")


def main(entry_point, compiler):
    """Builds ``kernel.cl``."""
    source = pathlib.Path("kernel.cl").read_text(encoding="utf-8")
    launches = [parsed(text) for text in LAUNCH.findall(source)]
    if not launches:
        sys.exit("the source launches nothing: write #pragma launch NAME global(SIZE) local(SIZE)")
    cache = pathlib.Path("cache").resolve()
    cache.mkdir()
    os.environ |= {"HOME": str(cache), "POCL_CACHE_DIR": str(cache), "POCL_DEVICES": "basic"}
    os.environ["POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES"] = "1"  # the objects that are linked here
    kernels = compiled(source)
    for name, _, _ in launches:
        if name not in kernels:
            sys.exit(f"#pragma launch {name}: there is no kernel of this name; there are {', '.join(sorted(kernels))}")
    pathlib.Path("launch.cpp").write_text(launcher(entry_point, source, launches, kernels), encoding="utf-8")
    objects = [str(path) for name in sorted({name for name, _, _ in launches}) for path in cache.rglob(f"{name}.so.o")]
    include = ["-I", str(pathlib.Path(__file__).parent)]
    flags = ["-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs", "-Wl,--exclude-libs,ALL"]
    done = subprocess.run([*compiler, *flags, *include, "launch.cpp", *objects, "-lm", "-o", "kernel.so"], check=False)
    sys.exit(done.returncode)


def parsed(text):
    """Returns name, global sizes and local sizes of a launch."""
    form = FORM.match(text)
    sizes = [each[1:-1].split(",") for each in (form.groups()[1:] if form else ()) if each]
    if form is None or not all(EXPRESSION.fullmatch(each) for each in form.groups()[1:] if each):
        sys.exit(f"#pragma launch{text}: write #pragma launch NAME global(SIZE, …) local(SIZE, …)")
    if max(map(len, sizes)) > 3:
        sys.exit(f"#pragma launch{text}: a launch has at most three dimensions")
    return form[1], sizes[0], sizes[1] if len(sizes) > 1 else []


def compiled(source):
    """Has PoCL compile every kernel; returns, by name, its arguments and how much local memory it takes."""
    import pyopencl as cl

    device = pocl(cl)
    program = cl.Program(cl.Context([device]), source)
    try:
        program.build(options=["-cl-std=CL3.0", "-cl-kernel-arg-info"], cache_dir=False)
        program.get_info(cl.program_info.BINARIES)  # only now the work-groups are compiled
    except cl.Error as error:
        sys.exit(re.sub(r"\S*tempfile_\w+\.cl", "kernel.cl", str(error)))
    return {kernel.function_name: facts(cl, kernel, device) for kernel in program.all_kernels()}


def pocl(cl):
    """Returns PoCL's serial device on the CPU."""
    for platform in cl.get_platforms():
        if platform.name == "Portable Computing Language" and "PoCL 3." in platform.version:
            return platform.get_devices()[0]
    sys.exit("PoCL 3 is not among the OpenCL platforms: pip install 'pocl-binary-distribution==3.0'")


def facts(cl, kernel, device):
    """Returns the arguments of a kernel, ``(name, is a buffer)`` each, and its local memory in bytes."""
    info, of = cl.kernel_arg_info, cl.kernel_arg_address_qualifier
    arguments = []
    for index in range(kernel.num_args):
        name, kind = kernel.get_arg_info(index, info.NAME), kernel.get_arg_info(index, info.TYPE_NAME)
        place = kernel.get_arg_info(index, info.ADDRESS_QUALIFIER)
        if place not in (of.GLOBAL, of.CONSTANT) and kind != "long":
            sys.exit(f"{kernel.function_name}: {name} is {kind}; arguments are __global buffers and then long sizes")
        arguments.append((name, place != of.PRIVATE))
    used = kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, device)
    if used > device.local_mem_size:
        sys.exit(f"{kernel.function_name} takes {used} bytes of local memory; there are {device.local_mem_size}")
    return arguments, used


def launcher(entry_point, source, launches, kernels):
    """Returns the host's source: every launch on the same arguments, in order."""
    shapes = {tuple(is_buffer for _, is_buffer in kernels[name][0]) for name, _, _ in launches}
    if len(shapes) > 1:
        sys.exit("all kernels that are launched must have the same arguments: inputs, outputs and sizes of the task")
    (shape,) = shapes
    declared = ", ".join(f"{'void*' if is_buffer else 'long'} a{i}" for i, is_buffer in enumerate(shape))
    lines = ['#include "opencl_launch.hpp"', "using namespace kernelwright;"]
    lines += [
        f'extern "C" WorkGroup _pocl_kernel_{name}_workgroup;' for name in sorted({name for name, _, _ in launches})
    ]
    slot = max(128, *(-(-kernels[name][1] // 128) * 128 for name, _, _ in launches))
    lines += [f"alignas(128) static unsigned char local_memory[LOCAL_ARRAYS][{slot}];"]
    lines += [f"#define {name} ({value})" for name, value in MACRO.findall(source)]
    lines += [f'extern "C" __attribute__((visibility("default"))) void {entry_point}({declared}) {{']
    for name, size, group in launches:
        lines += launched(name, size, group, kernels[name][0])
    return "\n".join([*lines, "}", ""])


def launched(name, size, group, arguments):
    """Returns the statements of one launch."""
    sizes = [f"const long {each} = a{i};" for i, (each, is_buffer) in enumerate(arguments) if not is_buffer]
    given = ", ".join(f"&a{i}" for i in range(len(arguments)))
    return [
        "{",
        *sizes,
        "void* locals[LOCAL_ARRAYS];",
        "for (int i = 0; i < LOCAL_ARRAYS; ++i) locals[i] = local_memory[i];",
        f"void* arguments[{len(arguments)} + LOCAL_ARRAYS] = {{{given}}};",
        f"for (int i = 0; i < LOCAL_ARRAYS; ++i) arguments[{len(arguments)} + i] = &locals[i];",
        f"const Range global = {{{', '.join(three(size))}}}, local = {{{', '.join(three(group))}}};",
        f'run(_pocl_kernel_{name}_workgroup, "{name}", arguments, {len(size)}, global, local);',
        "}",
    ]


def three(sizes):
    """Returns three sizes; those that are not given are 1."""
    return [*sizes, "1", "1", "1"][:3]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
