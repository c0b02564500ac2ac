"""A kernel file of one's own: one JSON object on standard output, whatever the verdict."""

import json
import os

import pytest

from experiments.evaluate import read_source
from experiments.faults import ConfigError

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
    with pytest.raises(ConfigError, match="has 1048576 MiB; the source of a kernel has 16 at most"):
        read_source(path)
