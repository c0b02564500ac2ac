"""A command in odd surroundings: other encodings, closed streams, a folder that is gone, too little memory."""

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.records import write_whole
from stored_run import make_run

ROOT = Path(__file__).parent.parent.parent
MANY = "{}Too many open files; allow more (ulimit -n), or use fewer workers"
SMALL = ["task=row_sum", "evaluator=quick", "mu=2", "lambda_=4", "seed=3", "generations=1"]


def run(folder, before="", after="", **more):
    """Starts a small run in a shell that does something to it."""
    line = f'{before} "$0" -m experiments.run "$@" {after}'
    argv = ["sh", "-c", line, sys.executable, *SMALL, f"hydra.run.dir={folder / 'run'}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=folder)


def test_an_encoding_without_our_signs_loses_only_these(tmp_path):
    done = run(tmp_path, PYTHONIOENCODING="ascii")

    assert (0, "") == (done.returncode, done.stderr)
    assert "report: run/report.html" in done.stdout


@pytest.mark.parametrize(("unbuffered", "place"), [("", "standard output: "), ("1", "")])
def test_an_output_that_takes_nothing_is_told_in_a_line(tmp_path, unbuffered, place):
    argv = ["sh", "-c", '"$0" -m experiments.report "$1" > /dev/full', sys.executable, str(make_run(tmp_path / "run"))]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=ROOT)

    assert f"error: {place}No space left on device; make room, then run the same command again\n" == done.stderr
    assert 1 == done.returncode


LIMITED = """
import resource, sys
from pathlib import Path
from experiments import faults
from experiments.records import write_json
from experiments.tracking.csv_tracker import CsvTracker

def command():
    resource.setrlimit(*{limit})
    {statement}
    return 0

sys.exit(faults.main(command))
"""


@pytest.mark.parametrize(
    ("limit", "statement", "told"),
    [
        ("(resource.RLIMIT_FSIZE, (9, 9))", "write_json(Path('out.json'), [1] * 99)", "out.json: File too large"),
        ("(resource.RLIMIT_FSIZE, (9, 9))", "CsvTracker().begin(Path(), {})", "metrics.csv: File too large"),
        ("(resource.RLIMIT_NOFILE, (5, 5))", "list(open('/dev/null') for _ in range(9))", MANY.format("/dev/null: ")),
        ("(resource.RLIMIT_NOFILE, (5, 5))", "[__import__('os').dup(0) for _ in range(9)]", MANY.format("")),
    ],
)
def test_what_the_system_refuses_is_told_with_its_place_where_there_is_one(tmp_path, limit, statement, told):
    program = LIMITED.format(limit=limit, statement=statement)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=tmp_path)

    assert (1, f"error: {told}\n") == (done.returncode, done.stderr)


def test_a_name_that_is_no_utf8_is_printed_as_it_is(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    (folder / "journal.jsonl").write_text(
        json.dumps({"schema": "kernelwright.journal/1", "configuration": {"seed": 0}}) + "\n"
    )
    argv = [sys.executable, "-m", "experiments.report", str(folder)]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(argv, capture_output=True, check=False, timeout=300, env=environment, cwd=ROOT)

    assert (0, b"") == (done.returncode, done.stderr)
    assert os.fsencode(folder / "report.html") in done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_taken_by_no_file_of_a_run(tmp_path, closed):
    done = run(tmp_path, after=closed)

    assert 0 == done.returncode
    assert all(json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines())
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("made", ["a pipe", "a link", "a link to a pipe"])
def test_no_file_is_put_in_the_place_of_a_pipe_or_a_link(tmp_path, made):
    path, target = tmp_path / "out", tmp_path / "target"
    (os.mkfifo if "pipe" in made else Path.touch)(path if made == "a pipe" else target)
    if "link" in made:
        path.symlink_to(target)
    kind = stat.S_IFMT(path.lstat().st_mode)
    held = os.open(path, os.O_RDWR)  # a pipe with a reader
    write_whole(path, b"all of it")

    assert b"all of it" == os.read(held, 99)
    assert kind == stat.S_IFMT(path.lstat().st_mode)
    os.close(held)


def test_a_current_folder_that_is_gone_is_told(tmp_path):
    (tmp_path / "gone").mkdir()
    done = run(tmp_path, before="cd gone && rmdir ../gone &&")

    assert (1, "error: the current folder is there no more; change into another one\n") == (
        done.returncode,
        done.stderr,
    )


TOO_MUCH = {
    "beyond this machine": ("100000000", "has not enough memory: Unable to allocate"),
    "beyond any machine": ("1000000000000000000", "time_sizes has a tensor beyond any memory"),
}


@pytest.mark.parametrize(("size", "told"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_large_a_size_is_told_in_a_line(tmp_path, command, size, told):
    kernel = ROOT / "fitness" / "tasks" / "seeds" / "row_sum.cpp"
    arguments = ["task=row_sum", "evaluator=quick", f"kernel={kernel}", f"task.time_sizes=[{{M: {size}, N: 400}}]"]
    limit = 8 << 30  # a machine may promise more memory than it has
    done = command("evaluate", *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    assert "" == done.stdout
    assert done.returncode in (1, 2)
    assert told in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_size_is_a_whole_number(command):
    done = command("evaluate", "task=row_sum", "kernel=any.cpp", "task.time_sizes=[{M: true, N: 4}]")

    assert 2 == done.returncode
    assert "time_sizes needs M, N >= 1, not {'M': True, 'N': 4}" in done.stderr
