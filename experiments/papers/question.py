"""From an experiment's name to its answer: declare, sweep, compare, and what the experiment looks at beside that."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

from rich.console import Console

from .. import faults
from ..analysis.result import analyse
from ..compare import PIPE_WIDTH, show, write
from ..experiment import RECORDS
from ..names import check_import_names
from ..sweep_command import KEYS, Order, execute, read_order
from .finding import Finding, show_findings, write_findings


def answer(name: str, argv: Sequence[str] | None = None) -> int:
    """Runs the command of one experiment.

    Args:
        name: Of its files in this package; the module's docstring is the help, its ``findings``, if there is one,
            looks at the compared sweep, and its ``prepare`` or ``follow_up`` runs before or after the sweep.
        argv: Arguments as those of `experiments.sweep`, without ``experiment=``.

    Returns:
        The exit status.
    """
    check_import_names()
    return faults.main(partial(_answer, name, sys.argv[1:] if argv is None else argv))


def module_of(name: str) -> ModuleType | None:
    """Returns the module of a shipped experiment, whatever the scale is that its name ends in; None of any other."""
    names = [path.stem for path in Path(__file__).parent.glob("*.yaml") if path.with_suffix(".py").exists()]
    found = max((each for each in names if f"{name}_".startswith(f"{each}_")), key=len, default="")
    return importlib.import_module(f"{__package__}.{found}") if found else None


def _answer(name: str, argv: Sequence[str]) -> int:
    module = module_of(name)
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.papers.{name}",
        description=module.__doc__,
        epilog=KEYS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="*", metavar="key=value")
    order = read_order([f"experiment={name}", *parser.parse_args(argv).settings])
    _step(module, "prepare", order)
    status = execute(order)
    _step(module, "follow_up", order)
    conclude(module, order.sweep_dir, order.sweep_dir)
    print(f"answer: {order.sweep_dir / 'comparison.html'}")
    return status


def _step(module: ModuleType | None, name: str, order: Order) -> None:
    """Runs what an experiment does before or after its sweep; most do nothing."""
    if hasattr(module, name):
        getattr(module, name)(order.experiment, order.sweep_dir)


def conclude(module: ModuleType | None, sweep_dir: Path, out_dir: Path, *, quiet: bool = False) -> None:
    """Compares a sweep and writes everything that an experiment shows, from records alone.

    Args:
        module: Of the experiment; None where it has none. One whose runs are lines of `RECORDS` has a ``conclude`` of
            its own, and ``replays`` for `experiments.reproduce`.
        sweep_dir: The records.
        out_dir: Where tables and figures go.
        quiet: Whether to print nothing.

    Raises:
        RunError: There is no run in the sweep.
        OSError: The folder cannot be written.
    """
    if module is not None and (sweep_dir / RECORDS).exists():
        module.conclude(sweep_dir, out_dir, quiet=quiet)
        return
    result = analyse(sweep_dir)
    found: Sequence[Finding] = module.findings(result) if module is not None and hasattr(module, "findings") else ()
    if not quiet:
        show(result, Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH))
        show_findings(found)
    write(result, out_dir)
    write_findings(found, out_dir)
