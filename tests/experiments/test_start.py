"""Where a run starts from, beside the task's own kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from evolve import Journal
from experiments.build import build_problem
from experiments.composition import composed
from experiments.faults import ConfigError
from experiments.start import founders
from fitness import Kernel

SOURCE = 'extern "C" void kernel(const float* x, float* y, long M, long N) {}\n'


def found(tmp_path: Path, start: Any, task: str = "row_sum", strict: bool = False) -> list[tuple[str, str]]:
    config = composed([f"task={task}"])
    config.start = start
    with Journal(tmp_path / "journal.jsonl", strict=strict) as journal:
        return [(seed.origin, seed.kernel.source) for seed in founders(config, build_problem(config), journal)]


@pytest.mark.parametrize("start", [None, []])
def test_the_tasks_own_kernel_comes_first_and_alone(tmp_path: Path, start: Any) -> None:
    assert ["task"] == [origin for origin, _ in found(tmp_path, start)]


def test_files_and_folders_follow_in_order(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("one.cpp", "folder/b.cpp", "folder/a.cpp", "folder/not.txt"):
        (tmp_path / name).write_text(f"// {name}\n{SOURCE}")
    origins = [origin for origin, _ in found(tmp_path, [str(tmp_path / "one.cpp"), str(tmp_path / "folder")])]

    assert ["task", "one.cpp", "a.cpp", "b.cpp"] == origins


def test_the_tunable_kernel_of_a_task_declares_tunables(tmp_path: Path) -> None:
    _, (origin, source) = found(tmp_path, "tunable", task="matmul")

    assert "tunable" == origin
    assert "// tunable TILE_I" in source


def test_a_replay_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.cpp"
    path.write_text(SOURCE)
    before = found(tmp_path, [str(path)])
    path.unlink()

    assert before == found(tmp_path, [str(path)], strict=True)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (["absent.cpp"], "start: absent.cpp does not exist"),
        ([3], "start: must be a list of files"),
        ("tunable", "ships no tunable kernel in cpp"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, start: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        found(tmp_path, start, task="prefix_sum")


@pytest.mark.parametrize(
    ("content", "told"), [(b"\xff\xfe", r"b\.cpp is not UTF-8 text \(byte 0\)"), (b" \n", r"b\.cpp is empty")]
)
def test_the_file_of_a_folder_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.cpp").write_text(SOURCE)
    (tmp_path / "b.cpp").write_bytes(content)
    with pytest.raises(ConfigError, match=f"start: .*{told}"):
        found(tmp_path, [str(tmp_path)])


def stored(folder: Path, name: str, source: str, latency_us: float, task: str = "row_sum") -> None:
    """Writes as much of a run as another can start from."""
    run = folder / name
    (run / "kernels").mkdir(parents=True)
    config = composed([f"task={task}"])
    groups = {group: OmegaConf.to_container(config[group], resolve=True) for group in ("task", "language", "target")}
    Journal(run / "journal.jsonl", configuration=groups).close()
    kernel = Kernel(source, "cpp")
    slot = {"kernel": kernel.digest, "latency_us": latency_us}
    (run / "generations.jsonl").write_text(json.dumps({"slots": [slot]}) + "\n")
    fields = {"kernel": kernel.digest, "language": "cpp", "entry_point": "kernel", "source": source}
    (run / "kernels" / "sources.jsonl").write_text(json.dumps(fields) + "\n")


def test_the_nearest_runs_come_first(tmp_path: Path) -> None:
    stored(tmp_path / "runs", "another_task", f"// softmax\n{SOURCE}", 1.0, task="softmax")
    stored(tmp_path / "runs", "same_task", f"// row_sum\n{SOURCE}", 2.0)
    _, (_, first), (_, second) = found(tmp_path, [f"nearest:{tmp_path / 'runs'}"])

    assert (f"// row_sum\n{SOURCE}", f"// softmax\n{SOURCE}") == (first, second)


def test_a_nearer_run_without_a_kernel_is_passed_over(tmp_path: Path) -> None:
    stored(tmp_path / "runs", "another_task", f"// softmax\n{SOURCE}", 1.0, task="softmax")
    stored(tmp_path / "runs", "refused", SOURCE, 2.0)
    (tmp_path / "runs" / "refused" / "generations.jsonl").unlink()
    _, (_, source) = found(tmp_path, [f"nearest:{tmp_path / 'runs'}"])

    assert f"// softmax\n{SOURCE}" == source
    (tmp_path / "runs" / "another_task" / "generations.jsonl").write_text("")
    with pytest.raises(ConfigError, match="no run in this language has a correct kernel"):
        found(tmp_path / "again", [f"nearest:{tmp_path / 'runs'}"])
