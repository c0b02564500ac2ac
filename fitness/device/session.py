"""One candidate in a worker of a GPU target, as the parent drives it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from ..check import Instance
from ..compare import Array, judge
from ..disk import Scratch
from ..evaluation import JSON, Status
from ..session import Artifact, Failed
from ..task import Task
from .exam import Exam, Question
from .process import Arrays, DeviceProcess
from .sample import Sample

_SPARE_BYTES = 1 << 24
_TIMING_BYTES = 1 << 29  # on a device, for blocks, and again for trains
_TWICE_BYTES = 1 << 28  # of an input whose rows are kept twice on a device
_SHARE = 128  # of a device's memory: one part of so many is as much as each of those may be
WHOLE = Sample()
Call = tuple[Mapping[str, int], int]
"""Sizes of a call, and the number of its set of inputs."""


@dataclass(frozen=True, slots=True)
class Train:
    """Calls that a worker is ready to make at once.

    Attributes:
        calls: How many.
        captured: Whether a graph holds them.
    """

    calls: int
    captured: bool


@dataclass
class DeviceSession:
    """One candidate in its worker.

    Attributes:
        process: The worker.
        task: What the candidate computes.
        folder: Its scratch folder: compile caches, nothing of the project.
        max_rel_error: Largest error of a judged call so far.
        flags: What was noticed.
        launches: Whether it has launched a Triton kernel.
        compile_s: Time that the kernel's first calls took beyond the next ones: just-in-time compilers and tuners.
        trains: By the name of an exam that it has rehearsed, the calls that its worker makes at once.
        questions: By the name of an exam, how many timed calls were asked for with known outputs.
        round_trip_s: What asking and answering takes, measured before the worker has met its candidate.
        memory_bytes: Of its device, told before; 0 for none.
        room: By the name of an exam, how many calls' inputs and outputs may be kept for its blocks, and for its train.
        twice_bytes: An input with rows of no more bytes is kept twice, so that rolling it takes no time.
    """

    process: DeviceProcess
    task: Task
    folder: Scratch
    max_rel_error: float = 0.0
    flags: set[str] = field(default_factory=set)
    launches: bool = False
    compile_s: float = 0.0
    trains: dict[str, Train] = field(default_factory=dict)
    round_trip_s: float = 0.0
    memory_bytes: int = 0
    room: dict[str, int] = field(default_factory=dict)
    twice_bytes: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    _unjudged: list[tuple[Arrays, Callable[[], Instance], Sample, str]] = field(default_factory=list)

    def make_room(self, exams: Sequence[Exam]) -> None:
        """Shares the memory that timing may take among exams: a part of a device's, as many candidates wait there."""
        share = self.memory_bytes // _SHARE if self.memory_bytes else _TIMING_BYTES
        most_bytes, self.twice_bytes = min(_TIMING_BYTES, share), min(_TWICE_BYTES, share)
        self.room = {exam.name: max(1, most_bytes // len(exams) // exam.call_bytes) for exam in exams}

    def next_question(self, exam: Exam) -> Question:
        """Returns what to judge in the next block on an exam."""
        self.questions[exam.name] += 1
        return exam.block_question(self.questions[exam.name] - 1)

    def limit(self, seconds: float) -> None:
        """Lets every answer from now on be late after ``seconds``."""
        self.process.deadline = time.monotonic() + seconds

    def load(self, artifact: Artifact) -> None:
        """Loads the artifact.

        Raises:
            Failed: It cannot be loaded.
        """
        path = Path(self.folder.name) / artifact.path.name
        path.write_bytes(artifact.path.read_bytes())
        self.process.request({"command": "load", **load_message(self.task, artifact)})

    def call(self, calls: Sequence[Call], sets: Sequence[Mapping[str, Array]]) -> list[Arrays]:
        """Makes calls, each with its axes and one of the sets of inputs, by number; returns the outputs of each.

        Raises:
            Failed: An output is not of the declared form, or something was overwritten.
        """
        start = time.monotonic()
        facts, arrays = self._request("call", calls, sets)
        self._learn_compile_time(calls, facts.get("seconds"), time.monotonic() - start)
        self.check_forms(facts, [axes for axes, _ in calls])
        if facts.get("launched") is False:
            self.flags.add("launches_no_kernel")
        self.launches |= facts.get("launched") is True
        if facts.get("tampered") or facts.get("aliased"):
            raise Failed(Status.TAMPERED, told_tampering(facts) or "an output is an input")
        return [self.outputs_of(arrays, turn, axes) for turn, (axes, _) in enumerate(calls)]

    def _request(self, command: str, calls: Sequence[Call], sets: Sequence[Mapping[str, Array]]) -> tuple[JSON, Arrays]:
        message = {"command": command, "calls": [(dict(axes), number) for axes, number in calls]}
        arrays = {f"{name}@{number}": array for number, each in enumerate(sets) for name, array in each.items()}
        return self.process.request(message, arrays, self.most_bytes(*(axes for axes, _ in calls)))

    def look_for_ghosts(self, axes: Mapping[str, int], instance: Instance) -> None:
        """Flags a kernel that is right on new inputs while its launches do nothing: they are there for show.

        Raises:
            Failed: The process is gone.
        """
        facts, arrays = self._request("mute", [(axes, 0)], [instance.inputs])
        if facts.get("stumbled"):
            return
        try:
            verdict = judge(self.outputs_of(arrays, 0, axes), instance.expected, instance.tolerance)
        except Failed:
            return
        if verdict.is_right:
            self.flags.add("ghost_kernel")

    def most_bytes(self, *calls: Mapping[str, int]) -> int:
        """Returns what outputs of calls with these axes may hold to be looked at: wrong dtypes and surplus are told."""
        specs = self.task.outputs.values()
        sizes = [math.prod(spec.extent(axes)) * np.dtype(spec.dtype).itemsize for axes in calls for spec in specs]
        return 4 * sum(sizes) + _SPARE_BYTES

    def outputs_of(self, arrays: Arrays, turn: int, axes: Mapping[str, int], sample: Sample = WHOLE) -> Arrays:
        """Returns the outputs of one call, or a sample of them, by name.

        Raises:
            Failed: One is missing or of another form.
        """
        found = {}
        for name, spec in self.task.outputs.items():
            array = arrays.get(f"{name}@{turn}")
            if array is None:
                raise Failed(Status.WRONG_SHAPE, f"there is no output {name}")
            shape = sample.shape(name, spec.extent(axes))
            if array.dtype != np.dtype(spec.dtype) or array.shape != shape:
                text = f"output {name} is {array.dtype} {array.shape}, not {spec.dtype} {shape}"
                raise Failed(Status.WRONG_SHAPE, text)
            found[name] = array
        return found

    def check_forms(self, facts: JSON, calls: Sequence[Mapping[str, int]]) -> None:
        """Checks what the worker tells of the outputs of calls with these axes.

        Raises:
            Failed: One is not what the task declares.
        """
        forms = facts.get("forms")
        if not isinstance(forms, list) or not all(isinstance(form, dict) for form in forms):
            raise Failed(Status.NO_RESULT, "its answer is not of the agreed form")
        declared = [(axes, name, spec) for axes in calls for name, spec in self.task.outputs.items()]
        if len(forms) != len(declared):
            found = len(forms) // max(1, len(calls))
            raise Failed(Status.WRONG_SHAPE, f"number of its outputs: {found} instead of {len(self.task.outputs)}")
        for form, (axes, name, spec) in zip(forms, declared, strict=True):
            if not form.get("plain"):
                raise Failed(Status.WRONG_SHAPE, f"output {name} is no plain tensor of numbers: {form.get('type')}")
            if form.get("dtype") != spec.dtype or form.get("shape") != list(spec.extent(axes)):
                text = f"output {name} is {form.get('dtype')} {form.get('shape')}"
                raise Failed(Status.WRONG_SHAPE, f"{text}, not {spec.dtype} {list(spec.extent(axes))}")
            if form.get("elsewhere"):
                raise Failed(Status.WRONG_SHAPE, f"output {name} is not on the inputs' device")

    def judge(self, outputs: Arrays, instance: Instance, label: str) -> None:
        """Judges one call's outputs.

        Raises:
            Failed: An element is outside its tolerance.
        """
        verdict = judge(outputs, instance.expected, instance.tolerance)
        if not verdict.is_right:
            raise Failed(Status.WRONG_VALUE, f"{label}: {verdict.reason}", verdict.max_rel_error)
        self.max_rel_error = max(self.max_rel_error, verdict.max_rel_error)

    def _learn_compile_time(self, calls: Sequence[Call], seconds: object, wall_s: float) -> None:
        """Notes how much longer calls took than the next on the same set, as the worker tells and this clock allows."""
        if not isinstance(seconds, list) or len(seconds) != len(calls):
            return
        if all(isinstance(each, float) and math.isfinite(each) for each in seconds):
            again = [at for at in range(1, len(calls)) if calls[at][1] == calls[at - 1][1]]
            self.compile_s += min(sum(max(0.0, seconds[at - 1] - seconds[at]) for at in again), wall_s)

    def keep_outputs(
        self,
        axes: Mapping[str, int],
        index: int,
        instance: Callable[[], Instance],
        label: str,
        sample: Sample | None = None,
        *,
        train: str = "",
    ) -> None:
        """Brings one call's outputs for `judge_kept`: comparing takes long, and others wait for the device.

        Args:
            axes: Sizes of the call.
            index: Which of the calls made last, or of the train's.
            instance: Returns what must come out.
            label: What a verdict calls the call.
            sample: What is brought of the outputs; one that is drawn now, if none is given.
            train: Name of the train, whose outputs' forms the worker tells with them; else it has told them before.

        Raises:
            Failed: They do not come, or are of another form.
        """
        drawn = Sample.draw(self.task, axes) if sample is None else sample
        request = {"command": "outputs", "index": index, **({"train": train} if train else {}), **drawn.message()}
        told, arrays = self.process.request(request, most_bytes=self.most_bytes(axes))
        if train:
            self.check_forms(told, [axes])
        self._unjudged.append((self.outputs_of(arrays, 0, axes, drawn), instance, drawn, label))

    def judge_kept(self) -> float:
        """Judges all outputs that were kept; returns the largest error so far.

        Raises:
            Failed: An element is outside its tolerance.
        """
        kept, self._unjudged = self._unjudged, []
        for outputs, instance, sample, label in kept:
            self.judge(outputs, sample.of(instance()), label)
        return self.max_rel_error

    def drop_kept(self) -> None:
        """Forgets the outputs that were kept: nobody will ask for a verdict on them."""
        self._unjudged.clear()

    def close(self) -> None:
        """Ends the worker and removes its folder."""
        self.process.close()
        self.folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def load_message(task: Task, artifact: Artifact) -> JSON:
    """Returns what a worker must know to load an artifact that lies in its folder."""
    outputs = [{"name": n, "dtype": s.dtype, "shape": list(s.shape)} for n, s in task.outputs.items()]
    message = {"path": artifact.path.name, "kind": artifact.kind, "entry_point": artifact.entry_point}
    return {**message, "outputs": outputs, "axes": list(task.axes)}


def told_tampering(facts: JSON) -> str:
    """Returns what a worker says was tampered with; empty for nothing."""
    told = facts.get("tampered") or ()
    return "; ".join(map(str, told)) if isinstance(told, Sequence) else str(told)
