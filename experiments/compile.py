"""A kernel compiled for hardware that need not be here: ``python -m experiments.compile arch=gfx942 …``.

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
from fitness import Language, Status, TaskError
from fitness.ahead import AheadLanguage, compile_ahead
from fitness.tasks import RowSum

from . import faults
from .build import make
from .composition import command_line
from .evaluate import our_languages, read_kernel
from .faults import ConfigError, RunError
from .names import check_import_names

EPILOG = """\
keys of this command:
  arch=NAME          the compiler's name of the hardware: sm_90a, gfx942, gfx950 …
  kernel=FILE        the source of one kernel, UTF-8; without it, the task's seed kernel

keys of the configuration that matter here: task, language
example:
  python -m experiments.compile task=softmax language=triton arch=gfx942

the object on standard output holds status, arch, static, artifact_bytes, log, seconds. static has what
the toolchain tells: registers, spills, shared memory, occupancy, instruction counts. Shapes are those of
the task's first timed workload. Neither the hardware nor its driver is needed.
exit status: 0 whatever the verdict, 1 broken machine, missing toolchain or one that does not know arch, 2 wrong usage
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Compiles one file."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.compile",
        description="Compiles one kernel for an architecture that need not be here, and prints what its binary tells.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own, config = command_line(argv, parser, {"kernel": False, "arch": True})
    with redirect_stdout(sys.stderr):
        task = make(config, "task")
        language: Language = make(config, "language")
        if not isinstance(language, AheadLanguage):
            ahead = ", ".join(each.name for each in our_languages() if isinstance(each, AheadLanguage))
            choose = f"choose from {ahead}, or judge it where it runs: python -m experiments.evaluate"
            raise ConfigError(f"language={language.name} does not compile ahead of time; {choose}")
        path = own.get("kernel")
        kernel = read_kernel(Path(path), task, language) if path else task.seed_kernel(language.name)
        compilation = compile_ahead(kernel, task, language, own["arch"])
        if compilation.status is Status.BUILD_FAILED:
            _check_arch(language, own["arch"])
    print(json_text(compilation.to_json()))
    return 0


def _check_arch(language: AheadLanguage, arch: str) -> None:
    """Asks a toolchain whether a kernel was at fault that it did not compile: one that is right, for the same hardware.

    Raises:
        RunError: It does not compile that either.
    """
    task = RowSum()
    try:
        kernel = task.seed_kernel(language.name)
    except TaskError:  # a language of the user's own
        return
    found = compile_ahead(kernel, task, language, arch)
    if found.status is Status.BUILD_FAILED:
        lines = found.log.strip().splitlines() or ["it says nothing"]
        told = lines[-1] if lines[0].startswith("Traceback") else lines[0]
        raise RunError(f"{language.name} here compiles no kernel for arch={arch}: {told}")


if __name__ == "__main__":
    sys.exit(main())
