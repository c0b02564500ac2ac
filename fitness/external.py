"""Hardware behind a private toolchain: two commands of the user's, files in, JSON out.

The protocol. ``build`` is called with ``{source}``, ``{artifact}`` and ``{arch}`` filled in and must write
the artifact. ``run`` is called with ``{artifact}`` and ``{manifest}``; the manifest is a JSON file::

    {"schema": "kernelwright.external/1", "entry_point": "kernel", "repeats": 1,
     "calls": [{"axes": {"M": 3}, "inputs":  [{"name": "x", "dtype": "float32", "shape": [3], "file": "0_x.bin"}],
                                  "outputs": [{"name": "y", "dtype": "float32", "shape": [3], "file": "0_y.bin"}]}]}

It must run every call in order, write each output as raw little-endian bytes, and print one JSON object
as its last line: ``{"status": "ok", "times_us": [[…], …]}`` with ``repeats`` times for each call, or
``{"status": "crashed" | "out_of_memory" | "no_result", "log": "…"}``. An exit status other than 0 is a failure of
``build``, and of ``run`` where it says ``ok``; another verdict of ``run``'s counts whatever its exit status. Files are
relative to the current folder, which is a new one each time: programs and scripts need full paths. Outputs are poisoned
before; this process judges them and never tells what is expected.
What a command leaves running in its process group is ended with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .bench import Bench
from .cache import Cache
from .check import Findings, Instance
from .compare import judge, same_bits
from .contest import Contest, Rival
from .disk import Scratch, read_plain, remove
from .errors import TargetUnavailable
from .evaluation import JSON, Status
from .gate import Gate
from .logs import plain
from .material import Material
from .pool import Pool
from .sandbox import Sandbox
from .series import Series
from .session import Artifact, Failed
from .settings import Settings
from .statistics import FloatArray
from .target import Target
from .task import Task, Workload

SCHEMA = "kernelwright.external/1"
_CALLS = 5
_MOST_TEXT, _MOST_SHOWN = 1 << 26, 6000  # bytes that a command may print, and characters of them for people
_LOOK_S = 0.5
_PLACE = "it runs in a folder of its own, so give full paths"
_LONGEST_US = 1e12
_VERDICTS = {str(status): status for status in (Status.CRASHED, Status.OUT_OF_MEMORY, Status.NO_RESULT)}
Arrays = dict[str, NDArray[Any]]


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
            outputs, _ = self._run(folder, built, artifact, instances, repeats=1)
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
        worst = 0.0
        with self._built(first) as one, self._built(second) as other:
            series = []
            for pool in material.pools:
                taken: list[tuple[float, float]] = []
                deadline = time.monotonic() + self.settings.time_limit_s / len(material.pools)
                while len(taken) < self.settings.min_pairs or time.monotonic() < deadline:
                    medians = [0.0, 0.0]
                    for side in (0, 1) if len(taken) % 2 == 0 else (1, 0):
                        try:
                            medians[side], error = self._time((one, other)[side], (first, second)[side], pool)
                        except Failed as failure:
                            if side:
                                raise Rival(failure) from failure
                            raise
                        worst = worst if side else max(worst, error)
                    taken.append((medians[0], medians[1]))
                    if len(taken) >= self.settings.max_pairs:
                        break
                wall: FloatArray = np.array(taken, dtype=np.float64).T
                series.append(Series(pool.workload.name, wall, wall, _CALLS, 0))
        return Contest(tuple(series), worst, False)

    def peaks(self) -> tuple[float | None, float | None]:
        """Returns the target's configured peaks; nothing is bounded by those that are not."""
        peak = getattr(self.target, "peak", None)
        return (peak.bytes_per_s, peak.flops_per_s) if peak else (None, None)

    def _time(self, side: tuple[Path, Path], artifact: Artifact, pool: Pool) -> tuple[float, float]:
        """Returns the median time of a call in s, and the error of its judged output."""
        start = time.monotonic()
        entry = pool.entries[0]
        (outputs,), times = self._run(*side, artifact, [(pool.workload, entry)], repeats=_CALLS)
        wall_us = (time.monotonic() - start) * 1e6
        error = _judge(outputs, entry, f"{pool.workload.name}, a timed call")
        if sum(times[0]) > wall_us or min(times[0]) <= 0:
            raise Failed(Status.SUSPECT, f"claims {sum(times[0]):.0f} µs within {wall_us:.0f} µs", error)
        return float(np.median(times[0])) * 1e-6, error

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
                raise Failed(Status.BUILD_FAILED, f"{_words(done)}\n{_no_artifact(done.returncode)}".strip())
            yield folder, built

    def _run(
        self, folder: Path, built: Path, artifact: Artifact, calls: Sequence[tuple[Workload, Instance]], repeats: int
    ) -> tuple[list[Arrays], list[list[float]]]:
        """Runs calls in one process of the toolchain; returns outputs and times in µs, by call."""
        manifest = self._write(folder, artifact, calls, repeats)
        fields = {"artifact": built.name, "manifest": manifest.name, "arch": self.target.arch}
        done = self._command("run", fields, folder, self.settings.run_timeout_s, Status.RUN_TIMEOUT)
        answer = _last_object(done.stdout)
        if answer is None or (answer.get("status") == "ok" and done.returncode != 0):
            status = Status.CRASHED if done.returncode < 0 else Status.NO_RESULT
            told = "" if answer else "; its last line is no JSON object with a status"
            raise Failed(status, f"{_words(done)}\nrun {_end(done.returncode)}{told}".strip())
        if answer.get("status") != "ok":
            raise _failure(answer)
        return self._read(folder, calls), _times(answer.get("times_us"), len(calls), repeats)

    def _write(
        self, folder: Path, artifact: Artifact, calls: Sequence[tuple[Workload, Instance]], repeats: int
    ) -> Path:
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
        content = {"schema": SCHEMA, "entry_point": artifact.entry_point, "repeats": repeats, "calls": entries}
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
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # a pipe may be held by who stays behind
            try:
                process = subprocess.Popen(
                    argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
            except OSError as error:
                told = f"target.{which}: {argv[0]!r} does not start ({error.strerror or error}); {_PLACE}"
                raise TargetUnavailable(told) from error
            try:
                is_late = not _ends(process, timeout_s, (out, err))
            finally:  # also when this program is stopped
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if is_late:
                raise Failed(late, f"stopped after {timeout_s:g} s")
            if max(map(_size, (out, err))) > _MOST_TEXT:
                raise Failed(Status.NO_RESULT, f"stopped: it printed more than {_MOST_TEXT >> 20} MiB")
            return subprocess.CompletedProcess(argv, process.returncode, _text(out), _text(err))


def _ends(process: subprocess.Popen[bytes], timeout_s: float, printed: Sequence[IO[bytes]]) -> bool:
    """Returns whether a process ends in time, or prints too much; it is not reaped, so its group is still its own."""
    deadline = time.monotonic() + timeout_s
    end = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        while (left_s := deadline - time.monotonic()) > 0:
            if poll.poll(min(left_s, _LOOK_S) * 1e3) or max(map(_size, printed)) > _MOST_TEXT:
                return True
        return False
    finally:
        os.close(end)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _words(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the end of what a command printed, for people and models."""
    return plain((done.stdout + done.stderr)[-_MOST_SHOWN:], _MOST_SHOWN)


def _end(returncode: int) -> str:
    return f"ended by signal {-returncode}" if returncode < 0 else f"ended with exit status {returncode}"


def _no_artifact(returncode: int) -> str:
    """Returns why there is nothing to run."""
    return f"build {_end(returncode)}" if returncode else "build ended well, but wrote no file {artifact}"


def _failure(answer: JSON) -> Failed:
    """Returns the verdict of a run that is not ok; a word that the protocol does not know counts as a crash."""
    status, log = str(answer.get("status")), str(answer.get("log") or "")
    known = _VERDICTS.get(status)
    told = log if known else f"{log}\nits status is {status[:80]!r}, not ok, {', '.join(_VERDICTS)}".strip()
    return Failed(known or Status.CRASHED, plain(told, _MOST_SHOWN))


def _write_anew(path: Path, data: bytes) -> None:
    """Writes a file; what an earlier command made of it, a link or a pipe, is removed and not followed."""
    if path.is_dir() and not path.is_symlink():
        remove(path)
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _times(found: Any, calls: int, repeats: int) -> list[list[float]]:
    """Reads the times of each call, in µs.

    Raises:
        Failed: They are not that many finite numbers.
    """
    lists = found if isinstance(found, list) and all(isinstance(each, list) for each in found) else []
    numbers = [value for each in lists for value in each if type(value) in (int, float) and abs(value) < _LONGEST_US]
    if [len(each) for each in lists] != [repeats] * calls or len(numbers) != repeats * calls:
        raise Failed(
            Status.NO_RESULT, f"times_us must have a list of {repeats} finite numbers for each of {calls} calls"
        )
    return [[float(value) for value in each] for each in lists]


def _judge(outputs: Arrays, instance: Instance, label: str) -> float:
    verdict = judge(outputs, instance.expected, instance.tolerance)
    if not verdict.is_right:
        raise Failed(Status.WRONG_VALUE, f"{label}: {verdict.reason}", verdict.max_rel_error)
    return verdict.max_rel_error


def _last_object(text: str) -> JSON | None:
    for line in reversed(text.strip().splitlines()):
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):  # brackets within brackets
            return None
        return answer if isinstance(answer, dict) else None
    return None
