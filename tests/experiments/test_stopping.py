"""Ctrl-C at any moment of a program's life: no traceback, and the exit status that says so."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import experiments
from experiments import faults

ROOT = Path(__file__).parent.parent.parent
SCRIPT = "import sys\nfrom experiments.run import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
SLOW = "import time\nprint('importing', flush=True)\ntime.sleep(600)\n"
PROGRAMS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in Path(experiments.__file__).parent.rglob("*.py")
    if '__name__ == "__main__"' in path.read_text()
)


def interrupted(folder, *argv):
    """Sends SIGINT to a Python that is importing; returns its end and what it told."""
    for name in ("hydra", "omegaconf"):
        (folder / f"{name}.py").write_text(SLOW)
    program = subprocess.Popen(
        [sys.executable, *argv],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
    )
    with program:
        line = program.stdout.readline()
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=60)
    return line, program.returncode, told


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_is_importing_ends_by_the_signal(tmp_path, name):
    assert ("importing\n", -signal.SIGINT, "") == interrupted(tmp_path, "-m", name)


def test_so_does_the_console_script(tmp_path):
    script = tmp_path / "kernelwright"
    script.write_text(SCRIPT)

    assert ("importing\n", -signal.SIGINT, "") == interrupted(tmp_path, str(script))


def test_a_program_of_somebody_elses_keeps_its_own_way(tmp_path):
    _, _, told = interrupted(tmp_path, "-c", "import experiments, experiments.run")

    assert told.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    ("before", "expected"), [(signal.SIG_DFL, 130), (signal.default_int_handler, 130), (signal.SIG_IGN, 0)]
)
def test_a_command_is_interrupted_by_an_exception_unless_it_was_told_to_ignore_that(before, expected):
    def command():
        signal.raise_signal(signal.SIGINT)
        return 0

    own = signal.signal(signal.SIGINT, before)
    try:
        assert expected == faults.main(command)
        assert before is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, own)
