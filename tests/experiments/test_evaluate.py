"""A kernel file of one's own: one JSON object on standard output, whatever the verdict."""

import json
import os
import sys
from pathlib import Path

import pytest

from fitness import TaskError, read_source

KEYS = {
    "status",
    "latency_us",
    "reference_latency_us",
    "speedup",
    "max_rel_error",
    "flags",
    "measurements",
    "log",
    "seconds",
}
RIGHT = """
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; ++i) {
        double total = 0;
        for (long j = 0; j < N; ++j) total += x[i * N + j];
        y[i] = total;
    }
}
"""
VERDICTS = {
    "ok": RIGHT,
    "build_failed": RIGHT.replace("double", "dubble"),
    "wrong_value": RIGHT.replace("total = 0;", "total = 1;"),
    "wrong_value: no number": RIGHT.replace("y[i] = total", "y[i] = total / 0.0 - total / 0.0"),
    "crashed": RIGHT.replace("double total", "if (M) *(volatile int*)8 = 1; double total"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_one_object_whatever_the_verdict(command, tmp_path, case):
    (tmp_path / "mine.cpp").write_text(VERDICTS[case])
    done = command("evaluate", f"kernel={tmp_path / 'mine.cpp'}", "task=row_sum", "evaluator=quick")
    verdict = json.loads(done.stdout, parse_constant=pytest.fail)  # NaN and Infinity are Python's, not JSON's

    assert (0, 1, case.partition(":")[0]) == (done.returncode, len(done.stdout.splitlines()), verdict["status"])
    assert set() == KEYS - set(verdict)


def test_a_correct_kernel_is_timed_on_every_workload(command, tmp_path):
    (tmp_path / "mine.cpp").write_text(RIGHT)
    done = command("evaluate", f"kernel={tmp_path / 'mine.cpp'}", "task=row_sum", "evaluator=quick")
    verdict = json.loads(done.stdout)

    assert 2 == len(verdict["measurements"])
    assert verdict["reference_latency_us"] / verdict["latency_us"] == pytest.approx(verdict["speedup"])


def test_a_file_that_is_no_kernels_is_not_read(tmp_path):
    path = tmp_path / "kernel.cpp"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(TaskError, match="has 1048576 MiB; the source of a kernel has 16 at most"):
        read_source(path)


def test_a_byte_order_mark_is_no_part_of_a_source(tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_bytes(b"\xef\xbb\xbf" + RIGHT.encode())

    assert read_source(path) == RIGHT


TOOLCHAIN = Path(__file__).parent.parent / "stand_in_toolchain.py"


@pytest.mark.parametrize("target", ["external", "mtia"])
def test_a_private_toolchain_needs_its_commands_and_nothing_else(command, tmp_path, target):
    (tmp_path / "row_sum_mtia.cpp").write_text(RIGHT)
    commands = [
        f"target.build=[{sys.executable},{TOOLCHAIN},build,'{{source}}','{{artifact}}']",
        f"target.run=[{sys.executable},{TOOLCHAIN},run,'{{artifact}}','{{manifest}}']",
    ]
    task = ["task=row_sum", f"+task.seeds={tmp_path}", "language=mtia_cpp", f"target={target}", *commands]
    limits = ["evaluator.min_pairs=2", "evaluator.max_pairs=3", "evaluator.time_limit_s=0.1"]
    done = command("evaluate", f"kernel={tmp_path / 'row_sum_mtia.cpp'}", *task, *limits)
    ran = command("run", *task, *limits, "generations=1", "lambda_=2", f"hydra.run.dir={tmp_path / 'run'}")

    assert "ok" == json.loads(done.stdout)["status"], done.stderr
    assert 0 == ran.returncode, ran.stderr
