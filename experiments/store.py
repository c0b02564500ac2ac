"""A finished sweep as a result that anybody can check: ``python -m experiments.store SWEEP_DIR``.

What `experiments.reproduce` needs goes into ``experiments/results/NAME``: the declaration, the records of all runs in
one compressed archive, the tables, the figures, and the machine with its load. A README beside them is written by
hand.
"""

from __future__ import annotations

import argparse
import io
import lzma
import shutil
import statistics
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import faults
from .analysis.run_columns import journal_path
from .environment import OF_A_RUN, OF_A_SWEEP, revision_standing
from .experiment import FILE_NAME
from .faults import RunError
from .records import json_object, read_answers, write_json, write_whole

RESULTS = Path(__file__).parent / "results"
ARCHIVE, MACHINE = "records.tar.xz", "machine.json"
KEPT = ("config.yaml", OF_A_RUN, "generations.jsonl", "journal.jsonl", "result.json", "failed.json")
SOURCES = "kernels/sources.jsonl"
SHOWN = ("*.csv", "*.png")


def recorded_files(sweep_dir: Path) -> list[Path]:
    """Returns the files of a sweep from which everything else can be made again, in order."""
    own = [path for pattern in ("*.json", "*.jsonl") for path in sweep_dir.glob(pattern) if path.name != MACHINE]
    runs = [path for name in (*KEPT, SOURCES) for path in sweep_dir.glob(f"*/*/*/{name}")]
    return sorted([*own, *runs])


def pack(sweep_dir: Path, archive: Path) -> None:
    """Writes the records of a sweep into one archive, the same bytes for the same records.

    Raises:
        OSError: It cannot be written.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in recorded_files(sweep_dir):
            entry = tarfile.TarInfo(str(path.relative_to(sweep_dir)))
            content = path.read_bytes()
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    write_whole(archive, lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def unpack(stored: Path, target: Path) -> None:
    """Puts the records of a stored result, and its declaration, where they can be worked with.

    Raises:
        RunError: The archive is damaged.
    """
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(stored / ARCHIVE, mode="r:xz") as tar:
            tar.extractall(target, filter="data")
    except (tarfile.TarError, lzma.LZMAError, EOFError) as fault:
        raise RunError(f"{stored / ARCHIVE}: is damaged: {fault}") from fault
    shutil.copyfile(stored / FILE_NAME, target / FILE_NAME)


def machine(sweep_dir: Path) -> dict[str, Any]:
    """Returns under which circumstances the runs were made: hardware, versions, code, load and noise.

    Raises:
        RunError: No run tells.
    """
    environments, loads, floors = [], [], []
    for path in sorted([*sweep_dir.glob(OF_A_SWEEP), *sweep_dir.glob(f"*/*/*/{OF_A_RUN}")]):
        environments.append(json_object(path))
        journal = journal_path(path.parent)
        calibration = read_answers(journal, keep=set()).calibration if journal is not None else None
        if calibration is not None:
            floors.append(calibration.noise_floor)
            if "load_average" in calibration.facts:
                loads.append(float(calibration.facts["load_average"]))
    if not environments:
        raise RunError(f"{sweep_dir}: no run tells its environment")
    first = environments[0]
    facts = {key: value for key, value in first.items() if key not in ("schema", "choices", "later_attempts")}
    return {
        **facts,
        "git_revision_is": revision_standing(facts.get("git_revision")),
        "differs_between_runs": _differing(environments, facts),
        "load_average": _spread(loads),
        "noise_floor": _spread(floors),
    }


def _differing(environments: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> list[str]:
    """Returns which facts are not those of the first run, in another run or in a later attempt at one."""
    attempts = [
        {**environment, **later}
        for environment in environments
        for later in ({}, *environment.get("later_attempts", ()))
    ]
    return sorted({key for each in attempts for key in facts if each.get(key) != facts[key]})


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Returns smallest, median and largest."""
    if not values:
        return {}
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def shown_files(folder: Path) -> Iterator[Path]:
    """Yields tables and figures, those of single runs left out."""
    for pattern in SHOWN:
        yield from sorted(folder.glob(pattern))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Stores one sweep."""
    parser = argparse.ArgumentParser(prog="python -m experiments.store", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sweep_dir", type=Path, metavar="SWEEP_DIR", help="a finished and compared sweep")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are stored")
    arguments = parser.parse_args(argv)
    sweep_dir = arguments.sweep_dir
    if not (sweep_dir / FILE_NAME).is_file():
        raise RunError(f"{sweep_dir}: holds no {FILE_NAME}; give the folder of a declared sweep")
    target = arguments.results / sweep_dir.resolve().name
    target.mkdir(parents=True, exist_ok=True)
    pack(sweep_dir, target / ARCHIVE)
    facts = machine(sweep_dir)
    write_json(target / MACHINE, facts)
    for path in (sweep_dir / FILE_NAME, *shown_files(sweep_dir)):
        shutil.copyfile(path, target / path.name)
    print(f"stored: {target} ({(target / ARCHIVE).stat().st_size / 1e6:.2f} MB of records)")
    print(f"revision {facts.get('git_revision')}: {facts['git_revision_is']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
