"""All stored results once more, from their journals alone: ``python -m experiments.reproduce``.

A stored run is a folder below ``experiments/results`` with ``config.yaml``, ``generations.jsonl`` and the
compressed journal. Each is replayed strictly and compared byte by byte, and its report is written anew.
No compiler, model or GPU is needed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import faults
from .faults import RunError
from .names import check_import_names
from .replay import replay
from .report import write_report

RESULTS = Path(__file__).parent / "results"


def stored_runs(root: Path) -> list[Path]:
    """Returns the folders below ``root`` that hold a run, in order of their names.

    Raises:
        RunError: There is none.
    """
    found = sorted(path.parent for path in root.rglob("generations.jsonl"))
    if not found:
        raise RunError(f"{root} holds no stored runs")
    return found


def reproduce(run_dir: Path, target: Path) -> int:
    """Replays a stored run and writes its report, and the sources that it was stored without, into ``target``.

    Returns:
        How many lines of ``generations.jsonl`` came out the same.

    Raises:
        RunError: It came out differently.
        JournalError: Its journal does not fit this code.
    """
    lines = replay(run_dir, target / "kernels")
    shutil.copytree(run_dir, target, dirs_exist_ok=True)
    write_report(target)
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Reproduces everything; one run that differs does not keep the others from theirs."""
    check_import_names()
    parser = argparse.ArgumentParser(prog="python -m experiments.reproduce", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder with the stored runs")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduced"), help="where the reports go")
    arguments = parser.parse_args(argv)
    table = Table("run", "lines", "came out", title="stored results, from their journals")
    status = 0
    for run_dir in stored_runs(arguments.results):
        name = run_dir.relative_to(arguments.results)
        try:
            lines = reproduce(run_dir, arguments.out / name)
        except faults.KNOWN as fault:
            table.add_row(str(name), "", faults.explain(fault)[0])
            status = faults.FAILED
        else:
            table.add_row(str(name), str(lines), "byte-identical")
    Console().print(table)
    print(f"reports: {arguments.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
