"""A stored run once more, from its journal alone: ``python -m experiments.replay RUN_DIR``.

Nothing is compiled, timed or asked of a model, and the run directory is not written to. The run is
reproduced when ``generations.jsonl`` comes out byte for byte.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import zip_longest
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from evolve import JournalMiss, whole_lines

from . import faults
from .analysis.tables import RESULT
from .build import build_engine, build_problem
from .environment import TRAJECTORY, versions
from .faults import RunError
from .names import check_import_names
from .records import begun, json_object, text_of
from .settings import check_settings
from .wording import count_text

EXCERPT = 160


def replay(run_dir: Path, kernels: Path | None = None) -> int:
    """Replays a run and compares.

    Args:
        run_dir: Of the stored run.
        kernels: Where the sources of all kernels are put when it came out the same; None for nowhere.

    Returns:
        How many generations were reproduced.

    Raises:
        RunError: There is no run in the directory, it has not come to its end, or it came out differently;
            the message names the first line that differs.
        JournalMiss: Code or configuration differ, so that an answer is wanted that is not recorded.
        JournalCorrupt: The journal cannot be read.
        ConfigError: ``config.yaml`` does not fit this version of the code.
    """
    config = stored_config(run_dir)
    with tempfile.TemporaryDirectory(prefix="kernelwright-replay-") as scratch, ExitStack() as stack:
        engine = build_engine(config, build_problem(config), stack, Path(scratch), recorded=run_dir)
        try:
            for _ in engine.run(generations=config.generations):
                pass
        except JournalMiss as miss:
            if (run_dir / RESULT).exists():
                raise
            raise RunError(
                f"{run_dir} has not come to its end; run its command again to finish it, then replay"
            ) from miss
        count = compare(run_dir / "generations.jsonl", Path(scratch) / "generations.jsonl")
        if kernels is not None:
            shutil.copytree(Path(scratch) / "kernels", kernels, dirs_exist_ok=True)
    return count


def stored_config(run_dir: Path) -> DictConfig:
    """Reads and checks ``config.yaml``.

    Raises:
        RunError: There is none, or it cannot be read.
        ConfigError: It does not fit this version of the code.
    """
    path = run_dir / "config.yaml"
    if not path.is_file():
        raise RunError(f"{run_dir} holds no run (no config.yaml); give the folder that a run printed as its own")
    try:
        config = OmegaConf.create(text_of(path))
    except (YAMLError, OmegaConfBaseException, UnicodeDecodeError) as fault:
        raise RunError(f"{path} cannot be read: {fault}") from fault
    if not isinstance(config, DictConfig):
        raise RunError(f"{path} holds no configuration")
    check_settings(config)
    return config


def compare(recorded: Path, replayed: Path) -> int:
    """Compares two files line by line.

    Returns:
        How many lines there are.

    Raises:
        RunError: They differ, and where.
    """
    if not recorded.is_file():
        raise RunError(f"{recorded} is missing; there is nothing to compare with")
    with recorded.open("rb") as old, replayed.open("rb") as new:
        number = 0
        pairs = zip_longest(whole_lines(old, recorded), whole_lines(new, replayed))
        for number, (was, now) in enumerate(pairs, start=1):
            if was != now:
                raise RunError(f"{recorded}: line {number} differs; {_difference(was, now)}")
    return number


def _difference(was: bytes | None, now: bytes | None) -> str:
    """Says where two lines part."""
    if was is None or now is None:
        return "the replay goes on where the record ends" if was is None else "the replay ends before the record"
    at = next((index for index, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
    start = max(0, at - 40)
    old, new = (line[start : start + EXCERPT].decode("utf-8", "replace").rstrip() for line in (was, now))
    return f"recorded …{old}… and replayed …{new}…"


def other_versions(run_dir: Path) -> list[str]:
    """Returns which versions differ from those of the recorded run, those that matter most first.

    Raises:
        RunError: What it recorded of itself is damaged.
    """
    path = run_dir / "environment.json"
    if not path.is_file():
        return [f"{path} is missing: versions cannot be compared"]
    recorded, here = json_object(path), versions()
    names = [*TRAJECTORY, *(name for name in here if name not in TRAJECTORY)]
    return [
        f"{name} was {recorded[name]}, is {here[name]}"
        for name in names
        if recorded.get(name, here[name]) != here[name]
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Replays every run that is asked for; one that differs does not keep the others from theirs."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.replay",
        description="Runs stored runs again from their journals (no compiler, model or GPU) and compares every byte.",
    )
    parser.add_argument("run_dir", nargs="+", type=Path, metavar="RUN_DIR", help="the folder of a finished run")
    status = 0
    for run_dir in begun(parser.parse_args(argv).run_dir):
        try:
            for note in other_versions(run_dir) if run_dir.is_dir() else ():
                print(f"note: {note}", file=sys.stderr)
            count = replay(run_dir)
        except faults.KNOWN as fault:
            print(f"error: {faults.told_of(run_dir, fault)}", file=sys.stderr)
            status = faults.FAILED
        else:
            print(f"{run_dir}: byte-identical, {count_text(count, 'line')} of generations.jsonl")
    return status


if __name__ == "__main__":
    sys.exit(main())
