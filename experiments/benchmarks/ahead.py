"""What compiling ahead of time costs beyond the compiler: sandbox, and reading what the binary tells.

python -m experiments.benchmarks.ahead [--repeats 7] [--json OUT]

A line is one language for one architecture: the seconds that the compiler's command takes when it is run by hand, those
of `compile_ahead` without its reading, interleaved, medians of ``--repeats``; their ratio; and the seconds of reading,
most of which are those of a disassembler (``nvdisasm`` takes a quarter of a second to start). Toolchains that are not
installed here have no line.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fitness import FitnessError, Kernel, Status
from fitness.ahead import AheadLanguage, compile_ahead
from fitness.languages import Cuda, Cute, FlyDSL, Hip, Triton
from fitness.tasks import Softmax

from .. import faults
from ..records import write_json
from .languages import ARCHITECTURES

LANGUAGES: dict[str, AheadLanguage] = {
    "triton": Triton(),
    "cuda (NVRTC)": Cuda(device_compiler="nvrtc"),
    "cuda (nvcc)": Cuda(device_compiler="nvcc"),
    "cute": Cute(),
    "hip": Hip(),
    "flydsl": FlyDSL(),
}
TASK = Softmax()


@dataclass(frozen=True)
class Line:
    """One language for one architecture.

    Attributes:
        compiler: What compiles.
        arch: What for.
        alone_s: Of the compiler's command by hand.
        build_s: Of `compile_ahead`, without reading.
        ratio: ``build_s / alone_s``.
        read_s: Of reading what the binary tells.
    """

    compiler: str
    arch: str
    alone_s: float
    build_s: float
    ratio: float
    read_s: float


def alone_s(kernel: Kernel, language: AheadLanguage, arch: str) -> float:
    """Returns the seconds of the compiler's command, run as a person would run it.

    Raises:
        FitnessError: The toolchain is not here.
        CalledProcessError: It does not compile.
    """
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        build = language.build_ahead(kernel, TASK, arch, Path(folder))
        here = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, **build.environment}
        start = time.perf_counter()
        subprocess.run(build.argv, cwd=folder, env=here, check=True, capture_output=True)
        return time.perf_counter() - start


def ours_s(kernel: Kernel, language: AheadLanguage, arch: str) -> tuple[float, float]:
    """Returns the seconds of `compile_ahead` without its reading, and those of reading.

    Raises:
        FitnessError: The machine cannot.
        RuntimeError: It does not compile.
    """
    start = time.perf_counter()
    compilation = compile_ahead(kernel, TASK, language, arch)
    total_s, read_s = time.perf_counter() - start, compilation.seconds["read"]
    if compilation.status is not Status.OK:
        raise RuntimeError(f"the seed of {TASK.name} is {compilation.status} for {arch}: {compilation.log}")
    return total_s - read_s, read_s


def lines(repeats: int) -> Iterator[Line]:
    """Yields a line for each toolchain that is here and knows the architecture."""
    for name, language in LANGUAGES.items():
        kernel = TASK.seed_kernel(language.name)
        for arch in ARCHITECTURES:
            if not any(fnmatch.fnmatch(arch, pattern) for pattern in language.architectures):
                continue
            try:
                ours_s(kernel, language, arch)  # files come from the disk once
                pairs = [(alone_s(kernel, language, arch), *ours_s(kernel, language, arch)) for _ in range(repeats)]
            except (FitnessError, RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{name} for {arch}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            alone, build, read = (statistics.median(each) for each in zip(*pairs, strict=True))
            yield Line(name, arch, alone, build, build / alone, read)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="store the lines")
    arguments = parser.parse_args(argv)
    console = Console()
    found = []
    for line in lines(arguments.repeats):
        found.append(line)
        console.print(f"{line.compiler} for {line.arch}: {line.ratio:.2f}", markup=False, style="dim")
    table = Table("compiler", "arch", "alone s", "ours s", "ratio", "reading s", title=f"{TASK.name}, ahead of time")
    for line in found:
        seconds = (f"{each:.2f}" for each in (line.alone_s, line.build_s, line.ratio, line.read_s))
        table.add_row(line.compiler, line.arch, *seconds)
    console.print(table)
    if arguments.json:
        write_json(arguments.json, [asdict(line) for line in found])
    return 0


if __name__ == "__main__":
    sys.exit(faults.main(main))
