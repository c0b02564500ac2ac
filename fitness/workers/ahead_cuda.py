"""Compiles CUDA C++ device code with NVRTC for a GPU that need not be here.

Loaded by `build_cuda`, in the sandbox. The manifest is JSON: ``source`` (a file
without launch syntax), ``kernels`` (names of the launched kernels, template arguments included),
``arch``, ``include`` (folders with CUDA's headers). Writes ``kernels.cubin``, ``names.json`` (name
to symbol) and prints the report of the assembler. Needs neither GPU nor driver.
"""

import json
import pathlib
import sys

# Host functions whose bodies are still here are compiled as device functions that nobody calls; what they call of the
# runtime is a name without effect here.
RUNTIME = (
    "DeviceGetAttribute", "DeviceSynchronize", "Free", "FreeAsync", "FuncSetAttribute", "GetDevice", "GetErrorString",
    "GetLastError", "Malloc", "MallocAsync", "MemcpyAsync", "Memset", "MemsetAsync", "PeekAtLastError",
    "StreamSynchronize",
)  # fmt: skip
PRELUDE = """
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define INT_MAX 2147483647
#define M_PI 3.14159265358979323846
#define M_SQRT1_2 0.70710678118654752440
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
typedef long long intptr_t; typedef unsigned long long uintptr_t;
namespace std {
using ::size_t; using ::ptrdiff_t; using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t;
using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t;
}
template <class... T> __device__ int kernelwright_ignore(T...) { return 0; }
template <class... T> __device__ void kernelwright_launch(T...) {}
#define KERNELWRIGHT_DYNAMIC_SHARED(T, name) \\
    extern __shared__ __align__(16) unsigned char kernelwright_dynamic[]; \\
    T* name = reinterpret_cast<T*>(kernelwright_dynamic)
#line 1
"""

HINT = """\
A launch names a kernel that is not known outside of the launching function: template arguments must be numbers, types
or constants, not template or macro parameters, and a kernel in a namespace needs its whole name."""

# Host headers that kernels include out of habit: of these CUDA has its own, and of those NVRTC knows what it can.
STD_HEADERS = ("limits", "type_traits", "utility")
EMPTY_HEADERS = (
    "algorithm", "array", "cassert", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring",
    "cuda.h", "cuda_runtime.h", "device_launch_parameters.h", "float.h", "iostream", "limits.h", "map", "math.h",
    "memory", "stdexcept", "stdint.h", "stdio.h", "stdlib.h", "string", "string.h", "unordered_map", "vector",
)  # fmt: skip


def main(path):
    """Compiles what the manifest at ``path`` names; the exit code says whether it went well."""
    from cuda.bindings import nvrtc

    def call(result, *values):
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            sys.exit(f"NVRTC: {result.name}")
        return values[0] if values else None

    manifest = json.loads(pathlib.Path(path).read_text())
    ignored = "".join(f"#define cuda{name} kernelwright_ignore\n" for name in RUNTIME)
    source = ignored + PRELUDE + pathlib.Path(manifest["source"]).read_text()
    texts = dict.fromkeys(EMPTY_HEADERS, "")
    texts |= {
        name: f"#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n" for name in STD_HEADERS
    }
    headers, contents = ([each.encode() for each in side] for side in (texts, texts.values()))
    program = call(*nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", len(headers), contents, headers))
    for name in manifest["kernels"]:
        call(*nvrtc.nvrtcAddNameExpression(program, name.encode()))
    options = [f"--gpu-architecture={manifest['arch']}", "--std=c++17", "--device-as-default-execution-space"]
    options += ["--ptxas-options=-v", "--extra-device-vectorization"]
    options += ["--diag-suppress=47"]  # headers define again what the prelude does
    options += [f"--include-path={folder}" for folder in manifest["include"]]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    size = call(*nvrtc.nvrtcGetProgramLogSize(program))
    log = b" " * size
    call(*nvrtc.nvrtcGetProgramLog(program, log))
    print(log.decode(errors="replace").strip("\0 \n"), file=sys.stderr)
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        sys.exit(HINT if b"__nv_name_map" in log else 1)
    cubin = b" " * call(*nvrtc.nvrtcGetCUBINSize(program))
    call(*nvrtc.nvrtcGetCUBIN(program, cubin))
    pathlib.Path("kernels.cubin").write_bytes(cubin)
    names = {name: call(*nvrtc.nvrtcGetLoweredName(program, name.encode())).decode() for name in manifest["kernels"]}
    pathlib.Path("names.json").write_text(json.dumps(names))
