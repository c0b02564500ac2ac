"""What this machine does with every language on every target: builds, checked, timed, on what, or why not.

python -m experiments.benchmarks.languages [--json OUT] [--tasks all] [--languages triton,cuda] [--targets nvidia]

A line is one language on one target: the seed kernels of the tasks, through the evaluator, or (targets named after an
architecture) through the compiler alone. Without ``--tasks`` it is one task a language, the first that has a seed.
Targets whose hardware or toolchain is not here get a line too, and a reason. The README's table sums up such lines.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fitness import Calibration, Evaluation, Evaluator, FitnessError, Language, Status, Target, tasks
from fitness.ahead import AheadLanguage, compile_ahead
from fitness.languages import Cpp, Cuda, Cute, FlyDSL, Hip, Numba, OpenCL, Torch, Triton
from fitness.targets import Amd, Cpu, Interpret, Nvidia

from .. import faults
from ..environment import here
from ..records import write_json

SCHEMA = "kernelwright.languages/1"
LANGUAGES: tuple[Language, ...] = (Cpp(), Numba(), OpenCL(), Triton(), Cuda(), Cute(), Torch(), Hip(), FlyDSL())
TARGETS: tuple[Target, ...] = (Cpu(), Nvidia(spares=1), Amd(spares=1), Interpret(spares=1, most_elements=500))
ARCHITECTURES = ("sm_90a", "gfx90a", "gfx942", "gfx950")
TASKS: tuple[type[Any], ...] = tuple(getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask")
SETTINGS = {"build_timeout_s": 120.0, "run_timeout_s": 120.0, "time_limit_s": 0.2, "null_every": 0}
NOT_BUILT = {Status.BUILD_FAILED, Status.BUILD_TIMEOUT, Status.REJECTED}
UNMEASURED = Calibration({}, 0.01)
"""Of a machine on which nothing was measured: latencies are then those of the interleaved pairs."""


@dataclass(frozen=True)
class Line:
    """One language on one target.

    Attributes:
        language: Its name.
        target: Its name, or the architecture that the language compiled for.
        tasks: Names of the tasks whose seed was tried.
        builds: How many of them were built.
        checked: How many were found correct.
        timed: How many were timed.
        device: On what.
        reason: Of the first seed that did not get as far as it could; empty where all did.
    """

    language: str
    target: str
    tasks: tuple[str, ...]
    builds: int = 0
    checked: int = 0
    timed: int = 0
    device: str = ""
    reason: str = ""


def seeded(language: Language, chosen: Sequence[str], every: bool) -> list[Any]:
    """Returns the chosen tasks that have a seed in ``language``; only the first of them unless ``every``."""
    found: list[Any] = []
    for make in TASKS:
        task: Any = make()
        if chosen and task.name not in chosen:
            continue
        try:
            task.seed_kernel(language.name)
        except FitnessError:
            continue
        found.append(task)
    return found if every else found[:1]


def evaluated(language: Language, target: Target, task: Any) -> Evaluation:
    """Takes a task's seed through the whole evaluator.

    Raises:
        FitnessError: The machine cannot: no hardware, no toolchain, no sandbox.
    """
    sized = task.on_device() if getattr(target, "is_device", False) else task
    settings = {**SETTINGS, "cache_regime": "cold" if getattr(target, "is_device", False) else "hot"}
    with closing(Evaluator(sized, target, language, **settings)) as evaluator:
        return evaluator.evaluate(sized.seed_kernel(language.name), UNMEASURED)


def on_target(language: Language, target: Target, found: Sequence[Any], workers: int) -> Line:
    """Tries every seed on a target, ``workers`` at once: they are timed in turns."""
    line = Line(language.name, target.name, tuple(task.name for task in found))
    try:
        line = replace(line, device=device_of(target))
    except FitnessError as error:
        return replace(line, reason=one_line(str(error)))

    def attempt(task: Any) -> Evaluation | FitnessError:
        try:
            return evaluated(language, target, task)
        except FitnessError as error:
            return error

    with ThreadPoolExecutor(workers) as pool:
        attempts = list(pool.map(attempt, found))
    for task, evaluation in zip(found, attempts, strict=True):
        if isinstance(evaluation, FitnessError):
            line = replace(line, reason=line.reason or f"{task.name}: {one_line(str(evaluation))}")
            continue
        missed = "" if evaluation.ok else f"{task.name}: {evaluation.status}: {one_line(evaluation.log)}"
        line = replace(
            line,
            builds=line.builds + (evaluation.status not in NOT_BUILT),
            checked=line.checked + evaluation.ok,
            timed=line.timed + (evaluation.latency_us is not None),
            reason=line.reason or missed,
        )
    return line


def ahead(language: AheadLanguage, arch: str, found: Sequence[Any]) -> Line:
    """Compiles every seed for hardware that need not be here."""
    line = Line(language.name, arch, tuple(task.name for task in found), device="none: compiled ahead of time")
    for task in found:
        try:
            sized = task.on_device()
            compilation = compile_ahead(sized.seed_kernel(language.name), sized, language, arch)
        except FitnessError as error:
            return replace(line, reason=f"{task.name}: {one_line(str(error))}")
        missed = f"{task.name}: {compilation.status}: {one_line(compilation.log)}"
        built = compilation.status is Status.OK
        line = replace(line, builds=line.builds + built, reason=line.reason or ("" if built else missed))
    return line


def device_of(target: Target) -> str:
    """Returns what a target runs on here.

    Raises:
        FitnessError: There is none.
    """
    facts = target.describe()
    if target.name == "interpret":
        return f"no device: interpreted on {Cpu().describe()['processor']}"
    named = facts.get("name") or facts.get("processor") or ", ".join(facts.values())
    return f"{named} ({target.arch})" if getattr(target, "is_device", False) else named


def one_line(text: str) -> str:
    """Returns the first line that says something, or the last where a traceback begins it; at most 160 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    return (lines[-1] if lines[0].startswith("Traceback") else lines[0])[:160]


def lines(
    languages: Iterable[Language],
    targets: Sequence[str],
    chosen: Sequence[str],
    every: bool,
    *,
    workers: int,
    told: Callable[[Line], None],
) -> list[Line]:
    """Tries every language on every target of its own, and for every architecture; ``told`` hears of each line.

    Only on those that ``targets`` names, if it names any.
    """
    made: list[Line] = []
    for language in languages:
        found = seeded(language, chosen, every)
        own = getattr(language, "targets", ())
        fitting = [target for target in TARGETS if target.name in own and target.name in (targets or own)]
        jobs = [partial(on_target, language, target, found, workers) for target in fitting]
        if isinstance(language, AheadLanguage):
            patterns = language.architectures
            named = [arch for arch in ARCHITECTURES if arch in (targets or ARCHITECTURES)]
            archs = [arch for arch in named if any(fnmatch.fnmatch(arch, each) for each in patterns)]
            jobs += [partial(ahead, language, arch, found) for arch in archs]
        for job in jobs if found else ():
            made.append(job())
            told(made[-1])
    return made


def table(made: Sequence[Line]) -> Table:
    """Returns what is printed."""
    shown = Table("language", "target", "builds", "checked", "timed", "on what", title="this machine")
    for line in made:
        counts = [_share(each, len(line.tasks)) for each in (line.builds, line.checked, line.timed)]
        shown.add_row(line.language, line.target, *counts, line.device)
    return shown


def _share(count: int, of: int) -> str:
    return ("yes" if count else "no") if of == 1 else f"{count}/{of}"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.languages", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--json", type=Path, help="store the lines")
    parser.add_argument("--tasks", default="", help="names with commas between, or all; default: one a language")
    parser.add_argument("--languages", default="", help="names with commas between; default: all")
    parser.add_argument("--targets", default="", help="names or architectures with commas between; default: all")
    parser.add_argument("--workers", type=int, default=1, help="seeds tried at once; they are timed in turns")
    arguments = parser.parse_args(argv)
    every = arguments.tasks == "all"
    names, wanted = _names(arguments.tasks if not every else ""), _names(arguments.languages)
    targets = _names(arguments.targets)
    for given, known in (
        (names, [make.name for make in TASKS]),
        (wanted, [each.name for each in LANGUAGES]),
        (targets, [*(each.name for each in TARGETS), *ARCHITECTURES]),
    ):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"{unknown[0]} is none of {', '.join(known)}")
    console = Console()
    made = lines(
        [each for each in LANGUAGES if not wanted or each.name in wanted],
        targets,
        names,
        every or bool(names),
        workers=arguments.workers,
        told=lambda line: console.print(
            f"{line.language} on {line.target}: {line.reason or 'done'}", markup=False, style="dim"
        ),
    )
    console.print(table(made))
    if arguments.json:
        record = {"schema": SCHEMA, **here(), "lines": [asdict(line) for line in made]}
        write_json(arguments.json, record)
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    sys.exit(faults.main(main))
