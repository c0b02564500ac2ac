"""Real toolchains compile real seeds for hardware that is not here; each is tested where it is installed."""

import ctypes
import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import stand_in_cuda
from fitness import Kernel, Status, TaskError, ToolchainError, tasks
from fitness.ahead import AheadLanguage, compile_ahead
from fitness.build import Builder
from fitness.compiler import find_compiler
from fitness.languages import Cpp, Cuda, Cute, FlyDSL, Hip, Triton, cuda
from fitness.languages.cuda import cuda_headers
from fitness.languages.flydsl import linker
from fitness.sandbox import find_sandbox
from fitness.session import Failed
from fitness.tasks import RowSum, Softmax
from stand_in_cuda import launched


def installed(*modules):
    return all(importlib.util.find_spec(module) is not None for module in modules)


TRITON = pytest.mark.skipif(not installed("torch", "triton"), reason="torch and triton are not installed")
NVRTC = pytest.mark.skipif(not Cuda()._uses_nvrtc(), reason="NVRTC is not installed")
CLANG = pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang 19 is not installed")
CUTE = pytest.mark.skipif(not installed("torch", "cutlass"), reason="CuTe DSL is not installed")
FLYDSL = pytest.mark.skipif(
    not installed("torch", "flydsl") or linker() is None, reason="FlyDSL or ld.lld 19 is not installed"
)

BUILDS = [
    pytest.param(Triton(), "sm_90a", "registers", marks=TRITON),
    pytest.param(Triton(), "gfx90a", "vgprs", marks=TRITON),
    pytest.param(Triton(), "gfx942", "vgprs", marks=TRITON),
    pytest.param(Triton(), "gfx950", "vgprs", marks=TRITON),
    pytest.param(Cuda(), "sm_90a", "registers", marks=NVRTC),
    pytest.param(Cuda(), "sm_80", "registers", marks=NVRTC),
    pytest.param(Hip(), "gfx942", "vgprs", marks=CLANG),
    pytest.param(Hip(), "gfx90a", "vgprs", marks=CLANG),
    pytest.param(Cute(), "sm_90a", "registers", marks=CUTE),
    pytest.param(FlyDSL(), "gfx942", "vgprs", marks=FLYDSL),
]


@pytest.mark.parametrize(("language", "arch", "metric"), BUILDS)
def test_a_seed_compiles_and_tells_its_registers(language, arch, metric):
    task = Softmax()
    compilation = compile_ahead(task.seed_kernel(language.name), task, language, arch)

    assert Status.OK == compilation.status, compilation.log
    assert compilation.static[metric] > 0
    assert compilation.artifact_bytes > 1000


@NVRTC
def test_the_driver_of_two_compilers_looks_through_no_packages(tmp_path):
    """That is most of what a Python takes to start, and it is started for each candidate."""
    argv = Cuda().build_ahead(RowSum().seed_kernel("cuda"), RowSum(), "sm_80", tmp_path).argv
    python = argv[: next(at for at, argument in enumerate(argv) if argument.endswith(".py"))]
    told = subprocess.run([*python, "-c", "import sys; print('site' in sys.modules)"], capture_output=True, check=True)

    assert b"False" == told.stdout.strip()


SHIPPED = [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"]
TURNS = ("sm_90a", "gfx90a", "gfx942", "gfx950")


@TRITON
@pytest.mark.parametrize(
    ("task", "arch"),
    [(task, TURNS[index % len(TURNS)]) for index, task in enumerate(SHIPPED)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_every_triton_seed_compiles(task, arch):
    compilation = compile_ahead(task().seed_kernel("triton"), task(), Triton(), arch)

    assert Status.OK == compilation.status, compilation.log


def cuda_seed(task):
    kernel = task().seed_kernel("cuda")
    if "cuda_fp16.h" in kernel.source and not cuda_headers():
        pytest.skip("CUDA's headers are not installed: pip install nvidia-cuda-runtime")
    return kernel


@NVRTC
@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.name)
def test_every_cuda_seed_compiles(task):
    kernel = cuda_seed(task)
    compilation = compile_ahead(kernel, task(), Cuda(), "sm_90a")

    assert Status.OK == compilation.status, compilation.log


def need_cudas_cxx_library():
    if len(cuda_headers()) < 2:
        pytest.skip("not all of CUDA's headers are installed: pip install nvidia-cuda-runtime nvidia-cuda-cccl")


class Hopper:
    """Stands for a GPU that is not here: objects are built for it."""

    name, arch = "nvidia", "sm_90a"


def built_for_a_gpu(kernel, device_compiler="nvrtc"):
    return Builder(Cuda(device_compiler), Hopper(), find_sandbox(find_compiler()), 60.0).build(kernel)


@NVRTC
@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.name)
def test_every_cuda_seed_builds_with_its_host_side(task):
    kernel = cuda_seed(task)

    assert built_for_a_gpu(kernel).path.is_file()


HABITS = """\
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <mma.h>
#include <cuda_runtime_api.h>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <numeric>
#include <tuple>
#include <vector>
namespace cg = cooperative_groups;
using namespace nvcuda;
__global__ void copy(const float* x, float* y, long n) {
    auto block = cg::this_thread_block();
    if (block.thread_rank() < n) y[block.thread_rank()] = x[block.thread_rank()];
}
extern "C" void kernel(const float* x, float* y, long n, cudaStream_t stream) {
    int device, count;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    std::vector<dim3> grids(1, dim3(count));
    float* scratch;
    cudaMallocAsync(&scratch, n * sizeof(float), stream);
    cudaMemcpyAsync(scratch, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    copy<<<grids[0], 32, 0, stream>>>(scratch, y, n);
    cudaFreeAsync(scratch, stream);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) printf("%s", cudaGetErrorString(error));
}
"""


@NVRTC
def test_what_people_include_and_call_out_of_habit_builds():
    need_cudas_cxx_library()

    assert built_for_a_gpu(Kernel(HABITS, "cuda")).path.is_file()


@pytest.fixture(scope="module")
def habits(tmp_path_factory):
    """The artifact of a launcher with habits, and the folder of a driver that stands in."""
    need_cudas_cxx_library()
    folder = tmp_path_factory.mktemp("driver")
    stand_in_cuda.build(folder)
    return built_for_a_gpu(Kernel(HABITS, "cuda")).path, folder


@NVRTC
def test_a_launcher_asks_the_driver_for_what_it_calls(habits):
    asked, told, code = launched(*habits)

    order = "cuCtxGetDevice cuDeviceGetAttribute cuMemAllocAsync cuMemcpyAsync cuModuleLoadData cuModuleGetFunction cuLaunchKernel"
    assert [*order.split(), "survived"] == asked, told
    assert 0 == code


@NVRTC
def test_what_a_capture_refuses_does_not_end_the_process(habits):
    asked, _, code = launched(*habits, cuMemAllocAsync=900, cuMemcpyAsync=901, cuLaunchKernel=901)

    assert ("survived", 0) == (asked[-1], code)


@NVRTC
def test_what_the_driver_refuses_ends_the_process_with_its_name(habits):
    _, told, code = launched(*habits, cuLaunchKernel=700)

    assert "cuLaunchKernel failed with CUDA error 700" in told
    assert code != 0


COPY = "__global__ void copy(const float* x, float* y, long n) { y[threadIdx.x] = x[threadIdx.x]; }\n"
LAUNCHER = 'extern "C" void kernel(const float* x, float* y, long n, cudaStream_t stream) {\n'
LAUNCH = "    copy<<<1, 32, 0, stream>>>(x, y, n);\n}\n"

BEYOND_NVRTC = {
    "a launch in a template": (
        "template <int B> __global__ void copy(const float* x, float* y, long n) { y[threadIdx.x] = x[threadIdx.x]; }\n"
        "template <int B> void launch(const float* x, float* y, long n, cudaStream_t s) { copy<B><<<1, B, 0, s>>>(x, y, n); }\n"
        f"{LAUNCHER}launch<64>(x, y, n, stream);\n}}\n"
    ),
    "a header": "#include <cub/cub.cuh>\n" + COPY + LAUNCHER + LAUNCH,
    "a function of the runtime": COPY + LAUNCHER + "cudaEvent_t e; cudaEventCreate(&e);\n" + LAUNCH,
}
NVCC = """\
#!/bin/sh
echo "nvcc was asked" >&2
for last in "$@"; do :; done
cp whole.cu "$last"
"""


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """Stands for CUDA's compiler: what it builds is the source, and it says that it was asked."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text(NVCC)
    (tmp_path / "bin" / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@NVRTC
@pytest.mark.parametrize("name", BEYOND_NVRTC)
def test_what_is_beyond_nvrtc_is_left_to_nvcc(nvcc, name):
    kernel = Kernel(BEYOND_NVRTC[name], "cuda", "kernel")
    built = built_for_a_gpu(kernel, "auto")

    assert "nvcc was asked" == built.log.strip()
    assert kernel.source == built.path.read_text()


@NVRTC
@pytest.mark.parametrize("broken", ["y[0] = z;", "y[0] = x[0]", "float4 v = x; y[0] = v;", "unknown(x);"])
@pytest.mark.parametrize("where", ["device", "host"])
def test_a_mistake_is_not_built_twice(nvcc, where, broken):
    device, host = (broken, "") if where == "device" else ("", broken)
    source = (
        f"__global__ void copy(const float* x, float* y) {{ {device} }}\n{LAUNCHER} {host} copy<<<1, 32>>>(x, y);\n}}\n"
    )
    with pytest.raises(Failed) as failed:
        built_for_a_gpu(Kernel(source, "cuda", "kernel"), "auto")

    assert Status.BUILD_FAILED == failed.value.status
    assert "nvcc was asked" not in failed.value.log
    assert "error" in failed.value.log


@NVRTC
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", ["a launch in a template", "a function of the runtime"])
def test_nvcc_builds_what_is_beyond_nvrtc(tmp_path, monkeypatch, name):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert (
        built_for_a_gpu(Kernel(BEYOND_NVRTC[name], "cuda", "kernel"), "auto").path.read_bytes().startswith(b"\x7fELF")
    )


@NVRTC
def test_without_nvcc_it_is_said_what_nvrtc_cannot_do():
    with pytest.raises(Failed) as failed:
        built_for_a_gpu(Kernel(BEYOND_NVRTC["a launch in a template"], "cuda", "kernel"))

    assert "template arguments must be numbers, types" in failed.value.log


STYLES = {
    "a block of extern C": COPY + f'extern "C" {{\n{LAUNCHER[11:]}    int device;\n    cudaGetDevice(&device);\n{LAUNCH}}}\n',
    "raw strings": f'static const char* text = R"x(it\'s }} ")x";\n{COPY}{LAUNCHER}    text = R"( }} {{ )";\n{LAUNCH}',
    "digit separators": f"{COPY}{LAUNCHER}    if (n > 1'000) {{ n = 1'000'000; }}\n{LAUNCH}",
    "windows": (COPY + LAUNCHER + LAUNCH).replace("\n", "\r\n"),
    "a launcher that says it is for the host": COPY + LAUNCHER.replace("void", "__host__ void") + LAUNCH,
    "words for what is marked": (
        "#define GLOBAL __global__\n#define DEV __device__\n#define HD __host__ __device__\n"
        'extern "C" DEV float twice(float x) { return __expf(x) * 2; }\nHD int one() { return 1; }\n'
        'extern "C" GLOBAL void copy(const float* x, float* y, long n) { y[one()] = twice(x[0]); }\n'
        f"{LAUNCHER}    n = one();\n{LAUNCH}"
    ),
    "helpers for the host": (
        "#include <algorithm>\n#include <cstdio>\n#include <vector>\n" + COPY +
        'static void check(cudaError_t e) { if (e) { fprintf(stderr, "%s", cudaGetErrorString(e)); exit(1); } }\n'
        "static int count() { int device, sms; cudaGetDevice(&device);\n"
        "    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device); return std::min(sms, 64); }\n"
        "template <int B = 32> inline void go(const float* x, float* y, long n, cudaStream_t stream) noexcept {\n"
        "    std::vector<int> grids = {count()}; copy<<<min(grids[0], n), B, 0, stream>>>(x, y, n); }\n"
        f"{LAUNCHER}    go<>(x, y, n, stream);\n    check(cudaGetLastError());\n}}\n"
    ),
    "an owner of memory": (
        COPY + "struct Buffer { float* at; Buffer(long n) { cudaMalloc(&at, n); } ~Buffer() { cudaFree(at); } };\n"
        f"{LAUNCHER}    Buffer buffer(n);\n{LAUNCH}"
    ),
    "constants of the launcher": (
        "template <int B, class T> __global__ void copy(const T* x, T* y, long n) { y[B] = x[threadIdx.x]; }\n"
        f"{LAUNCHER}    constexpr int W = 8;\n    const int B = 4 * W;\n    using T = float;\n{LAUNCH}"
    ).replace("copy<<<", "copy<B, T><<<"),
    "fixed widths": (
        "#include <cstdint>\n#include <cstddef>\n"
        "__global__ void copy(const float* x, float* y, std::int64_t n) {\n"
        "    uint16_t u = reinterpret_cast<uintptr_t>(x) & 15; std::size_t i = u; y[i] = x[i]; }\n" + LAUNCHER + LAUNCH
    ),
    "vectors as arguments": (
        "__global__ void copy(const float* x, float* y, float4 v) { y[0] = v.x; }\n"
        f"{LAUNCHER}    float4 v = make_float4(1, 2, 3, 4);\n{LAUNCH}".replace("y, n)", "y, v)")
    ),
}  # fmt: skip


@NVRTC
@pytest.mark.parametrize("style", STYLES)
def test_what_people_write_builds(style):
    assert built_for_a_gpu(Kernel(STYLES[style], "cuda")).path.is_file()


@NVRTC
def test_a_built_launcher_holds_its_binary_and_the_symbols_of_its_kernels():
    more = "namespace own { template <int B, class T> __global__ void copy_of(const T* x, T* y, long n) { y[B] = x[0]; } }\n"
    launches = "    own::copy_of<4, float><<<1, 32, 0, stream>>>(x, y, n);\n" + LAUNCH
    built = built_for_a_gpu(Kernel(COPY + more + LAUNCHER + launches, "cuda"))
    library, content = ctypes.CDLL(str(built.path)), built.path.read_bytes()
    table = (ctypes.c_char_p * 9).in_dll(library, "kernelwright_compiled")
    binary = (ctypes.c_char * 4).in_dll(library, "kernelwright_cubin").raw

    assert b"\x7fELF" == binary
    assert {"own::copy_of<4, float>", "copy"} == {table[at].decode() for at in (0, 3)}
    assert all(table[at] in content and b"_Z" == table[at][:2] for at in (1, 4))
    assert [None] * 5 == [table[at] for at in (2, 5, 6, 7, 8)]
    told = subprocess.run(["readelf", "-lW", built.path], capture_output=True, text=True, check=True).stdout
    assert "RW " == re.search(r"GNU_STACK.* 0x0+ (...) ", told)[1]  # nothing on the stack can be executed


@NVRTC
@pytest.mark.parametrize("style", ["type_traits", "limits"])
def test_what_a_device_has_of_the_standard_library_builds(style):
    need_cudas_cxx_library()
    body = {"type_traits": "std::is_same<float, int>::value", "limits": "std::numeric_limits<float>::infinity()"}[style]
    source = f"#include <{style}>\n" + COPY.replace("x[threadIdx.x];", f"{body};") + LAUNCHER + LAUNCH

    assert built_for_a_gpu(Kernel(source, "cuda")).path.is_file()


@NVRTC
def test_a_mistake_in_a_launcher_is_told_with_its_line():
    source = f"{COPY}{LAUNCHER}\n    nonsense(x);\n{LAUNCH}"
    with pytest.raises(Failed) as failed:
        built_for_a_gpu(Kernel(source, "cuda"))

    assert "kernel.cu:4:" in failed.value.log
    assert "nonsense(x);" in failed.value.log


@NVRTC
def test_a_kernel_that_only_a_template_knows_is_told():
    source = "template <int B> __global__ void copy(const float* x, float* y, long n) { y[B] = x[0]; }\n"
    source += "template <int B> void go(const float* x, float* y, long n) { copy<B><<<1, B>>>(x, y, n); }\n"
    source += LAUNCHER + "    go<32>(x, y, n);\n}\n"
    with pytest.raises(Failed) as failed:
        built_for_a_gpu(Kernel(source, "cuda"))

    assert "template arguments must be" in failed.value.log


@CLANG
@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.name)
def test_every_hip_seed_compiles(task):
    compilation = compile_ahead(task().seed_kernel("hip"), task(), Hip(), "gfx942")

    assert Status.OK == compilation.status, compilation.log


@pytest.mark.parametrize(("language", "arch", "metric"), [BUILDS[i] for i in (0, 4, 6, 8, 9)])
def test_broken_source_is_a_verdict_with_the_compilers_words(language, arch, metric):
    task = RowSum()
    seed = task.seed_kernel(language.name)
    broken = dataclasses.replace(seed, source=seed.source.replace("total", "undeclared_name + total", 1) + "\n)")
    compilation = compile_ahead(broken, task, language, arch)

    assert Status.BUILD_FAILED == compilation.status
    assert compilation.log
    assert 0 == compilation.artifact_bytes


@TRITON
def test_each_launch_is_compiled_with_its_own_constants():
    task = RowSum()
    seed = task.seed_kernel("triton")
    small = compile_ahead(seed, task, Triton(), "sm_90a").static
    large = compile_ahead(
        dataclasses.replace(seed, source=seed.source.replace("BLOCK=128", "BLOCK=4096")), task, Triton(), "sm_90a"
    ).static

    assert small["registers"] < large["registers"]


@TRITON
def test_a_module_without_a_launch_is_no_kernel():
    kernel = Kernel("import torch\n\n\ndef kernel_fn(x):\n    return x.sum(1)\n", "triton", "kernel_fn")

    assert Status.BUILD_FAILED == compile_ahead(kernel, RowSum(), Triton(), "sm_90a").status


@pytest.fixture
def wheels_of_cuda_12(tmp_path, monkeypatch):
    """Which have a folder for each part; their libraries are empty here."""
    for name in (
        "cuda_nvrtc/lib/libnvrtc.so.12",
        "cuda_nvrtc/lib/libnvrtc.alt.so.12",
        "cuda_runtime/include/cuda_fp16.h",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(cuda, "_roots", lambda: [tmp_path / each for each in ("cu13", "cuda_nvrtc", "cuda_runtime")])
    for function in (cuda.nvrtc, cuda.nvrtc_version, cuda.cuda_headers):
        function.cache_clear()
    yield tmp_path
    for function in (cuda.nvrtc, cuda.nvrtc_version, cuda.cuda_headers):
        function.cache_clear()


def test_cuda_12_is_found_and_a_library_that_is_none_is_named(wheels_of_cuda_12):
    assert wheels_of_cuda_12 / "cuda_nvrtc/lib/libnvrtc.so.12" == cuda.nvrtc()
    assert [str(wheels_of_cuda_12 / "cuda_runtime/include")] == cuda.cuda_headers()
    with pytest.raises(ToolchainError, match=r"NVRTC cannot be loaded \(.*libnvrtc.so.12"):
        cuda.nvrtc_version()


@TRITON
@pytest.mark.parametrize("planted", ["os.mkfifo('launch_9.json')", "os.symlink('/dev/zero', 'launch_9.json')"])
def test_what_has_no_end_is_not_read(planted):
    seed = RowSum().seed_kernel("triton")
    kernel = Kernel(f"{seed.source}\nimport os\n{planted}\n", "triton", seed.entry_point)
    compilation = compile_ahead(kernel, RowSum(), Triton(), "sm_90a")

    assert Status.OK == compilation.status, compilation.log
    assert 1 == compilation.static["artifacts"]


ENDS = "import os; os._exit(0)"
FORGED = {
    "a binary that is none": f"open('launch_0.cubin', 'wb').write(b'x'); open('launch_0.json', 'w').write('{{}}'); {ENDS}",
    "a binary alone": f"open('launch_0.cubin', 'wb').write(b'x'); {ENDS}",
    "a folder": f"import os; open('launch_0.cubin', 'wb').write(b'x'); os.mkdir('launch_0.json'); {ENDS}",
    "brackets": f"open('launch_0.json', 'w').write('[' * 100_000); open('launch_0.cubin', 'wb'); {ENDS}",
    "no warps": "import atexit; atexit.register(lambda: open('launch_0.json', 'w').write('{\"shared\": 0, \"num_warps\": 0}'))",
    "half a binary": "import atexit, os; atexit.register(os.truncate, 'launch_0.cubin', 500)",
    "nothing": ENDS,
}


@TRITON
@pytest.mark.parametrize("name", FORGED)
def test_what_a_module_has_forged_is_no_kernel(name):
    seed = RowSum().seed_kernel("triton")
    kernel = Kernel(f"{seed.source}\n{FORGED[name]}\n", "triton", seed.entry_point)
    compilation = compile_ahead(kernel, RowSum(), Triton(), "sm_90a")

    assert (Status.BUILD_FAILED, {}, 0) == (compilation.status, compilation.static, compilation.artifact_bytes)
    assert compilation.log


@TRITON
def test_folders_within_folders_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dig = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nos._exit(0)\ndef kernel_fn(): pass"
    compilation = compile_ahead(Kernel(dig, "triton", "kernel_fn"), RowSum(), Triton(), "sm_90a")

    assert Status.BUILD_FAILED == compilation.status
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("language", "arch"), [(Cuda(), "sm_90a"), pytest.param(Hip(), "gfx942", marks=CLANG)], ids=["cuda", "hip"]
)
def test_a_source_without_a_kernel_builds_none(language, arch):
    compilation = compile_ahead(Kernel("// kernel", language.name), RowSum(), language, arch)

    assert (Status.BUILD_FAILED, {}) == (compilation.status, compilation.static)
    assert "no kernel was built" in compilation.log


@pytest.mark.parametrize("more", ["\0", "// \ud800", "/" * (1 << 18)])
def test_what_the_evaluator_rejects_is_rejected(more):
    kernel = Kernel(RowSum().seed_kernel("cuda").source + more, "cuda")

    assert Status.REJECTED == compile_ahead(kernel, RowSum(), Cuda(), "sm_90a").status


@pytest.mark.parametrize("arch", ["sm_x", "sm_90a;rm", "sm_90/../a", "sm_"])
def test_what_is_no_name_of_an_architecture_is_refused(arch):
    with pytest.raises(TaskError, match="no name of an architecture"):
        compile_ahead(RowSum().seed_kernel("cuda"), RowSum(), Cuda(), arch)


@TRITON
@pytest.mark.parametrize(("number", "told"), [(11, "SIGSEGV"), (40, "signal 40")])
def test_a_module_that_is_killed_is_told_by_what(number, told):
    kernel = Kernel(f"import os\nos.kill(os.getpid(), {number})\ndef kernel_fn(x): pass\n", "triton", "kernel_fn")

    compilation = compile_ahead(kernel, RowSum(), Triton(), "sm_90a")

    assert Status.BUILD_FAILED == compilation.status
    assert told in compilation.log


@TRITON
def test_a_module_that_never_ends_is_stopped():
    kernel = Kernel("def kernel_fn(x):\n    while True:\n        pass\n", "triton", "kernel_fn")

    compilation = compile_ahead(kernel, RowSum(), Triton(), "sm_90a", timeout_s=8)

    assert (Status.BUILD_TIMEOUT, "the compiler was stopped after 8 s") == (compilation.status, compilation.log)


def test_an_architecture_of_another_vendor_is_refused():
    task = Softmax()
    with pytest.raises(TaskError, match="cuda compiles for"):
        compile_ahead(task.seed_kernel("cuda"), task, Cuda(), "gfx942")


def test_a_source_without_entry_point_is_rejected():
    kernel = Kernel("__global__ void other() {}", "cuda")

    assert Status.REJECTED == compile_ahead(kernel, Softmax(), Cuda(), "sm_90a").status


def test_a_missing_toolchain_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="pip install"):
        compile_ahead(Softmax().seed_kernel("triton"), Softmax(), Triton(), "sm_90a")


@pytest.mark.parametrize("language", [Triton(), Cuda(), Hip(), Cute(), FlyDSL()], ids=lambda language: language.name)
def test_every_gpu_language_compiles_ahead(language):
    assert isinstance(language, AheadLanguage)


def test_cpp_is_for_this_machine():
    assert not isinstance(Cpp(), AheadLanguage)
