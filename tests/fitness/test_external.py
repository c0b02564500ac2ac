"""A private toolchain behind two commands, played by one that compiles for this CPU."""

import sys
from pathlib import Path

import pytest

import fitness.tasks
from fitness import Evaluator, Kernel, Status, TargetUnavailable, TaskError
from fitness.languages import ExternalLanguage
from fitness.targets import External
from fitness.tasks import RowSum

TOOLCHAIN = str(Path(__file__).parent.parent / "stand_in_toolchain.py")
SEEDS = Path(fitness.tasks.__file__).parent / "seeds"


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    (folder / "row_sum_mtia.cpp").write_text((SEEDS / "row_sum.cpp").read_text())
    task = RowSum(time_sizes=({"M": 64, "N": 256},), seeds=str(folder))
    target = External(
        name="mtia",
        build=(sys.executable, TOOLCHAIN, "build", "{source}", "{artifact}"),
        run=(sys.executable, TOOLCHAIN, "run", "{artifact}", "{manifest}"),
    )
    made = Evaluator(task, target, ExternalLanguage(), min_pairs=2, max_pairs=3, time_limit_s=0.1, run_timeout_s=10)
    return made, made.calibrate()


def judged(evaluator, source):
    made, calibration = evaluator
    return made.evaluate(Kernel(source, "mtia_cpp"), calibration)


HEAD = 'extern "C" void kernel(const float* x, float* y, long M, long N) {\n'
KERNELS = {
    "honest": (
        HEAD
        + "for (long i = 0; i < M; i++) { float s = 0; for (long j = 0; j < N; j++) s += x[i * N + j]; y[i] = s; }}",
        Status.OK,
    ),
    "zeros": (HEAD + "for (long i = 0; i < M; i++) y[i] = 0; }", Status.WRONG_VALUE),
    "writes nothing": (HEAD + "}", Status.WRONG_VALUE),
    "does not compile": (HEAD + "no }", Status.BUILD_FAILED),
    "crashes": (HEAD + "*(volatile int*)0 = 1; }", Status.CRASHED),
    "exits": ("#include <cstdlib>\n" + HEAD + "exit(0); }", Status.NO_RESULT),
}


@pytest.mark.parametrize("name", KERNELS)
def test_verdicts(evaluator, name):
    source, expected = KERNELS[name]
    evaluation = judged(evaluator, source)

    assert expected == evaluation.status, evaluation.log


def test_times_come_from_the_toolchain_and_say_that_it_confines(evaluator):
    evaluation = judged(evaluator, KERNELS["honest"][0])

    assert evaluation.latency_us > 0
    assert "weak_isolation" in evaluation.flags


def test_without_commands_the_target_is_unavailable():
    with pytest.raises(TargetUnavailable, match=r"target\.build"):
        External(name="mtia")


def test_a_command_that_does_not_start_is_a_fault_of_the_machine(evaluator):
    task = evaluator[0].task
    made = Evaluator(task, External(build=("no-such-compiler",), run=("no-such-runner",)), ExternalLanguage())
    with pytest.raises(TargetUnavailable, match="no-such-compiler does not start"):
        made.calibrate()


def test_there_is_no_invented_mtia_seed():
    with pytest.raises(TaskError, match=r"task\.seeds"):
        RowSum().seed_kernel("mtia_cpp")
