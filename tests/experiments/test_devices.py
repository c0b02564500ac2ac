"""One GPU for each run, with numbers that stand for GPUs and processes that are real."""

import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from experiments.devices import names_of, own_gpu
from experiments.faults import ConfigError
from fitness import TargetUnavailable
from fitness.targets import Amd, Nvidia

ROOT = Path(__file__).parent.parent.parent
HOLDER = textwrap.dedent(
    """
    import json, os, pathlib, sys, time
    from experiments.devices import own_gpu
    folder, hold_s = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    with own_gpu([4, 7]) as name:
        begin_s = time.monotonic()
        (folder / f"has_{os.getpid()}").touch()
        time.sleep(hold_s)
        seen = [os.environ[variable] for variable in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")]
        record = {"gpu": name, "seen": seen, "begin_s": begin_s, "end_s": time.monotonic()}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(record))
    """
)
"""Holds a GPU for a while, and tells which one and when."""


@pytest.fixture(autouse=True)
def _locks_of_our_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


def hold(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder), str(seconds)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=said,
        )


def test_no_two_processes_have_the_same_gpu_at_once(tmp_path):
    holders = [hold(tmp_path, 0.3) for _ in range(5)]
    assert [0] * 5 == [each.wait(60) for each in holders]
    records = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    spans = sorted((each["gpu"], each["begin_s"], each["end_s"]) for each in records)

    assert {"4", "7"} == {each["gpu"] for each in records}
    assert all([each["gpu"]] * 2 == each["seen"] for each in records)
    assert all(one[2] <= other[1] for one, other in itertools.pairwise(spans) if one[0] == other[0])


def test_a_gpu_whose_holder_was_killed_is_free_again(tmp_path):
    holders = [hold(tmp_path, 60) for _ in range(2)]
    while len(list(tmp_path.glob("has_*"))) < 2:
        time.sleep(0.05)
    holders[0].send_signal(signal.SIGKILL)
    holders[0].wait(10)
    with own_gpu([4, 7]) as name:
        assert name in ("4", "7")
    holders[1].kill()
    holders[1].wait(10)


def test_who_waits_says_so(tmp_path):
    with own_gpu([4]), own_gpu([7]):
        other = hold(tmp_path, 0.0)
        while not (tmp_path / "said").read_text():
            assert other.poll() is None
            time.sleep(0.05)
    other.wait(60)

    assert "waiting: other runs have GPU 4, 7\n" == (tmp_path / "said").read_text()


def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with own_gpu([5]):
        assert "5" == os.environ["CUDA_VISIBLE_DEVICES"]

    assert ("3", None) == (os.environ["CUDA_VISIBLE_DEVICES"], os.environ.get("HIP_VISIBLE_DEVICES"))


def test_without_gpus_nothing_is_taken():
    with own_gpu(None) as name:
        assert (None, False) == (name, "CUDA_VISIBLE_DEVICES" in os.environ)


@pytest.mark.parametrize("gpus", [[], [0, 0], [-1], [True], ["a"]])
def test_what_are_no_different_numbers_is_refused(gpus):
    with pytest.raises(ConfigError, match="different whole numbers"):
        names_of(gpus)


def test_all_is_what_the_environment_leaves(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 5")

    assert ("2", "5") == names_of("all")


@pytest.mark.parametrize(("target", "variable"), [(Nvidia, "CUDA_VISIBLE_DEVICES"), (Amd, "HIP_VISIBLE_DEVICES")])
def test_a_worker_sees_the_gpu_that_its_run_was_given(target, variable, monkeypatch):
    monkeypatch.setenv(variable, "7")

    assert "7" == target().environment(0)[variable]


def test_a_number_beyond_what_is_left_is_told(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")

    with pytest.raises(TargetUnavailable, match=r"CUDA_VISIBLE_DEVICES=7 leaves fewer GPUs.*no GPU 1"):
        Nvidia(devices=(0, 1)).environment(1)
