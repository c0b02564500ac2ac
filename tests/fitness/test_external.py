"""A private toolchain behind two commands, played by one that compiles for this CPU."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

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


def test_no_timed_call_is_made_on_data_that_its_process_has_met(evaluator):
    """Who remembers the last answer was 250 times as fast."""
    remembers = KERNELS["honest"][0].replace(
        "{",
        "{ static float last[64 * 256]; if (M * N == 64 * 256) { if (!memcmp(last, x, sizeof last)) abort(); "
        "memcpy(last, x, sizeof last); }",
        1,
    )
    evaluation = judged(evaluator, "#include <cstdlib>\n#include <cstring>\n" + remembers)

    assert Status.OK == evaluation.status, evaluation.log


def test_who_computes_only_the_first_timed_calls_is_wrong(evaluator):
    """One call of five is judged in each pair."""
    lazy = KERNELS["honest"][0].replace("{", "{ static int calls; if (M * N == 64 * 256 && ++calls > 1) return; ", 1)
    made, calibration = evaluator
    longer = Evaluator(made.task, made.target, ExternalLanguage(), min_pairs=10, max_pairs=10)

    assert Status.WRONG_VALUE == longer.evaluate(Kernel(lazy, "mtia_cpp"), calibration).status


def test_times_come_from_the_toolchain_and_say_that_it_confines(evaluator):
    evaluation = judged(evaluator, KERNELS["honest"][0])

    assert evaluation.latency_us > 0
    assert "weak_isolation" in evaluation.flags


def test_peaks_that_nobody_knows_are_none(evaluator):
    _, calibration = evaluator

    assert (None, None) == (calibration.bytes_per_s, calibration.flops_per_s)


def test_without_commands_the_target_is_unavailable():
    with pytest.raises(TargetUnavailable, match=r"target\.build"):
        External(name="mtia")


def test_the_example_of_a_command_can_be_typed_in_a_shell():
    with pytest.raises(TargetUnavailable) as told:
        External(name="mtia")
    typed = shlex.split(str(told.value).partition("e.g. ")[2])
    values = {each.key_or_group: each.value() for each in OverridesParser.create().parse_overrides(typed)}

    assert ["my-compiler", "{source}", "-o", "{artifact}"] == values["target.build"]
    assert ["my-runner", "{artifact}", "{manifest}"] == values["target.run"]


def test_a_command_that_does_not_start_is_a_fault_of_the_machine(evaluator):
    task = evaluator[0].task
    made = Evaluator(task, External(build=("no-such-compiler",), run=("no-such-runner",)), ExternalLanguage())
    with pytest.raises(TargetUnavailable, match=r"'no-such-compiler' does not start \(No such file.*full paths"):
        made.calibrate()


HONEST = KERNELS["honest"][0]
LIAR = """\
import json, os, subprocess, sys
done = subprocess.run([sys.executable, "{toolchain}", *sys.argv[1:]], capture_output=True, text=True)
sys.stdout.write(done.stdout)
lie = open("kernel.cpp").read().partition("// LIE ")[2]
if sys.argv[1] == "run" and lie:
    sys.stdout.flush()
    times = json.loads(done.stdout)["times_us"]
    outputs = [name for name in os.listdir(".") if name.endswith("_y.bin")]
    exec(lie)
sys.exit(done.returncode)
"""


@pytest.fixture(scope="module")
def lying(tmp_path_factory, evaluator):
    """Judges an honest kernel that the toolchain lies about in some way."""
    script = tmp_path_factory.mktemp("lies") / "toolchain.py"
    script.write_text(LIAR.format(toolchain=TOOLCHAIN))
    target = External(
        name="mtia",
        build=(sys.executable, str(script), "build", "{source}", "{artifact}"),
        run=(sys.executable, str(script), "run", "{artifact}", "{manifest}"),
    )
    limits = {"min_pairs": 2, "max_pairs": 3, "time_limit_s": 0.1, "run_timeout_s": 10}
    made = Evaluator(evaluator[0].task, target, ExternalLanguage(), **limits)
    calibration = made.calibrate()
    return lambda lie: made.evaluate(Kernel(f"{HONEST}  // LIE {lie}", "mtia_cpp"), calibration)


SAY = "print(json.dumps({'status': 'ok', 'times_us': [[%s] * len(each) for each in times]}))"
LIES = {
    "NaN": (SAY % "float('nan')", Status.NO_RESULT),
    "infinite": (SAY % "float('inf')", Status.NO_RESULT),
    "negative": (SAY % "-1.0", Status.SUSPECT),
    "beyond a float": (SAY % "10**400", Status.NO_RESULT),
    "text": (SAY % "'fast'", Status.NO_RESULT),
    "nothing": (SAY % "None", Status.NO_RESULT),
    "one number a call": ("print(json.dumps({'status': 'ok', 'times_us': [1.0] * len(times)}))", Status.NO_RESULT),
    "brackets within brackets": ("print('[' * 100_000)", Status.NO_RESULT),
    "no text": ("sys.stdout.buffer.write(bytes(range(256)) * 99)", Status.NO_RESULT),
    "an output is gone": ("[os.remove(name) for name in outputs]", Status.NO_RESULT),
    "an output is a folder": ("[(os.remove(name), os.mkdir(name)) for name in outputs]", Status.NO_RESULT),
    "an output is a pipe": ("[(os.remove(name), os.mkfifo(name)) for name in outputs]", Status.NO_RESULT),
    "an output is a link": ("[(os.remove(name), os.symlink(name, name)) for name in outputs]", Status.NO_RESULT),
    "ok, and then a failure": ("sys.exit(3)", Status.NO_RESULT),
    "ok, and then a signal": ("os.kill(os.getpid(), 11)", Status.CRASHED),
    "prints without end": ("while True: sys.stdout.write('x' * 1_000_000)", Status.NO_RESULT),
}


@pytest.mark.parametrize("name", LIES)
def test_what_a_toolchain_says_may_be_anything(lying, name):
    lie, expected = LIES[name]
    found = lying(lie)

    assert (expected, None) == (found.status, found.speedup)
    assert found.log


def test_a_failure_after_ok_is_told(lying):
    assert "exit status 3" in lying(LIES["ok, and then a failure"][0]).log


def test_what_a_run_says_that_the_protocol_does_not_know_is_told(lying):
    assert "its status is 'splendid', not ok, crashed" in lying("print(json.dumps({'status': 'splendid'}))").log
    assert "its last line is no JSON object" in lying("print('done')").log


def test_a_build_that_writes_no_artifact_is_told(evaluator):
    made = Evaluator(evaluator[0].task, External(build=("true",), run=("true",)), ExternalLanguage())
    with pytest.raises(TaskError, match=r"build ended well, but wrote no file \{artifact\}"):
        made.calibrate()


def test_a_verdict_with_an_exit_status_is_the_verdict(lying):
    found = lying("print(json.dumps({'status': 'out_of_memory', 'log': 'too large'})); sys.exit(1)")

    assert (Status.OUT_OF_MEMORY, "too large") == (found.status, found.log)


def test_whoever_stays_behind_holds_nobody_up_and_is_ended(lying, tmp_path):
    stay = f"open({str(tmp_path / 'pids')!r}, 'a').write(str(subprocess.Popen(['sleep', '600']).pid) + ' ')"
    found = lying(stay)
    pids = (tmp_path / "pids").read_text().split()

    assert Status.OK == found.status
    assert pids
    assert not any(_is_running(pid) for pid in pids)


def test_what_stays_behind_in_a_session_of_its_own_holds_nobody_up(lying, tmp_path):
    stay = f"subprocess.Popen(['timeout', '60', 'tail', '--pid', '{os.getpid()}', '-f', '/dev/null'], start_new_session=True)"

    assert Status.OK == lying(stay).status


def test_a_file_that_a_run_made_a_link_of_is_not_written_through(lying, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = f"(os.remove('manifest.json'), os.symlink({str(precious)!r}, 'manifest.json'))"

    assert Status.OK == lying(link).status
    assert "mine" == precious.read_text()


def test_a_command_is_ended_with_this_program(tmp_path):
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "from fitness import Evaluator\nfrom fitness.languages import ExternalLanguage\n"
        "from fitness.targets import External\nfrom fitness.tasks import RowSum\n"
        f"build = ('sh', '-c', 'echo $$ > {pid}; exec sleep 600')\n"
        f"task = RowSum(time_sizes=({{'M': 8, 'N': 8}},), seeds={str(tmp_path)!r})\n"
        "Evaluator(task, External(build=build, run=('true',)), ExternalLanguage(), build_timeout_s=500).calibrate()\n"
    )
    (tmp_path / "row_sum_mtia.cpp").write_text(HONEST)
    program = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while program.poll() is None and not (pid.exists() and pid.read_text().strip()):
        time.sleep(0.05)
    program.send_signal(2)
    program.wait()

    assert not _is_running(pid.read_text().strip())


def _is_running(pid):
    """Whether a process is there and no zombie that nobody has asked for."""
    try:
        return "Z" != Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (("cc", "{sorce}"), "'{sorce}': write {source}, {artifact}, {arch}"),
        (("sh", "-c", "f() { true; }"), "other braces twice"),
        (("cc", "{source.path}"), "write {source}"),
        (("cc", "}"), "other braces twice"),
        ("cc {source}", "a list of words"),
        ((1,), "a list of words"),
    ],
)
def test_a_command_that_cannot_be_filled_in_is_told_before_anything_is_built(build, told):
    with pytest.raises(TargetUnavailable, match=re.escape(told)):
        External(build=build, run=("run",))


def test_there_is_no_invented_mtia_seed():
    with pytest.raises(TaskError, match=r"task\.seeds"):
        RowSum().seed_kernel("mtia_cpp")
