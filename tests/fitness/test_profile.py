"""The paragraph on a kernel's place, and what it is made of."""

import importlib.util
import platform
import shutil
import tempfile
from pathlib import Path

import pytest

from fitness import Calibration, Evaluation, Evaluator, Kernel, Measurement, Status
from fitness.build import Builder
from fitness.compiler import find_compiler
from fitness.host_code import host_metrics
from fitness.languages import Cpp, Cuda
from fitness.languages.cuda import object_metrics
from fitness.languages.triton import compiled_metrics
from fitness.profile import paragraph
from fitness.sandbox import find_sandbox
from fitness.static import x86_metrics
from fitness.targets import Cpu
from fitness.tasks import Matmul, RowSum

TASK = RowSum([{"M": 1000, "N": 1000}])  # moves 4,004,000 bytes
OBJDUMP = pytest.mark.skipif(
    shutil.which("objdump") is None or platform.machine() != "x86_64", reason="needs objdump on x86-64"
)
ELFTOOLS = importlib.util.find_spec("elftools") is not None


def measured(task, latency_us):
    name = task.time_workloads[0].name
    return (Measurement(name, (latency_us,), (latency_us,), latency_us, latency_us, 1.0, (1.0, 1.0)),)


def calibration(bytes_per_s=None, flops_per_s=None):
    return Calibration({}, 0.01, bytes_per_s, flops_per_s)


def test_a_kernel_at_the_limit_of_memory():
    text = paragraph(TASK, measured(TASK, 500.0), calibration(1e10, 1e12), {})

    assert "8.008 GB/s" in text
    assert "reaches 80% of the roofline, and memory bandwidth is the limiting resource." in text


def test_a_kernel_at_the_limit_of_arithmetic():
    task = Matmul([{"M": 100, "N": 100, "K": 100}])  # 2e6 operations
    text = paragraph(task, measured(task, 250.0), calibration(1e12, 1e10), {})

    assert "Arithmetic alone would allow 200 µs" in text
    assert "arithmetic is the limiting resource" in text


def test_a_kernel_far_from_either_limit():
    text = paragraph(TASK, measured(TASK, 40_000.0), calibration(1e10, 1e12), {})

    assert "1% of the roofline" in text
    assert "limiting resource" not in text


def test_without_peaks_there_are_rates_and_no_share():
    text = paragraph(TASK, measured(TASK, 500.0), calibration(), {})

    assert "GB/s" in text
    assert "%" not in text


def test_what_a_binary_tells():
    static = {"registers": 40.0, "stack_bytes": 16.0, "shared_bytes": 2048.0, "occupancy": 0.5}
    mix = {"instructions_total": 100.0, "instructions_float": 60.0, "instructions_branch": 7.0}
    text = paragraph(TASK, (), calibration(), {**static, **mix})

    assert "40 registers a thread, spills, 2 KiB of shared memory a block, an occupancy of 50%" in text
    assert "Of its 100 instructions these are most: 60 floating-point, 7 branch." in text


def test_it_is_one_paragraph_of_plain_text():
    text = paragraph(TASK, measured(TASK, 500.0), calibration(1e10, 1e12), {"registers": 40.0})

    assert text
    assert "\n" not in text


@OBJDUMP
def test_an_evaluation_on_the_cpu_has_one_and_keeps_it():
    evaluator = Evaluator(TASK, Cpu(), Cpp(), max_pairs=10, time_limit_s=0.05)
    evaluation = evaluator.evaluate(TASK.seed_kernel("cpp"), evaluator.calibrate())

    assert Status.OK == evaluation.status, evaluation.log
    assert "of the roofline" in evaluation.profile
    assert evaluation.static["instructions_total"] > 5
    assert evaluation == Evaluation.from_json(evaluation.to_json())


def test_records_without_one_stay_as_they_are():
    assert "profile" not in Evaluation("digest", Status.CRASHED).to_json()


SUM = """\
extern "C" void kernel(const float* x, float* y, long M, long N) {{
    for (long i = 0; i < M; ++i) {{
        float total[8] = {{}};
        for (long j = 0; j < N; ++j) total[{index}] += x[i * N + j];
        y[i] = total[0] + total[1] + total[2] + total[3] + total[4] + total[5] + total[6] + total[7];
    }}
}}
"""


@OBJDUMP
def test_vector_code_is_told_from_scalar_code():
    wide = "#include <immintrin.h>\n" + SUM.format(index="j & 7").replace(
        "for (long j = 0; j < N; ++j) total[j & 7] += x[i * N + j];",
        "__m128 a = _mm_setzero_ps(); for (long j = 0; j + 3 < N; j += 4) a = _mm_add_ps(a, _mm_loadu_ps(x + i * N + j)); _mm_storeu_ps(total, a);",
    )
    sandbox = find_sandbox(find_compiler())
    found = {}
    for name, source in {"scalar": SUM.format(index="0"), "packed": wide}.items():
        built = Builder(Cpp(), Cpu(), sandbox, 60.0).build(Kernel(source, "cpp"))
        found[name] = host_metrics(built.path, sandbox)

    assert found["packed"]["instructions_packed_float"] > found["scalar"]["instructions_packed_float"]
    assert found["scalar"]["instructions_scalar_float"] > 0


def test_start_up_code_does_not_count():
    text = "\n<frame_dummy>:\n\tjmp    <register_tm_clones>\n\n<kernel>:\n\tvfmadd231ps (%rdi),%ymm0,%ymm1\n\tret\n"

    assert 2 == x86_metrics(text)["instructions_total"]
    assert 1 == x86_metrics(text)["instructions_fused"]
    assert 256 == x86_metrics(text)["vector_bits"]


@pytest.mark.skipif(not ELFTOOLS or not Cuda()._uses_nvrtc(), reason="needs NVRTC and pyelftools")
def test_the_binary_inside_a_cuda_object_tells_its_registers():
    class Hopper:
        name, arch = "nvidia", "sm_90a"

    seed = RowSum().seed_kernel("cuda")
    built = Builder(Cuda(), Hopper(), find_sandbox(find_compiler()), 60.0).build(seed)

    assert object_metrics(built.path, "sm_90a")["registers"] > 0


def test_an_object_full_of_damaged_binaries_tells_nothing(tmp_path):
    (tmp_path / "kernel.so").write_bytes(b"." + (b"\x7fELF\x02\x01" + bytes(12) + b"\xbe\x00" + bytes(50)) * 30_000)

    assert not object_metrics(tmp_path / "kernel.so", "sm_90a").get("registers")


@pytest.mark.skipif(not ELFTOOLS or importlib.util.find_spec("triton") is None, reason="needs Triton and pyelftools")
def test_tritons_own_cache_tells_the_registers(tmp_path, monkeypatch):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    path = tmp_path / "kernels.py"
    path.write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef double(x, N, B: tl.constexpr):\n"
                    "    at = tl.program_id(0) * B + tl.arange(0, B)\n"
                    "    tl.store(x + at, 2 * tl.load(x + at, mask=at < N), mask=at < N)\n")  # fmt: skip
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(module.double, {"x": "*fp32", "N": "i32", "B": "constexpr"}, {"B": 256})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    metrics = compiled_metrics(tmp_path, "sm_90a")()

    assert metrics["registers"] > 0
    assert 0 < metrics["occupancy"] <= 1


def test_a_cache_that_was_tampered_with_tells_nothing(tmp_path):
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "kernel.cubin").write_bytes(b"\x7fELF\x02\x01 and no more")
    (tmp_path / "key" / "kernel.json").write_text('{"shared": "many"}')
    (tmp_path / "key" / "other.cubin").symlink_to(Path("/dev/zero"))
    for name, facts in {"deep": "[" * 100_000, "huge": '{"shared": 1e999, "num_warps": 0}'}.items():
        (tmp_path / "key" / f"{name}.cubin").write_bytes(b"\x7fELF\x02\x01" + bytes(range(1, 250)))
        (tmp_path / "key" / f"{name}.json").write_text(facts)
    (tmp_path / "key" / "endless.cubin").write_bytes(b"")
    (tmp_path / "key" / "endless.json").symlink_to(Path("/dev/zero"))

    assert {} == compiled_metrics(tmp_path, "sm_90a")()


@pytest.mark.parametrize(
    "facts", ['{"shared": "many", "num_warps": [4]}', f'{{"shared": 0, "num_warps": 1{"0" * 400}}}']
)
def test_what_is_no_number_is_no_metric(tmp_path, monkeypatch, facts):
    monkeypatch.setattr("fitness.languages.triton.code_object_metrics", lambda _: {"vgprs": 8})
    monkeypatch.setattr("fitness.languages.triton.amd_assembly_metrics", lambda _: {})
    (tmp_path / "key").mkdir()
    for name, text in {"honest": '{"shared": 0, "num_warps": 4}', "forged": facts}.items():
        for suffix in ("hsaco", "amdgcn"):
            (tmp_path / "key" / f"{name}.{suffix}").write_bytes(b"code")
        (tmp_path / "key" / f"{name}.json").write_text(text)

    assert {"vgprs": 8, "shared_bytes": 0, "warps": 4} == compiled_metrics(tmp_path, "gfx942")()


def test_a_cache_full_of_holes_fills_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("fitness.languages.triton._MOST_BYTES", 10_000)
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    (tmp_path / "cache" / "key").mkdir(parents=True)
    for number in range(10):
        for suffix in ("cubin", "json"):
            with open(tmp_path / "cache" / "key" / f"{number}.{suffix}", "wb") as file:
                file.truncate(4_000)
    read = compiled_metrics(tmp_path / "cache", "sm_90a")

    assert 8_000 == sum(path.stat().st_size for path in (tmp_path / "copies").rglob("*.*"))
    assert {} == read()
