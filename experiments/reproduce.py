"""All stored results once more, from their records alone: ``python -m experiments.reproduce``.

A stored run is a folder below ``experiments/results`` with ``config.yaml``, ``generations.jsonl`` and the compressed
journal; a stored sweep is a folder with ``experiment.yaml`` and an archive of such runs. Every run is replayed
strictly and compared byte by byte. The report of a run is written anew, and so is every table and figure of a sweep;
tables must come out the same, byte for byte. No compiler, model or GPU is needed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import track
from rich.table import Table

from . import faults
from .experiment import FILE_NAME, RECORDS, load_experiment
from .faults import RunError
from .names import check_import_names
from .papers.question import conclude, module_of
from .replay import replay
from .report import write_report
from .store import ARCHIVE, RESULTS, unpack
from .wording import count_text


def stored_runs(root: Path) -> list[Path]:
    """Returns the folders below ``root`` that hold a run, in order of their names."""
    return sorted(path.parent for path in root.rglob("generations.jsonl"))


def stored_sweeps(root: Path) -> list[Path]:
    """Returns the folders below ``root`` that hold the records of a sweep, in order of their names."""
    return sorted(path.parent for path in root.rglob(ARCHIVE))


def reproduce_run(run_dir: Path, target: Path) -> str:
    """Replays a stored run and writes its report, and the sources that it was stored without, into ``target``.

    Returns:
        What came of it, in words.

    Raises:
        RunError: It came out differently.
        JournalError: Its journal does not fit this code.
    """
    lines = replay(run_dir, target / "kernels")
    shutil.copytree(run_dir, target, dirs_exist_ok=True)
    write_report(target)
    return f"{count_text(lines, 'line')} byte-identical"


def reproduce_sweep(stored: Path, target: Path, most: int | None = None) -> str:
    """Replays the runs of a stored sweep, and makes its tables and figures again; returns what came of it in words.

    Args:
        stored: The result's folder.
        target: Where everything goes.
        most: Replays at most so many runs, evenly spread; None for all.

    Raises:
        RunError: A run or a table came out differently.
        JournalError: A journal does not fit this code.
    """
    shutil.rmtree(target, ignore_errors=True)
    unpack(stored, target)
    module = module_of(load_experiment(target / FILE_NAME).name)
    runs = replays_of(module, target)
    chosen = runs if most is None else runs[:: max(1, -(-len(runs) // most))]
    replay_all(chosen, stored.name)
    conclude(module, target, target, quiet=True)
    tables = sorted(stored.glob("*.csv"))
    for table in tables:
        if table.read_bytes() != (target / table.name).read_bytes():
            raise RunError(f"{target / table.name} differs from the stored table")
    return f"{len(chosen)} of {count_text(len(runs), 'run')} and {count_text(len(tables), 'table')} byte-identical"


def replays_of(module: ModuleType | None, sweep_dir: Path) -> list[Callable[[], object]]:
    """Returns what replays each run of a sweep: folders with journals, or lines that the experiment's module reads."""
    if module is not None and (sweep_dir / RECORDS).exists():
        lines: list[Callable[[], object]] = module.replays(sweep_dir)
        return lines
    return [partial(replay, run) for run in stored_runs(sweep_dir)]


def replay_all(replays: Sequence[Callable[[], object]], name: str) -> None:
    """Replays runs in as many processes as there are processors, and shows how far it is.

    Raises:
        RunError: One came out differently.
        JournalError: A journal does not fit this code.
    """
    if not replays:
        return
    processes = min(len(replays), len(os.sched_getaffinity(0)))
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(each) for each in replays]
        try:
            for future in track(as_completed(running), name, len(running), console=Console(stderr=True)):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Reproduces everything; one result that differs does not keep the others from theirs."""
    check_import_names()
    parser = argparse.ArgumentParser(prog="python -m experiments.reproduce", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder with the stored results")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduced"), help="where reports and tables go")
    parser.add_argument("--replays", type=int, metavar="N", help="replay at most N runs of each sweep; all by default")
    arguments = parser.parse_args(argv)
    single, sweeps = stored_runs(arguments.results), stored_sweeps(arguments.results)
    if not single and not sweeps:
        raise RunError(f"{arguments.results} holds no stored results")
    jobs = [(path, reproduce_run) for path in single]
    jobs += [(path, partial(reproduce_sweep, most=arguments.replays)) for path in sweeps]
    table = Table("result", "came out", title="stored results, from their records")
    status = 0
    for path, reproduce in jobs:
        name = path.relative_to(arguments.results)
        try:
            table.add_row(str(name), reproduce(path, arguments.out / name))
        except faults.KNOWN as fault:
            table.add_row(str(name), faults.explain(fault)[0])
            status = faults.FAILED
    Console().print(table)
    print(f"reports, tables and figures: {arguments.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
