"""No reader of a run follows a line that is to fill the memory; each says so in one line."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve import Journal, JournalCorrupt, LineTooLong, from_run, read_journal, whole_lines
from experiments import faults
from experiments.analysis.skeletons import skeletons_by_kernel
from experiments.analysis.tables import read_run
from experiments.records import load_run
from experiments.replay import compare, stored_config
from experiments.transcript import exchanges
from stored_run import make_run

GIGABYTE = 1_000_000_000
JOURNAL, GENERATIONS, SOURCES = "journal.jsonl", "generations.jsonl", "kernels/sources.jsonl"


def lengthened(run_dir: Path, name: str) -> None:
    """Gives a file one more line, of a gigabyte that takes no room on the disk."""
    with (run_dir / name).open("r+b") as file:
        file.truncate(file.seek(0, 2) + GIGABYTE)


READERS: list[tuple[str, str, Callable[[Path], object]]] = [
    ("report", JOURNAL, load_run),
    ("report", GENERATIONS, load_run),
    ("report", SOURCES, load_run),
    ("report", "result.json", load_run),
    ("report", "environment.json", load_run),
    ("replay", JOURNAL, lambda run_dir: Journal(run_dir / JOURNAL, strict=True)),
    ("replay", GENERATIONS, lambda run_dir: compare(run_dir / GENERATIONS, run_dir / "again.jsonl")),
    ("replay", "config.yaml", stored_config),
    ("resume", JOURNAL, lambda run_dir: Journal(run_dir / JOURNAL)),
    ("transcript", JOURNAL, lambda run_dir: list(exchanges(run_dir))),
    ("transcript", GENERATIONS, lambda run_dir: list(exchanges(run_dir))),
    ("start", GENERATIONS, from_run),
    ("start", SOURCES, from_run),
    ("skeletons", SOURCES, skeletons_by_kernel),
]


@pytest.mark.parametrize(("reader", "name", "read"), READERS, ids=[f"{who}-{what}" for who, what, _ in READERS])
def test_a_line_of_a_gigabyte_is_refused_in_one_line(
    reader: str, name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    run_dir = make_run(tmp_path / "run", generations=1)
    shutil.copyfile(run_dir / GENERATIONS, run_dir / "again.jsonl")
    (run_dir / "result.json").touch()
    (run_dir / "environment.json").touch()
    lengthened(run_dir, name)
    with pytest.raises(faults.KNOWN) as caught:
        read(run_dir)

    said, _ = faults.explain(caught.value)
    assert name in said
    assert "er than 32,000,000 bytes" in said
    assert "\n" not in said


def test_a_comparison_calls_such_a_run_unreadable(tmp_path: Path) -> None:
    for name in (JOURNAL, GENERATIONS):
        run_dir = make_run(tmp_path / name, generations=1)
        lengthened(run_dir, name)
        row, _ = read_run(tmp_path, name, "")

        assert "unreadable" == row.state
        assert "longer than 32,000,000 bytes" in row.error


def test_a_line_that_was_packed_small_is_refused_too(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", generations=1)
    packed = run_dir / "journal.jsonl.gz"
    with gzip.open(packed, "wb", compresslevel=1) as file:
        file.write((run_dir / JOURNAL).read_bytes())
        file.write(bytes(40_000_000))
    for read in (lambda: list(read_journal(packed)), lambda: Journal(packed, strict=True)):
        with pytest.raises(JournalCorrupt, match=r"longer than 32,000,000 bytes, .*; restore the file"):
            read()


def test_the_longest_line_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.lines.LONGEST_LINE_BYTES", 100)
    path = tmp_path / "lines"
    path.write_bytes(b"x" * 99 + b"\n" + b"y" * 100 + b"\n")
    with path.open("rb") as file:
        lines = whole_lines(file, path)
        assert 100 == len(next(lines))
        with pytest.raises(LineTooLong, match="line 2 is longer than 100 bytes"):
            next(lines)
