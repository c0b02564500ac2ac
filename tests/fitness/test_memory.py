"""How much memory is to be had."""

from __future__ import annotations

from pathlib import Path

from fitness.memory import _left_in_groups, available_bytes


def group(folder, most, used, cached):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\nfile {cached}\ninactive_file {cached}\n")


def test_there_is_some_and_no_more_than_the_machine_has():
    total = int(Path("/proc/meminfo").read_text().split()[1]) << 10

    assert 0 < available_bytes() <= total


def test_a_group_and_each_around_it_may_leave_less(tmp_path):
    group(tmp_path / "job", 1000, 700, 100)
    group(tmp_path / "job" / "step", "max", 600, 0)
    group(tmp_path / "other", 10, 10, 0)

    assert [400] == _left_in_groups(tmp_path, "job/step")
