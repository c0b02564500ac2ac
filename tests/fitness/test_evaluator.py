import dataclasses
import importlib.util
import os
import pickle

import pytest

from fitness import Calibration, Evaluator, Kernel, Status, TaskError, ToolchainError
from fitness.languages import Cpp, Cuda, Cute, ExternalLanguage, FlyDSL, Hip, Numba, OpenCL, Torch, Triton
from fitness.targets import Amd, Cpu, External, Interpret, Nvidia
from fitness.tasks import RowSum
from small_task import HEAD, PLAIN, SEED, Twice

QUICK = {"run_timeout_s": 2.0, "build_timeout_s": 60.0, "min_pairs": 4, "max_pairs": 8, "time_limit_s": 0.1}
CALIBRATION = Calibration({"time-20000": 50.0}, 0.02)


def evaluator(**settings):
    return Evaluator(Twice(), Cpu(), Cpp(), **{**QUICK, **settings})


@pytest.fixture(scope="module")
def shared():
    return evaluator()


def status(shared, source):
    return shared.evaluate(Kernel(source, "cpp"), CALIBRATION).status


VERDICTS = {
    "plain": (PLAIN, Status.OK),
    "empty_source": ("", Status.REJECTED),
    "nul": (PLAIN + "\0", Status.REJECTED),
    "mangled": (PLAIN.replace('extern "C"', ""), Status.REJECTED),
    "syntax": (PLAIN + "}", Status.BUILD_FAILED),
    "missing_library": ('extern "C" void cblas_scopy(); ' + HEAD + "{ cblas_scopy(); }", Status.BUILD_FAILED),
    "wrong": (HEAD + "{ for (long i = 0; i < N; i++) y[i] = x[i]; }", Status.WRONG_VALUE),
    "unwritten": (HEAD + "{ for (long i = 1; i < N; i++) y[i] = 2 * x[i]; }", Status.WRONG_VALUE),
    "nan": (HEAD + '{ for (long i = 0; i < N; i++) y[i] = __builtin_nanf(""); }', Status.WRONG_VALUE),
    "changes_input": (HEAD + "{ for (long i = 0; i < N; i++) y[i] = 2 * x[i], ((float*)x)[i] = 0; }", Status.TAMPERED),
    "restores_input": (
        HEAD + "{ for (long i = 0; i < N; i++) { volatile float* p = (float*)x + i; *p *= 2; y[i] = *p; *p /= 2; } }",
        Status.TAMPERED,
    ),
    "one_too_many": (HEAD + "{ for (long i = 0; i <= N; i++) y[i] = 2 * x[i]; }", Status.TAMPERED),
    "exits": ("#include <cstdlib>\n" + HEAD + "{ exit(0); }", Status.NO_RESULT),
    "segfault": (HEAD + "{ *(volatile int*)8 = 1; }", Status.CRASHED),
    "throws": (HEAD + "{ throw 1; }", Status.CRASHED),
    "endless": (HEAD + "{ for (volatile int i = 0;; i = 0) {} }", Status.RUN_TIMEOUT),
    "too_much_memory": ("#include <new>\n" + HEAD + "{ y[0] = *new float[1ul << 38]; }", Status.OUT_OF_MEMORY),
    "malloc_unchecked": (
        "#include <cstdlib>\n" + HEAD + "{ volatile char* p = (char*)malloc(1ul << 40); *p = 1; }",
        Status.OUT_OF_MEMORY,
    ),
    "uninitialised": (
        "#include <cstdlib>\n" + HEAD + "{ float* z = (float*)malloc(64); float s = z[3] == 0 ? 0 : 1; free(z);"
        " for (long i = 0; i < N; i++) y[i] = 2 * x[i] + s; }",
        Status.UNREPEATABLE,
    ),
    "remembers_the_address": (
        "#include <cstring>\n#include <map>\n#include <vector>\nstatic std::map<const float*, std::vector<float>> seen;\n"
        + HEAD
        + "{ auto& v = seen[x]; if ((long)v.size() != N) { v.resize(N); for (long i = 0; i < N; i++) v[i] = 2 * x[i]; }"
        " memcpy(y, v.data(), N * 4); }",
        Status.WRONG_VALUE,
    ),
    "cheap_after_a_while": (
        "static long calls;\n" + HEAD + "{ if (++calls < 60) for (long i = 0; i < N; i++) y[i] = 2 * x[i]; }",
        Status.WRONG_VALUE,
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(shared, name):
    source, expected = VERDICTS[name]
    evaluation = shared.evaluate(Kernel(source, "cpp"), CALIBRATION)
    assert evaluation.status == expected, evaluation.log


def test_a_correct_kernel_has_a_time_on_the_calibrated_scale(shared):
    evaluation = shared.evaluate(Kernel(PLAIN, "cpp"), CALIBRATION)
    assert evaluation.latency_us == pytest.approx(50.0 / evaluation.speedup)


def test_a_time_that_cannot_be_true_is_suspect(shared):
    slow_machine = dataclasses.replace(CALIBRATION, bytes_per_s=1e6)
    assert shared.evaluate(Kernel(PLAIN, "cpp"), slow_machine).status == Status.SUSPECT


def test_verify_judges_from_nothing(shared):
    assert shared.verify(Kernel(PLAIN, "cpp"), CALIBRATION).ok


def test_a_kernel_does_not_beat_itself(shared):
    duel = shared.duel(
        Kernel(SEED, "cpp"), Kernel(SEED + "\n", "cpp"), dataclasses.replace(CALIBRATION, noise_floor=0.5)
    )
    assert not duel.won


def test_a_kernel_that_is_far_slower_loses(shared):
    slow = Kernel(SEED.replace("y[i]", "for (volatile int k = 0; k < 30; k = k + 1) {} y[i]"), "cpp")
    assert shared.duel(Kernel(PLAIN, "cpp"), slow, CALIBRATION).won


def test_who_computes_nonsense_in_a_duel_loses_it(shared):
    wrong = Kernel(VERDICTS["wrong"][0], "cpp")
    assert shared.duel(Kernel(PLAIN, "cpp"), wrong, CALIBRATION).failed == wrong.digest


def test_calibration_has_scale_noise_and_peaks(shared):
    found = shared.calibrate()
    numbers = (*found.reference_latency_us.values(), found.noise_floor, found.bytes_per_s, found.flops_per_s)
    assert all(number > 0 for number in numbers)


def test_a_wrong_seed_is_a_fault_of_the_task():
    task = Twice(seed=VERDICTS["wrong"][0])
    with pytest.raises(TaskError, match="the seed kernel of task 'twice' is wrong_value"):
        Evaluator(task, Cpu(), Cpp(), **QUICK).calibrate()


def test_a_forbidden_observation_rejects():
    with_assembly = PLAIN.replace("{ for", '{ asm volatile(""); for')
    strict = evaluator(forbid=["inline_assembly"])
    assert strict.evaluate(Kernel(with_assembly, "cpp"), CALIBRATION).status == Status.REJECTED


def test_the_same_observation_is_only_recorded_where_it_is_allowed(shared):
    with_assembly = PLAIN.replace("{ for", '{ asm volatile(""); for')
    assert shared.evaluate(Kernel(with_assembly, "cpp"), CALIBRATION).flags == ("inline_assembly",)


def test_less_precision_is_noticed():
    task = Twice()
    task = dataclasses.replace(task)
    object.__setattr__(task, "tolerance", lambda inputs, expected: {"y": 0.02 * abs(expected["y"])})
    rough = HEAD + "{ for (long i = 0; i < N; i++) y[i] = 2.01f * x[i]; }"
    found = Evaluator(task, Cpu(), Cpp(), **QUICK).evaluate(Kernel(rough, "cpp"), CALIBRATION)
    assert "reduced_precision" in found.flags


@pytest.mark.parametrize(
    ("name", "value"),
    [("run_timeout_s", 0), ("min_pairs", 1), ("max_pairs", 3), ("forbid", ["speed"]), ("sandbox", "none")],
)
def test_a_setting_out_of_range_is_named(name, value):
    with pytest.raises(ValueError, match=name):
        evaluator(**{name: value})


def test_an_unknown_setting_is_an_error():
    with pytest.raises(TypeError, match="speed"):
        evaluator(speed=1)


def test_settings_change_the_key():
    assert evaluator(min_pairs=5).key != evaluator().key


def test_the_key_does_not_depend_on_the_moment():
    assert evaluator().key == evaluator().key


def test_it_travels_without_its_secrets(shared):
    assert pickle.loads(pickle.dumps(shared)).key == shared.key


def test_a_missing_compiler_is_no_verdict():
    with pytest.raises(ToolchainError):
        Evaluator(Twice(), Cpu(), Cpp(compiler="no-such-compiler"), **QUICK).calibrate()


def test_nothing_stays_open(shared):
    status(shared, PLAIN)
    before = len(os.listdir("/proc/self/fd"))
    for name in ("segfault", "exits", "changes_input", "syntax", "plain"):
        status(shared, VERDICTS[name][0])
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
def test_a_sanitizer_sees_a_read_past_the_end(shared):
    past = HEAD + "{ volatile float next = x[N]; for (long i = 0; i < N; i++) y[i] = 2 * x[i]; }"
    assert "heap-buffer-overflow" in shared.sanitize(Kernel(past, "cpp"))["address"]


@pytest.mark.slow
def test_a_sanitizer_finds_nothing_in_a_clean_kernel(shared):
    assert shared.sanitize(Kernel(PLAIN, "cpp"))["address"] == "clean"


def test_closing_what_was_not_used_starts_nothing():
    Evaluator(Twice(), Cpu(), Cpp(compiler="/nowhere/g++")).close()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_language_of_ones_own_that_needs_python_is_told_where_there_is_none():
    with pytest.raises(TaskError, match=r"language=torch needs Python .* choose target=interpret or a GPU"):
        Evaluator(RowSum(), Cpu(), Torch(targets=())).calibrate()


TARGETS = {"cpu": Cpu(), "nvidia": Nvidia(), "amd": Amd(), "interpret": Interpret()}
TARGETS |= {name: External(name=name, build=("b",), run=("r",)) for name in ("external", "mtia")}
LANGUAGES = [Cpp(), Numba(), OpenCL(), Triton(), Cuda(), Hip(), Cute(), FlyDSL(), Torch(), ExternalLanguage()]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
def test_a_language_that_does_not_run_on_a_target_names_those_it_has(language):
    task = RowSum(seeds="/nowhere")
    refused = [name for name in TARGETS if name not in language.targets]
    for name in refused:
        with pytest.raises(ValueError, match=f"^language={language.name} does not run on target={name}; ") as told:
            Evaluator(task, TARGETS[name], language)
        assert [f"target={each}" for each in language.targets] == str(told.value).partition("choose ")[2].split(" or ")
    for name in language.targets:
        assert Evaluator(task, TARGETS[name], language)


def test_a_target_of_ones_own_takes_any_language():
    assert Evaluator(RowSum(), External(name="mine", build=("b",), run=("r",)), Cpp())


class Flooding(Cpp):
    """A compiler that fills the disk for a source that asks for it."""

    def build(self, kernel, target, workdir):
        build = super().build(kernel, target, workdir)
        fill = "for i in $(seq 64); do head -c 1048576 /dev/urandom > $i; done; sleep 60"
        return dataclasses.replace(build, argv=("/bin/sh", "-c", fill), needs=()) if "flood" in kernel.source else build


def test_a_build_that_fills_the_disk_is_one_failure(monkeypatch):
    monkeypatch.setattr("fitness.build._DISK_BYTES", 1 << 25)
    made = Evaluator(Twice(), Cpu(), Flooding(), **QUICK)
    flooded = made.evaluate(Kernel(PLAIN + "// flood", "cpp"), CALIBRATION)

    assert (Status.BUILD_FAILED, "stopped: its files took more than 32 MiB, or cannot be counted") == (
        flooded.status,
        flooded.log,
    )
    assert Status.OK == made.evaluate(Kernel(PLAIN, "cpp"), CALIBRATION).status
