"""Hardware behind a private toolchain: two commands of the user's, files in, JSON out.

The protocol. ``build`` is called with ``{source}``, ``{artifact}`` and ``{arch}`` filled in and must write
the artifact. ``run`` is called with ``{artifact}`` and ``{manifest}``; the manifest is a JSON file::

    {"schema": "kernelwright.external/1", "entry_point": "kernel", "repeats": 1,
     "calls": [{"axes": {"M": 3}, "inputs":  [{"name": "x", "dtype": "float32", "shape": [3], "file": "0_x.bin"}],
                                  "outputs": [{"name": "y", "dtype": "float32", "shape": [3], "file": "0_y.bin"}]}]}

It must run every call in order, write each output as raw little-endian bytes, and print one JSON object as its last
line: ``{"status": "ok", "times_us": [[…], …]}`` with ``repeats`` times for each call, or ``{"status": "crashed" |
"out_of_memory" | "no_result", "log": "…"}``. ``repeats`` is 1: every call has data of its own, as one that is made
again on the same could be answered from memory. An exit status other than 0 is a failure of ``build``, and of ``run``
where it says ``ok``; another verdict of ``run``'s counts whatever its exit status. Files are relative to the current
folder, one for each artifact: programs and scripts need full paths. Outputs are poisoned before; this process judges
them and never tells what is expected. What a command leaves running in its process group is ended with it.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bench import Bench
from .cache import Cache
from .check import Findings, Instance, expect
from .command import MOST_SHOWN, end, last_object, run_command, words
from .compare import judge, same_bits
from .contest import Contest, Rival
from .disk import Scratch, read_plain, remove
from .errors import TargetUnavailable
from .evaluation import JSON, Status
from .gate import Gate
from .logs import plain
from .material import Material
from .native import driver
from .pool import Pool
from .sandbox import Sandbox
from .series import Series
from .session import Artifact, Failed
from .settings import Settings
from .statistics import FloatArray
from .target import Target
from .task import Task, Workload

SCHEMA = "kernelwright.external/1"
_CALLS = 5  # of a sample
_PLACE = "it runs in a folder of its own, so give full paths"
_LONGEST_US = 1e12
_VERDICTS = {str(status): status for status in (Status.CRASHED, Status.OUT_OF_MEMORY, Status.NO_RESULT)}
Arrays = dict[str, NDArray[Any]]
Side = tuple[Path, Path, Artifact]
"""A scratch folder, what the toolchain built in it, and of which artifact."""


class ExternalBench(Bench):
    """Builds, checks and times through the commands of a target.

    What confines a candidate is the toolchain's own business: evaluations carry ``weak_isolation``.
    """

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, settings: Settings) -> None:
        """Starts nothing yet."""
        super().__init__(sandbox, task, target, settings, Gate())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Passes when nothing else is timed on this target."""
        with self.gate.alone(), Cache().machine_lock(f"timing-{self.target.name}"):
            yield

    def check(self, artifact: Artifact, material: Material, device: int) -> Findings:
        """Builds, then judges all cases: equal inputs twice, then the other data.

        Raises:
            Failed: The kernel is not right.
            TargetUnavailable: A command is missing.
        """
        worst = 0.0
        with self._built(artifact) as (folder, built):
            instances = [
                (case.workload, each) for case in material.cases for each in (case.instances[0], *case.instances)
            ]
            outputs, _ = self._run(folder, built, artifact, instances)
        for (workload, instance), found in zip(instances, outputs, strict=True):
            worst = max(worst, _judge(found, instance, workload.name))
        count = 1 + len(material.cases[0].instances)
        for first, again in zip(outputs[::count], outputs[1::count], strict=True):
            if self.task.repeatable and not same_bits(first, again):
                raise Failed(Status.UNREPEATABLE, "two calls on equal inputs give different results", worst)
        return Findings(worst, {"weak_isolation"})

    def contest(
        self, first: Artifact, second: Artifact, material: Material, device: int, rng: np.random.Generator
    ) -> Contest:
        """Times two artifacts in turn, a process of the toolchain each time.

        Raises:
            Failed: The first did something that ends it.
            Rival: The second did.
        """
        with self._built(first) as one, self._built(second) as other:
            sides = ((*one, first), (*other, second))
            share_s = self.settings.time_limit_s / len(material.pools)
            found = [self._pairs(sides, pool, share_s) for pool in material.pools]
        return Contest(tuple(series for series, _ in found), max(error for _, error in found), False)

    def _pairs(self, sides: tuple[Side, Side], pool: Pool, limit_s: float) -> tuple[Series, float]:
        """Times both sides in turn, on the same data in a pair; returns also the largest error of the first."""
        taken: list[tuple[float, float]] = []
        worst, deadline = 0.0, time.monotonic() + limit_s
        while len(taken) < self.settings.min_pairs or time.monotonic() < deadline:
            calls, judged = self._unseen(pool)
            medians = [0.0, 0.0]
            for side in (0, 1) if len(taken) % 2 == 0 else (1, 0):
                try:
                    medians[side], error = self._time(sides[side], pool.workload, calls, judged)
                except Failed as failure:
                    if side:
                        raise Rival(failure) from failure
                    raise
                worst = worst if side else max(worst, error)
            taken.append((medians[0], medians[1]))
            if len(taken) >= self.settings.max_pairs:
                break
        wall: FloatArray = np.array(taken, dtype=np.float64).T
        return Series(pool.workload.name, wall, None, _CALLS, 0), worst

    def _unseen(self, pool: Pool) -> tuple[list[Instance], int]:
        """Draws the data of the calls of a pair; of one of them, nobody knows which, it is known what must come out."""
        inputs = pool.unseen(driver(self.sandbox.compiler), _CALLS)
        judged = secrets.randbelow(_CALLS)
        known = expect(self.task, pool.workload, inputs[judged])
        return [Instance(each, *(known if at == judged else ({}, {}))) for at, each in enumerate(inputs)], judged

    def peaks(self) -> tuple[float | None, float | None]:
        """Returns the target's configured peaks; nothing is bounded by those that are not."""
        peak = getattr(self.target, "peak", None)
        return (peak.bytes_per_s, peak.flops_per_s) if peak else (None, None)

    def _time(self, side: Side, workload: Workload, calls: Sequence[Instance], judged: int) -> tuple[float, float]:
        """Returns the median time of a call in s, and the error of the judged one's outputs."""
        start = time.monotonic()
        outputs, times_us = self._run(*side, [(workload, each) for each in calls])
        wall_us = (time.monotonic() - start) * 1e6
        error = _judge(outputs[judged], calls[judged], f"{workload.name}, a timed call")
        if sum(times_us) > wall_us or min(times_us) <= 0:
            raise Failed(Status.SUSPECT, f"claims {sum(times_us):.0f} µs within {wall_us:.0f} µs", error)
        return float(np.median(times_us)) * 1e-6, error

    @contextmanager
    def _built(self, artifact: Artifact) -> Iterator[tuple[Path, Path]]:
        """Yields a scratch folder and the artifact that the toolchain built in it."""
        with Scratch() as name:
            folder = Path(name)
            source = folder / artifact.path.name
            source.write_bytes(artifact.path.read_bytes())
            built = folder / "artifact"
            fields = {"source": source.name, "artifact": built.name, "arch": self.target.arch}
            done = self._command("build", fields, folder, self.settings.build_timeout_s, Status.BUILD_TIMEOUT)
            if done.returncode != 0 or not built.exists():
                raise Failed(Status.BUILD_FAILED, f"{words(done)}\n{_no_artifact(done)}".strip())
            yield folder, built

    def _run(
        self, folder: Path, built: Path, artifact: Artifact, calls: Sequence[tuple[Workload, Instance]]
    ) -> tuple[list[Arrays], list[float]]:
        """Runs calls in one process of the toolchain; returns the outputs and the time in µs of each."""
        manifest = self._write(folder, artifact, calls)
        fields = {"artifact": built.name, "manifest": manifest.name, "arch": self.target.arch}
        done = self._command("run", fields, folder, self.settings.run_timeout_s, Status.RUN_TIMEOUT)
        answer = last_object(done)
        if answer is None or (answer.get("status") == "ok" and done.returncode != 0):
            status = Status.CRASHED if done.returncode < 0 else Status.NO_RESULT
            told = "" if answer else "; its last line is no JSON object with a status"
            raise Failed(status, f"{words(done)}\nrun {end(done)}{told}".strip())
        if answer.get("status") != "ok":
            raise _failure(answer)
        return self._read(folder, calls), _times(answer.get("times_us"), len(calls))

    def _write(self, folder: Path, artifact: Artifact, calls: Sequence[tuple[Workload, Instance]]) -> Path:
        entries = []
        for index, (workload, instance) in enumerate(calls):
            for name, array in instance.inputs.items():
                _write_anew(folder / f"{index}_{name}.bin", np.ascontiguousarray(array).tobytes())
            outputs = []
            for name, spec in self.task.outputs.items():
                shape = spec.extent(workload.axes)
                poison = np.full(shape, 0x5A if np.dtype(spec.dtype).kind in "iu" else np.nan).astype(spec.dtype)
                _write_anew(folder / f"{index}_{name}.bin", poison.tobytes())
                outputs.append({"name": name, "dtype": spec.dtype, "shape": shape, "file": f"{index}_{name}.bin"})
            inputs = [
                {"name": n, "dtype": s.dtype, "shape": s.extent(workload.axes), "file": f"{index}_{n}.bin"}
                for n, s in self.task.inputs.items()
            ]
            axes = {axis: workload.axes[axis] for axis in self.task.axes}
            entries.append({"axes": axes, "inputs": inputs, "outputs": outputs})
        content = {"schema": SCHEMA, "entry_point": artifact.entry_point, "repeats": 1, "calls": entries}
        path = folder / "manifest.json"
        _write_anew(path, json.dumps(content).encode())
        return path

    def _read(self, folder: Path, calls: Sequence[tuple[Workload, Instance]]) -> list[Arrays]:
        found = []
        for index, (workload, _) in enumerate(calls):
            outputs: Arrays = {}
            for name, spec in self.task.outputs.items():
                shape = spec.extent(workload.axes)
                size = int(np.prod(shape, dtype=np.int64)) * np.dtype(spec.dtype).itemsize
                try:
                    data = read_plain(folder / f"{index}_{name}.bin", size + 1)
                except OSError as error:
                    raise Failed(Status.NO_RESULT, f"output {name}: {error.strerror or error}") from error
                if len(data) != size:
                    told = f"{len(data)} of {size} bytes" if len(data) < size else f"more than {size} bytes"
                    raise Failed(Status.WRONG_SHAPE, f"output {name} has {told}")
                outputs[name] = np.frombuffer(data, dtype=spec.dtype).reshape(shape)
            found.append(outputs)
        return found

    def _command(
        self, which: str, fields: Mapping[str, str], folder: Path, timeout_s: float, late: Status
    ) -> subprocess.CompletedProcess[str]:
        template: Sequence[str] = getattr(self.target, which)
        argv = [part.format(**fields) for part in template]
        try:
            return run_command(argv, folder, timeout_s, late)
        except OSError as error:
            told = f"target.{which}: {argv[0]!r} does not start ({error.strerror or error}); {_PLACE}"
            raise TargetUnavailable(told) from error


def _no_artifact(done: subprocess.CompletedProcess[str]) -> str:
    """Returns why there is nothing to run."""
    return f"build {end(done)}" if done.returncode else "build ended well, but wrote no file {artifact}"


def _failure(answer: JSON) -> Failed:
    """Returns the verdict of a run that is not ok; a word that the protocol does not know counts as a crash."""
    status, log = str(answer.get("status")), str(answer.get("log") or "")
    known = _VERDICTS.get(status)
    told = log if known else f"{log}\nits status is {status[:80]!r}, not ok, {', '.join(_VERDICTS)}".strip()
    return Failed(known or Status.CRASHED, plain(told, MOST_SHOWN))


def _write_anew(path: Path, data: bytes) -> None:
    """Writes a file; what an earlier command made of it, a link or a pipe, is removed and not followed."""
    if path.is_dir() and not path.is_symlink():
        remove(path)
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _times(found: Any, calls: int) -> list[float]:
    """Reads the time of each call, in µs.

    Raises:
        Failed: They are not that many finite numbers.
    """
    lists = found if isinstance(found, list) and all(isinstance(each, list) for each in found) else []
    numbers = [value for each in lists for value in each if type(value) in (int, float) and abs(value) < _LONGEST_US]
    if [len(each) for each in lists] != [1] * calls or len(numbers) != calls:
        raise Failed(Status.NO_RESULT, f"times_us must have a list of one finite number for each of {calls} calls")
    return [float(value) for value in numbers]


def _judge(outputs: Arrays, instance: Instance, label: str) -> float:
    verdict = judge(outputs, instance.expected, instance.tolerance)
    if not verdict.is_right:
        raise Failed(Status.WRONG_VALUE, f"{label}: {verdict.reason}", verdict.max_rel_error)
    return verdict.max_rel_error
