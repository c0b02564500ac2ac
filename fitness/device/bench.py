"""Where artifacts are checked and timed when a worker in Python runs them: GPUs, and interpreters on the CPU."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ..bench import Bench
from ..check import Findings
from ..contest import Contest, Rival
from ..evaluation import Status
from ..gate import Gate
from ..languages.cuda import object_metrics
from ..languages.triton import compiled_metrics
from ..material import Material
from ..sandbox import Sandbox
from ..session import Artifact, Failed
from ..settings import Settings
from ..static import Metrics
from ..target import Target
from ..task import Task
from .cases import affordable, check_on_device
from .conditions import Conditions, summary
from .counters import Counters
from .exam import Exam
from .session import DeviceSession
from .timing import DeviceStopwatch, profiled, rehearse
from .turns import Turns
from .workers import START_S, Workers

_HELPERS = 8  # threads that wait for a disassembler or for the end of a worker
_KEPT = 16
_AT_ONCE_BYTES = 1 << 26  # of cases that go to a worker of a GPU together


class DeviceBench(Bench):
    """Workers of a GPU target. A worker serves one candidate; the next ones are started while it runs (`Workers`).

    A checked candidate keeps its worker until it is timed; the baseline keeps its own for good, as it is trusted.

    Attributes:
        gate: Lets all builds and checks pass: what they do on the CPU does not disturb a GPU.
    """

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, settings: Settings) -> None:
        """Starts nothing yet."""
        super().__init__(sandbox, task, target, settings, Gate())
        self._lock = threading.Lock()
        self._devices: tuple[Path, ...] = getattr(target, "device_files", tuple)()
        self._workers = Workers(sandbox, task, target, self._devices)
        self._helpers = ThreadPoolExecutor(max_workers=_HELPERS, thread_name_prefix="device-helper")
        self._checked: OrderedDict[tuple[Path, int], DeviceSession] = OrderedDict()
        self._baselines: dict[tuple[Path, int], DeviceSession] = {}
        self._exams: tuple[Material, tuple[Exam, ...]] | None = None
        tool: str | None = getattr(target, "counter_tool", lambda: None)() if settings.profiler else None
        limit_s = settings.build_timeout_s + settings.run_timeout_s
        self._counters = Counters(sandbox, tool, self._devices, limit_s) if tool else None

    def prepare(self, device: int) -> None:
        """Has workers started, which takes seconds for the first, while data is drawn and the seed is built."""
        self._workers.prepare(device)

    def check(self, artifact: Artifact, material: Material, device: int) -> Findings:
        """Judges an artifact on all cases, in a worker of its own.

        Raises:
            Failed: It is not right.
            FitnessError: The machine failed.
        """
        session = self._load(artifact, device)
        try:
            at_once = _AT_ONCE_BYTES if self.target.measures_time else 0  # an interpreter is slow: it stops early
            cases = affordable(material.cases, int(getattr(self.target, "most_elements", 0)))
            findings = check_on_device(session, self.task, cases, at_once)
            if self.target.measures_time:
                findings.rehearse_s = self._rehearse(session, self._exams_of(material))
            observed = self._profiled(session, material, device) if self.settings.profiler else ()
            if session.compile_s > self.settings.build_timeout_s:
                limit = f"evaluator.build_timeout_s={self.settings.build_timeout_s:g}"
                raise Failed(Status.BUILD_TIMEOUT, f"its first calls compiled for {session.compile_s:.1f} s: {limit}")
            if self.target.measures_time:
                findings.static, findings.observed = self._static(artifact, session), observed
        except BaseException:
            session.close()
            raise
        findings.compile_s = session.compile_s
        self._keep(artifact, device, session)
        return findings

    def counted(self, artifact: Artifact, material: Material, device: int) -> tuple[str, ...]:
        """Returns what hardware counters tell of one call at a timed size; nothing where none can be read.

        Nothing is timed on the device meanwhile, and whatever the kernel does has no consequence.

        Raises:
            SandboxError: The process cannot be confined.
        """
        if self._counters is None:
            return ()
        pool, environment = self._exams_of(material)[0].pool, self.target.environment(device)
        with self._turns(device).alone():
            return self._counters.count(artifact, self.task, pool.entries[0].inputs, pool.workload.axes, environment)

    def _static(self, artifact: Artifact, session: DeviceSession) -> Callable[[], Metrics]:
        """Has the binaries read: those in the object, or those that Triton compiled meanwhile.

        A disassembler takes 0.7 s on an H200's host, while the kernel can be timed.
        """
        if artifact.kind == "shared_object":
            return self._helpers.submit(object_metrics, artifact.path, self.target.arch).result
        read = compiled_metrics(Path(session.folder.name) / "triton", self.target.arch)
        return self._helpers.submit(read).result

    def contest(
        self, first: Artifact, second: Artifact, material: Material, device: int, rng: np.random.Generator
    ) -> Contest:
        """Times two artifacts against each other, each in a worker of its own, alone on the device.

        Raises:
            Failed: The first did something that ends it.
            Rival: The second did.
            FitnessError: The machine failed.
        """
        exams = self._exams_of(material)
        with self._lock:
            checked = self._checked.pop((first.path, device), None)
        with ExitStack() as stack:
            one = stack.enter_context(self._dismissed(checked or self._load(first, device)))
            self._rehearse(one, exams)  # nobody must wait while it compiles
            stack.enter_context(self._turns(device).alone())
            try:
                other = self._baseline(second, device)
                rehearse(other, exams, self._is_cold)
            except Failed as failure:
                self._drop_baseline(second, device)
                raise Rival(failure) from failure
            for session in (one, other):  # the wait for the device is over and not theirs
                session.limit(self.settings.run_timeout_s + self.settings.time_limit_s + START_S)
            watch = DeviceStopwatch((one, other), self.settings.precision, self._is_cold, self._look(device))
            share_s = self.settings.time_limit_s / len(exams)
            try:
                series = tuple(watch.measure(exam, share_s, rng) for exam in exams)
            except Failed as failure:
                if watch.failed_side == 1:
                    self._drop_baseline(second, device)
                    raise Rival(failure) from failure
                raise
            return Contest(
                series,
                one.max_rel_error,
                False,
                frozenset(one.flags),
                judge=_judging(one, other),
                observed=summary(watch.seen, watch.repeated),
            )

    @contextmanager
    def _dismissed(self, session: DeviceSession) -> Iterator[DeviceSession]:
        """Ends a worker after its last use, without waiting for that."""
        try:
            yield session
        finally:
            try:
                self._helpers.submit(session.close)
            except RuntimeError:  # all this is being closed
                session.close()

    def trust(self, artifact: Artifact, device: int) -> None:
        """Lets later workers begin with what Triton built to launch a checked kernel, which must be the seed.

        Up to version 3.6 that takes a C compiler a third of a second for each kind of signature, and candidates
        mostly keep the seed's. What another candidate's process left behind would be code of its own making.
        """
        with self._lock:
            session = self._checked.get((artifact.path, device))
        if session is not None:
            self._workers.adopt(Path(session.folder.name) / "triton")

    def _look(self, device: int) -> Callable[[], Conditions | None]:
        conditions = getattr(self.target, "conditions", None)
        return lambda: conditions(device) if conditions is not None else None

    def _rehearse(self, session: DeviceSession, exams: Sequence[Exam]) -> float:
        """Returns the seconds that it takes beside compiling."""
        session.limit(self.settings.build_timeout_s + self.settings.run_timeout_s)
        start, compiled_s = time.monotonic(), session.compile_s
        rehearse(session, exams, self._is_cold)
        return time.monotonic() - start - (session.compile_s - compiled_s)

    def _profiled(self, session: DeviceSession, material: Material, device: int) -> tuple[str, ...]:
        with self._turns(device).together():
            session.limit(self.settings.build_timeout_s + self.settings.run_timeout_s)
            return profiled(session, self._exams_of(material)[0])

    @property
    def _is_cold(self) -> bool:
        return self.settings.cache_regime == "cold"

    def _turns(self, device: int) -> Turns:
        # By what the driver calls it: two runs with a GPU each have both a device 0.
        shown = self.target.environment(device)
        name = next((value for key, value in shown.items() if key.endswith("VISIBLE_DEVICES")), device)
        return Turns(f"{self.target.name}-{name}")

    def _exams_of(self, material: Material) -> tuple[Exam, ...]:
        with self._lock:
            if self._exams is None or self._exams[0] is not material:
                self._exams = material, tuple(Exam.prepare(self.task, pool) for pool in material.pools)
            return self._exams[1]

    def peaks(self) -> tuple[float, float]:
        """Returns measured bytes and floating-point operations a second of the first device."""
        with self._workers.start(0) as session, self._turns(0).alone():
            answer, _ = session.process.request({"command": "peaks"})
            peaks = {str(name): float(value) for name, value in answer["peaks"].items()}
            return peaks["bytes_per_s"], max(value for name, value in peaks.items() if name.startswith("flops"))

    # ---- workers ------------------------------------------------------------------------------------------

    def _load(self, artifact: Artifact, device: int) -> DeviceSession:
        session = self._workers.next(device)
        session.limit(self.settings.build_timeout_s + self.settings.run_timeout_s)
        try:
            session.load(artifact)
        except BaseException:
            session.close()
            raise
        return session

    def _keep(self, artifact: Artifact, device: int, session: DeviceSession) -> None:
        """Keeps a checked candidate's worker for its timing; the oldest go when there are too many."""
        if not self.target.measures_time:
            session.close()
            return
        with self._lock:
            before = self._checked.pop((artifact.path, device), None)
            self._checked[artifact.path, device] = session
            surplus = [self._checked.popitem(last=False)[1] for _ in range(len(self._checked) - _KEPT)]
        for each in [before, *surplus]:
            if each is not None:
                each.close()

    def _baseline(self, artifact: Artifact, device: int) -> DeviceSession:
        """Returns the worker of a correct kernel, which stays for the next contest; the caller is alone on the device.

        The first, the seed's, stays for good, and one other.
        """
        with self._lock:
            found = self._baselines.get((artifact.path, device))
            here = [key for key in self._baselines if key[1] == device]
            surplus = [self._baselines.pop(key) for key in here[1:]] if found is None else []
        for each in surplus:
            each.close()
        if found is None:
            found = self._load(artifact, device)
            with self._lock:
                self._baselines[artifact.path, device] = found
        return found

    def _drop_baseline(self, artifact: Artifact, device: int) -> None:
        with self._lock:
            found = self._baselines.pop((artifact.path, device), None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Ends all workers."""
        with self._lock:
            sessions = [*self._checked.values(), *self._baselines.values()]
            self._baselines = {}
            self._checked.clear()
        for session in sessions:
            session.close()
        self._helpers.shutdown()
        self._workers.close()


def _judging(one: DeviceSession, other: DeviceSession) -> Callable[[], float]:
    """Returns what judges the outputs of both, when others may be timed already."""

    def judge() -> float:
        try:
            other.judge_kept()
        except Failed as failure:
            raise Rival(failure) from failure
        return one.judge_kept()

    return judge
