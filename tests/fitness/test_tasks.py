"""The shipped tasks: conformance, references against other ones, tolerances tight and loose enough."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

from conformance_tasks import TaskSuite, stream
from fitness import Evaluator, Kernel, TaskError, tasks
from fitness.languages import Cpp
from fitness.native import PICKED
from fitness.pool import Pool
from fitness.shirkers import Sample
from fitness.targets import Cpu
from operators.tunables import Tunables

SHIPPED = [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"]
ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "fitness" / "tasks" / "seeds"

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


class TestShippedTasks(TaskSuite):
    @pytest.fixture(params=SHIPPED, ids=lambda each: each.name)
    def task(self, request):
        return request.param()


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compiles a source of ours and returns its function; trusted, so it runs in this process."""
    folder = tmp_path_factory.mktemp("kernels")

    def compiled(source):
        path = folder / f"{Kernel(source, 'cpp').digest}.so"
        if not path.exists():
            command = [
                "g++",
                "-std=c++20",
                "-O3",
                "-march=native",
                "-shared",
                "-fPIC",
                "-x",
                "c++",
                "-",
                "-o",
                str(path),
            ]
            subprocess.run(command, input=source.encode(), check=True, capture_output=True)
        return ctypes.CDLL(str(path)).kernel

    return compiled


def call(function, sample):
    outputs = {
        name: np.full(spec.extent(sample.workload.axes), 77, spec.dtype) for name, spec in sample.task.outputs.items()
    }
    buffers = [*sample.inputs.values(), *outputs.values()]
    pointers = [buffer.ctypes.data_as(ctypes.c_void_p) for buffer in buffers]
    function(*pointers, *(ctypes.c_long(sample.workload.axes[axis]) for axis in sample.task.axes))
    return outputs


def samples(task, seed=0):
    workloads = [*task.check_workloads, *task.time_workloads, *task.hidden_workloads(stream(seed))]
    return [Sample.drawn(task, workload, stream(seed), timed=False) for workload in workloads]


def refused(task, function):
    return [sample.workload.name for sample in samples(task) if not sample.accepts(call(function, sample))]


@needs_compiler
@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.cpp")), ids=lambda path: path.stem)
def test_every_cpp_seed_is_correct_on_every_workload(path, build):
    task = {each.name: each for each in SHIPPED}[path.stem.removesuffix("_tunable")]()
    assert [] == refused(task, build(path.read_text()))


@needs_compiler
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("path", sorted(SEEDS.glob("*_tunable.cpp")), ids=lambda path: path.stem)
def test_a_tunable_cpp_seed_is_correct_at_the_ends_of_its_values(path, place, build):
    tunables = Tunables.read(path.read_text())
    setting = {name: choices[place] for name, choices in tunables.choices.items()}
    task = {each.name: each for each in SHIPPED}[path.stem.removesuffix("_tunable")]()

    assert tunables.allows(setting)
    assert [] == refused(task, build(tunables.with_values(setting)))


@needs_compiler
@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/fitness/adversarial").glob("ok_*.cpp")), ids=lambda path: path.stem
)
def test_the_honest_kernels_of_the_adversarial_suite_are_correct(path, build):
    source = path.read_text()
    name = source.split("task=")[1].split()[0]
    assert [] == refused({each.name: each for each in SHIPPED}[name](), build(source))


@needs_compiler
@pytest.mark.parametrize("task", SHIPPED, ids=lambda each: each.name)
def test_the_evaluator_accepts_every_seed_kernel(task):
    """Its changed elements and mixed draws must keep what a task demands of its inputs, such as ascending borders."""
    settings = {"min_pairs": 4, "max_pairs": 4, "time_limit_s": 0.02}
    calibration = Evaluator(task(), Cpu(), Cpp(), **settings).calibrate()
    assert {workload.name for workload in task().time_workloads} == set(calibration.reference_latency_us)


LOW_PRECISION = r"""
#include <bit>
#include <cstdint>
// Keeps `bits` of the 23 bits behind the point: 10 is fp16 or TF32, 7 is bfloat16.
static float coarse(float value) {
    uint32_t dropped = 23 - BITS, word = std::bit_cast<uint32_t>(value);
    word += (1u << (dropped - 1)) - 1 + ((word >> dropped) & 1);
    return std::bit_cast<float>(word >> dropped << dropped);
}
extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float total = 0.0f;
            for (long k = 0; k < K; k++) total += coarse(a[i * K + k]) * coarse(b[k * N + j]);
            c[i * N + j] = total;
        }
}
"""


@needs_compiler
@pytest.mark.parametrize("bits", [7, 10, 14])
def test_matmul_with_coarse_inputs_fails_at_the_timed_sizes_too(bits, build):
    function = build(LOW_PRECISION.replace("BITS", str(bits)))
    timed = {workload.name for workload in tasks.Matmul().time_workloads}
    assert timed == timed & set(refused(tasks.Matmul(), function))


@needs_compiler
@pytest.mark.parametrize("terms", ["long double", "double"])
def test_matmul_in_higher_precision_passes(terms, build):
    source = tasks.Matmul().seed_kernel("cpp").source
    wide = source.replace("c[i * N + j] = 0.0f;", f"{terms} t = 0;").replace("c[i * N + j] +=", f"t += ({terms})")
    assert [] == refused(
        tasks.Matmul(),
        build(
            wide.replace(
                "* b[k * N + j];\n            }", "* b[k * N + j];\n            }\n            c[i * N + j] = t;"
            )
        ),
    )


ORDERS = {
    "serial": "for (long j = 0; j < N; j++) t += r[j];",
    "backwards": "for (long j = N - 1; j >= 0; j--) t += r[j];",
    "strided": "for (long s = 0; s < 7; s++) for (long j = s; j < N; j += 7) t += r[j];",
    "sixteen lanes": "float l[16] = {}; for (long j = 0; j < N; j++) l[j % 16] += r[j]; for (float v : l) t += v;",
    "flushing": "SET(0x9FC0); for (long j = 0; j < N; j++) t += r[j]; SET(0x1F80);",
}


@needs_compiler
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
def test_every_order_of_summation_passes(order, build):
    source = """extern "C" void kernel(const float* x, float* y, long M, long N) {
        for (long i = 0; i < M; i++) { const float* r = x + i * N; float t = 0.0f; ORDER y[i] = t; } }"""
    assert [] == refused(tasks.RowSum(), build(source.replace("ORDER", order).replace("SET", "__builtin_ia32_ldmxcsr")))


@pytest.mark.parametrize("value", [0.1, 1.0 / 3.0, 0.7])
@pytest.mark.parametrize("length", [100, 300, 1024])
def test_serial_sums_of_equal_numbers_pass(value, length):
    """Rounding errors of equal numbers do not cancel: the hardest honest case for a bound that grows with a root."""
    x = np.full((1, length), value, np.float32)
    expected = tasks.RowSum().reference({"x": x})
    total = np.cumsum(x, axis=1, dtype=np.float32)[:, -1]
    assert abs(total - expected["y"]) <= tasks.RowSum().tolerance({"x": x}, expected)["y"]


def test_softmax_reference_sums_to_one():
    y = tasks.Softmax().reference({"x": stream().standard_normal((5, 9)).astype(np.float32)})["y"]
    assert np.ones(5) == pytest.approx(y.sum(axis=1), abs=1e-15)


def test_conv1d_reference_agrees_with_numpy():
    x, w = (stream().standard_normal(shape).astype(np.float32) for shape in ((1, 1, 12), (1, 1, 5)))
    y = tasks.Conv1d().reference({"x": x, "w": w})["y"]
    assert np.correlate(x[0, 0], w[0, 0], "same") == pytest.approx(y[0, 0], rel=1e-6)


def test_stencil_reference_agrees_with_scipy():
    from scipy.ndimage import correlate

    x, w = (stream().standard_normal(shape).astype(np.float32) for shape in ((7, 11), (3, 3)))
    y = tasks.Stencil2d().reference({"x": x, "w": w})["y"]
    assert correlate(x.astype(float), w.astype(float), mode="constant") == pytest.approx(y, rel=1e-12)


def test_bucketize_counts_borders_strictly_below():
    x, borders = np.float32([0.0, 1.0, 1.5, 2.0, 9.0]), np.float32([1.0, 1.0, 2.0])
    assert [0, 0, 2, 2, 3] == tasks.Bucketize().reference({"x": x, "borders": borders})["y"].tolist()


def test_bucketize_draws_values_equal_to_borders_and_repeated_borders():
    task = tasks.Bucketize()
    inputs = task.make_inputs(task.time_workloads[0], stream())
    assert np.isin(inputs["x"], inputs["borders"]).mean() > 0.1
    assert (np.diff(inputs["borders"]) == 0).any()
    assert (np.diff(inputs["borders"]) >= 0).all()


def test_gelu_tail_keeps_its_digits():
    inputs = {"x": np.float32([[-10.0]]), "bias": np.float32([0.0])}
    assert -7.61985302e-23 == pytest.approx(tasks.GeluBias().reference(inputs)["y"][0, 0], rel=1e-7)


@pytest.mark.parametrize("task", SHIPPED, ids=lambda each: each.name)
def test_the_configuration_states_the_default_sizes(task):
    stated = yaml.safe_load((ROOT / "conf" / "task" / f"{task.name}.yaml").read_text())
    assert f"fitness.tasks.{task.__name__}" == stated["_target_"]
    assert [dict(sizes) for sizes in task().time_sizes] == stated["time_sizes"]


def test_every_configuration_file_has_a_task():
    files = {path.stem for path in (ROOT / "conf" / "task").glob("*.yaml")}
    assert {each.name for each in SHIPPED} <= files


@pytest.mark.parametrize(
    "sizes", [[], [{"M": 4}], [{"M": 0, "N": 4}], [{"M": 4, "N": 4, "K": 4}], [{"M": 4.5, "N": 4}]]
)
def test_bad_sizes_are_refused_with_the_axes_that_are_needed(sizes):
    with pytest.raises(TaskError, match=r"softmax: time_sizes (needs M, N >= 1|must name)"):
        tasks.Softmax(time_sizes=sizes)


def test_an_unknown_distribution_names_the_known_ones():
    task = tasks.Softmax()
    workload = type(task.time_workloads[0])("odd", {"M": 2, "N": 2}, "cauchy")
    with pytest.raises(TaskError, match=r"unknown distribution 'cauchy'; known are normal, .*huge, tiny"):
        task.make_inputs(workload, stream())


HALF = r"""
extern "C" void kernel(const _Float16* x, const _Float16* w, _Float16* y, long B, long C, long F, long L, long K) {
    for (long b = 0; b < B; b++) for (long f = 0; f < F; f++) for (long l = 0; l < L; l++) {
        TOTAL total = 0;
        for (long c = 0; c < C; c++) for (long k = 0; k < K; k++) {
            long at = l + k - (K - 1) / 2;
            if (at >= 0 && at < L) total = total + TOTAL(w[(f * C + c) * K + k]) * TOTAL(x[(b * C + c) * L + at]);
        }
        y[(b * F + f) * L + l] = _Float16(total);
    }
}
"""


@needs_compiler
@pytest.mark.parametrize(("total", "is_right"), [("double", True), ("float", True), ("_Float16", False)])
def test_half_precision_is_summed_in_float32(total, is_right, build):
    task, function = tasks.Conv1dFloat16(), build(HALF.replace("TOTAL", total))
    timed = {workload.name for workload in task.time_workloads}
    wrong = set(refused(task, function))
    assert (set() if is_right else timed) == (wrong if is_right else timed & wrong)


def test_halves_are_mixed_anew_for_every_call():
    """An input that comes back could be remembered; pairs of halves are chosen from two draws, as other types are."""
    task = tasks.Conv1dFloat16()
    pool = Pool.draw(task, task.time_workloads[0], stream())
    assert [PICKED, PICKED] == [buffer.blend for buffer in list(pool.plan().buffer)[:2]]
