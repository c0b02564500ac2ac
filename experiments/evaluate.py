"""One kernel of your own through the whole evaluator: ``python -m experiments.evaluate kernel=FILE task=softmax``.

Prints one JSON object on standard output and everything else on standard error. The verdict is
data: the exit status is 0 whatever it is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from evolve import json_text
from fitness import Evaluation, Kernel, Language, Task, TaskError, languages, read_source

from . import faults
from .build import Problem, build_problem
from .composition import command_line
from .faults import ConfigError
from .names import check_import_names
from .settings import check_settings

EPILOG = """\
keys of this command:
  kernel=FILE        the source of one kernel, UTF-8

keys of the configuration that matter here: task, language, target, evaluator.*
example:
  python -m experiments.evaluate kernel=mine.cpp task=softmax language=cpp target=cpu

the object on standard output holds status, latency_us, reference_latency_us, speedup, interval,
max_rel_error, flags, measurements, log, seconds. speedup is over the task's naive seed kernel. On a GPU, baselines
has the speedups over torch, eager and compiled, and over the vendor's call where there is one.
exit status: 0 whatever the verdict, 1 broken machine, 2 wrong usage
"""


def read_kernel(path: Path, task: Task, language: Language) -> Kernel:
    """Reads a source file as a kernel that has the entry point of the task's seed.

    Raises:
        ConfigError: There is no such file, it holds no text, or its name is that of another language's.
    """
    meant = [each.name for each in our_languages() if each.suffix == path.suffix]
    is_plain_cpp = (path.suffix, language.grammar) == (".cpp", "cpp")  # many call their CUDA and HIP so
    if meant and path.suffix != language.suffix and not is_plain_cpp:
        choose = f"choose language={' or language='.join(meant)}"
        raise ConfigError(f"kernel: {path.name} is not written in {language.name}; {choose}")
    try:
        source = read_source(path)
    except TaskError as fault:
        raise ConfigError(f"kernel: {fault}") from fault
    return Kernel(source, language.name, task.seed_kernel(language.name).entry_point)


def our_languages() -> list[Language]:
    """Returns one of each language that comes with the project, in the order of their names."""
    made: list[Language] = [getattr(languages, name)() for name in languages.__all__]
    return sorted(made, key=lambda each: each.name)


def evaluate(kernel: Kernel, problem: Problem) -> Evaluation:
    """Calibrates this machine and judges one kernel.

    Raises:
        FitnessError: The machine or the task is broken.
    """
    evaluator = problem.evaluator
    print(f"measuring the seed kernel of {problem.task.name} on this machine", file=sys.stderr)
    calibration = evaluator.calibrate()
    print("building, checking and timing the kernel", file=sys.stderr)
    evaluation = evaluator.evaluate(kernel, calibration)
    if not (evaluation.ok and evaluator.baselines):
        return evaluation
    print(f"timing it against torch: {', '.join(evaluator.baselines)}", file=sys.stderr)
    return evaluator.compare(kernel, evaluation)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Judges one file."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.evaluate",
        description="Builds, checks and times one kernel file, and prints the verdict as one JSON object.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own, config = command_line(argv, parser, {"kernel": True})
    check_settings(config)
    with redirect_stdout(sys.stderr):
        problem = build_problem(config)
        evaluation = evaluate(read_kernel(Path(own["kernel"]), problem.task, problem.language), problem)
    print(json_text(evaluation.to_json()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
