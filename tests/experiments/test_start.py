"""Where a run starts from, beside the task's own kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evolve import Journal
from experiments.build import build_problem
from experiments.composition import composed
from experiments.faults import ConfigError
from experiments.start import founders

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
        (["absent.cpp"], "start: absent.cpp: no kernel"),
        ([3], "start: must be a list of files"),
        ("tunable", "ships no tunable kernel in cpp"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, start: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        found(tmp_path, start)
