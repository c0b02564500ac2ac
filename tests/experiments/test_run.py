"""The main command from end to end, on this machine's compiler and processor."""

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SMALL = ["task=row_sum", "evaluator=quick", "generations=2", "mu=2", "lambda_=4", "seed=3"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run that came to its end."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    done = subprocess.run(
        [sys.executable, "-m", "experiments.run", *SMALL, f"hydra.run.dir={folder}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    return folder, done


def test_a_run_directory_holds_what_the_contract_says(finished):
    folder, _ = finished
    names = {"config.yaml", "journal.jsonl", "environment.json", "generations.jsonl", "kernels", "report.html"}

    assert {*names, "best_so_far.png"} <= {path.name for path in folder.iterdir()}
    assert (folder / "kernels" / "best.cpp").exists()


def test_plain_lines_and_a_table_are_printed_where_there_is_no_terminal(finished):
    folder, done = finished

    assert "\x1b" not in done.stdout
    assert "generation 2/2 | best " in done.stdout
    assert "re-verified speedup" in done.stdout
    assert f"report: {folder / 'report.html'}" in done.stdout


def test_nothing_is_printed_on_standard_error(finished):
    assert "" == finished[1].stderr


def test_the_result_says_how_the_run_ended(finished):
    result = json.loads((finished[0] / "result.json").read_text())

    assert ("kernelwright.result/1", "generations", 2) == (result["schema"], result["ended"], result["generations"])


def test_replay_is_byte_identical(finished, command):
    done = command("replay", str(finished[0]))

    assert (0, "") == (done.returncode, done.stderr)
    assert "byte-identical, 3 lines" in done.stdout


def test_replay_needs_no_compiler(finished, command):
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(ROOT), "HOME": str(finished[0].parent)}
    done = subprocess.run(
        [sys.executable, "-m", "experiments.replay", str(finished[0])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )

    assert 0 == done.returncode, done.stderr


def test_replay_leaves_the_run_directory_alone(finished, command):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in finished[0].rglob("*") if path.is_file()}
    command("replay", str(finished[0]))

    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before}
    assert set(before) == {path for path in finished[0].rglob("*") if path.is_file()}


def test_the_same_command_again_changes_no_record(finished, command):
    folder, _ = finished
    before = [(folder / name).read_bytes() for name in ("journal.jsonl", "generations.jsonl")]
    done = command("run", *SMALL, f"hydra.run.dir={folder}")

    assert 0 == done.returncode, done.stderr
    assert before == [(folder / name).read_bytes() for name in ("journal.jsonl", "generations.jsonl")]


@pytest.mark.parametrize("executor", ["executor=serial", "executor.workers=1", "executor.workers=8"])
def test_the_executor_may_change_and_changes_nothing(finished, command, executor):
    folder, _ = finished
    before = (folder / "generations.jsonl").read_bytes()
    done = command("run", *SMALL, executor, f"hydra.run.dir={folder}")

    assert 0 == done.returncode, done.stderr
    assert before == (folder / "generations.jsonl").read_bytes()


def test_another_configuration_on_the_same_directory_is_refused(finished, command):
    done = command("run", *SMALL, "mu=3", f"hydra.run.dir={finished[0]}")

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "begun with another configuration (mu: 2 then, 3 now" in done.stderr


def test_a_finished_run_goes_on_for_more_generations(finished, command, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "longer")
    done = command("run", *SMALL, "generations=3", f"hydra.run.dir={folder}")
    before, after = ((each / "generations.jsonl").read_bytes() for each in (finished[0], folder))

    assert 0 == done.returncode, done.stderr
    assert 3 == json.loads((folder / "result.json").read_text())["generations"]
    assert after.startswith(before)
    assert 0 == command("replay", str(folder)).returncode


def test_novelty_is_what_the_configuration_says(command, tmp_path):
    small = ["task=row_sum", "evaluator=quick", "generations=1", "mu=2", "lambda_=4", "verify=false"]
    done = command("run", *small, "operators=identity", "novelty=source", f"hydra.run.dir={tmp_path / 'run'}")
    last = json.loads((tmp_path / "run" / "generations.jsonl").read_text().splitlines()[-1])

    assert 0 == done.returncode, done.stderr
    assert ["refused"] * 4 == [slot["outcome"] for slot in last["slots"]]
    assert 1 == last["evaluations"]


def test_help_is_written_for_people(command):
    done = command("run", "--help")

    assert (0, "") == (done.returncode, done.stderr)
    for word in ("task: ", "operators: ", "Examples:", "hydra.run.dir", "Exit status"):
        assert word in done.stdout


def test_cfg_shows_the_configuration_and_runs_nothing(command, tmp_path):
    done = command("run", "--cfg", "job", "task=matmul", cwd=tmp_path)

    assert 0 == done.returncode, done.stderr
    assert "_target_: fitness.tasks.Matmul" in done.stdout
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["evaluate", "replay", "report"])
def test_every_command_has_help(command, name):
    done = command(name, "--help")

    assert (0, "") == (done.returncode, done.stderr)
    assert f"python -m experiments.{name}" in done.stdout


def start(folder, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "experiments.run", *SMALL, *more, f"hydra.run.dir={folder}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_line(process, beginning):
    """Reads standard output until a line begins so."""
    for line in process.stdout:
        if line.startswith(beginning):
            return
    raise AssertionError(process.stderr.read())


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_cleanly_and_the_printed_command_goes_on(tmp_path, command, sent, status):
    folder = tmp_path / "run"
    process = start(folder, "generations=8")  # more than it can finish before the signal, on however busy a machine
    wait_for_line(process, "generation 1")
    os.killpg(process.pid, sent)
    _, err = process.communicate(timeout=300)

    assert status == process.returncode
    assert "Traceback" not in err
    printed = shlex.split(err.strip().splitlines()[-1])
    assert ["python", "-m", "experiments.run"] == printed[:3]
    done = command("run", *printed[3:])
    assert 0 == done.returncode, done.stderr
    assert 0 == command("replay", str(folder)).returncode


@pytest.mark.parametrize("delay_s", [0.0, 0.4, 1.1])
def test_a_killed_run_goes_on_where_it_was(tmp_path, command, delay_s):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for_line(process, "generation 0")
    time.sleep(delay_s)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    answers = (folder / "journal.jsonl").read_bytes()
    done = command("run", *SMALL, f"hydra.run.dir={folder}")

    assert 0 == done.returncode, done.stderr
    assert (folder / "journal.jsonl").read_bytes().startswith(answers[: answers.rfind(b"\n") + 1])
    assert 0 == command("replay", str(folder)).returncode


def test_an_unfinished_run_has_a_report(tmp_path, command):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for_line(process, "generation 1")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = command("report", str(folder))

    assert 0 == done.returncode, done.stderr
    assert "unfinished" in (folder / "report.html").read_text()


def test_a_terminal_sees_a_live_display(tmp_path):
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.run", *SMALL, "generations=1", f"hydra.run.dir={tmp_path / 'run'}"],
        cwd=ROOT,
        stdout=child,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # the terminal is gone when the program has ended
        pass
    os.close(parent)

    assert 0 == process.wait(timeout=300)
    for word in ("best speedup", "funnel", "searching", "re-verifying"):
        assert word in seen.decode()
