"""Compiles CUDA C++ device code with NVRTC for a GPU that need not be here.

Imported by `build_cuda`, in the sandbox. The manifest is JSON: ``library`` (NVRTC's), ``source`` (a file
without launch syntax), ``kernels`` (names of the launched kernels, template arguments included),
``arch``, ``include`` (folders with CUDA's headers). Writes ``kernels.cubin``. Needs neither GPU nor driver.

NVRTC's C interface: https://docs.nvidia.com/cuda/nvrtc. Importing NVIDIA's bindings to all of CUDA would take as long
as the compilation of a small kernel.
"""

import ctypes
import json
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
    "algorithm", "array", "assert.h", "cassert", "cfloat", "chrono", "climits", "cmath", "cstddef", "cstdint",
    "cstdio", "cstdlib", "cstring", "ctime", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "deque",
    "device_launch_parameters.h", "float.h", "fstream", "functional", "iomanip",
    "iostream", "limits.h", "list", "map", "math.h", "memory", "mutex", "numeric", "optional", "random",
    "set", "sstream", "stddef.h", "stdexcept", "stdint.h", "stdio.h", "stdlib.h", "string", "string.h", "thread",
    "tuple", "unordered_map", "unordered_set", "vector",
)  # fmt: skip


class Program:
    """One program in NVRTC."""

    def __init__(self, library, source, headers):
        """Makes it of a source and of headers by name."""
        self.nvrtc, self.handle = ctypes.CDLL(library), ctypes.c_void_p()
        names, texts = strings(headers), strings(headers.values())
        self.demand(
            self.nvrtc.nvrtcCreateProgram(
                ctypes.byref(self.handle), source.encode(), b"kernel.cu", len(headers), texts, names
            )
        )

    def demand(self, result):
        """Ends this process where a call has failed."""
        if result:
            self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            sys.exit(f"NVRTC: {self.nvrtc.nvrtcGetErrorString(result).decode()}")

    def name(self, expression):
        """Has a name's symbol kept."""
        self.demand(self.nvrtc.nvrtcAddNameExpression(self.handle, expression.encode()))

    def compile(self, options):
        """Returns whether that goes well."""
        return self.nvrtc.nvrtcCompileProgram(self.handle, len(options), strings(options)) == 0

    def symbol(self, expression):
        """Returns what the binary calls a name."""
        found = ctypes.c_char_p()
        self.demand(self.nvrtc.nvrtcGetLoweredName(self.handle, expression.encode(), ctypes.byref(found)))
        return found.value.decode()

    def architectures(self):
        """Returns the numbers of those that it compiles for, as in sm_90."""
        count = ctypes.c_int()
        self.demand(self.nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
        numbers = (ctypes.c_int * count.value)()
        self.demand(self.nvrtc.nvrtcGetSupportedArchs(numbers))
        return [*numbers]

    def read(self, what):
        """Returns ``"ProgramLog"`` or ``"CUBIN"``, in bytes."""
        size = ctypes.c_size_t()
        self.demand(getattr(self.nvrtc, f"nvrtcGet{what}Size")(self.handle, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self.demand(getattr(self.nvrtc, f"nvrtcGet{what}")(self.handle, text))
        return text.raw


def strings(texts):
    """Returns texts as C takes many."""
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


class Rejected(Exception):
    """The source does not compile; what is wrong with it."""


def compile_device(path):
    """Compiles what the manifest at ``path`` names; returns the assembler's report, and symbols by name."""
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    ignored = "".join(f"#define cuda{name} kernelwright_ignore\n" for name in RUNTIME)
    headers = dict.fromkeys(EMPTY_HEADERS, "")
    headers |= {
        name: f"#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n" for name in STD_HEADERS
    }
    with open(manifest["source"], encoding="utf-8") as file:
        source = ignored + PRELUDE + file.read()
    program = Program(manifest["library"], source, headers)
    for name in manifest["kernels"]:
        program.name(name)
    options = [f"--gpu-architecture={manifest['arch']}", "--std=c++17", "--device-as-default-execution-space"]
    options += ["--ptxas-options=-v", "--extra-device-vectorization"]
    options += ["--diag-suppress=47"]  # headers define again what the prelude does
    options += [f"--include-path={folder}" for folder in manifest["include"]]
    compiled = program.compile(options)
    log = program.read("ProgramLog").decode(errors="replace").strip("\0 \n")
    if not compiled and "--gpu-architecture" in log:
        known = ", ".join(f"sm_{number}" for number in program.architectures())
        raise Rejected(f"{log}: {manifest['arch']}; it knows {known}")
    if not compiled:
        raise Rejected(f"{log}\n{HINT}" if "__nv_name_map" in log else log)
    with open("kernels.cubin", "wb") as file:
        file.write(program.read("CUBIN"))
    return log, {name: program.symbol(name) for name in manifest["kernels"]}
