"""Jobs spread over the nodes of a Ray cluster; a node that is lost costs time and no result."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from ..errors import MachineError, TargetUnavailable
from .cluster import connected, last_line, library
from .station import Station

_LOG = logging.getLogger("kernelwright.fitness")
_MOST_THREADS = 1024
_POLL_S = 0.5
_PATIENCE_S = 60.0
_END_S = 5.0
_LOSSES = 3
Result = TypeVar("Result")


@dataclass(eq=False)
class _Node:
    """A node of the cluster with our station on it."""

    id: str
    host: str
    workers: int
    station: Any
    ready: Any
    lost: bool = False


@dataclass(frozen=True)
class _Owners:
    """What was sent to the cluster: the objects whose methods are called."""

    objects: list[Any] = field(default_factory=list)
    references: list[Any] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, owner: Any) -> tuple[int, list[Any]]:
        """Returns the number of an object and a reference to it.

        Raises:
            TargetUnavailable: It cannot be pickled.
        """
        ray = library()
        with self.lock:
            for number, known in enumerate(self.objects):
                if known is owner:
                    return number, [self.references[number]]
            try:
                reference = ray.put(owner)
            except TypeError as error:
                line = str(error).partition("\n")[0]
                raise TargetUnavailable(f"executor=ray sends its jobs to other processes: {line}") from error
            self.objects.append(owner)
            self.references.append(reference)
            return len(self.objects) - 1, [reference]


class Ray:
    """Slots on every node of a Ray cluster, also on nodes that join later.

    A node is taken whole: its processors are reserved, so that two runs do not time kernels on it at once. A job
    whose node is lost is given to another one; only answers count, so nothing is lost and nothing counted twice.
    Speedups are ratios taken on one node, but the scale of latencies and the noise floor are measured once, so
    the nodes should be alike.

    Args:
        address: Of the cluster's head, ``"host:port"``; None for ``$RAY_ADDRESS``, for the cluster that this machine
            belongs to, or else for a new one on this machine.
        workers: Jobs at once on each node; None for one a processor, or one a device.
        devices: Devices of each node that the slots own, one each.
        gpus: GPUs of each node that are reserved; nodes with fewer are left alone.

    Attributes:
        workers: How many jobs run at once on the nodes that are there.

    Raises:
        ValueError: ``workers`` or ``gpus`` is out of range, or ``devices`` is empty.
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, devices: Sequence[int] = (0,), gpus: int = 0
    ) -> None:
        if (workers is not None and workers < 1) or not devices or gpus < 0:
            raise ValueError(f"executor.workers must be at least 1, with at least one device; it is {workers}")
        self._address, self._wanted, self._devices, self._gpus = address, workers, tuple(devices), gpus
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="evaluation")
        self._slots: queue.SimpleQueue[_Node] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._nodes: dict[str, _Node] = {}
        self._starting: dict[str, _Node] = {}
        self._refused: dict[str, str] = {}
        self._owners = _Owners()
        self._connection = contextlib.ExitStack()
        self._ending = False

    @property
    def workers(self) -> int:
        """Slots on the nodes that are there."""
        return sum(node.workers for node in self._nodes.values())

    def submit(self, job: Callable[..., Result], *args: Any) -> Future[Result]:
        """Schedules ``job(*args, device=…)`` on the next free slot of any node.

        The future raises what the job raises; `MachineError` when it lost several nodes one after the other; and
        `TargetUnavailable` when no node is left.

        Raises:
            TargetUnavailable: The job cannot be sent to another process.
        """
        owner = getattr(job, "__self__", None)
        number, reference = self._owners.send(job if owner is None else owner)
        method = "" if owner is None else getattr(job, "__name__", "")
        return self._threads.submit(self._run, number, reference, method, args)

    def _run(self, number: int, owner: Sequence[Any], method: str, args: tuple[Any, ...]) -> Any:
        ray = library()
        for _ in range(_LOSSES):
            node = self._free_slot()
            try:
                ended, outcome = ray.get(node.station.run.remote(number, owner, method, args))
            except ray.exceptions.RayTaskError as error:
                self._slots.put(node)
                raise MachineError(f"a job failed on node {node.host}: {last_line(error)}") from error
            except ray.exceptions.RayError as error:
                self._lose(node, error)
                continue
            self._slots.put(node)
            if ended:
                return outcome
            raise outcome
        raise MachineError(f"{_LOSSES} nodes were lost one after the other under the same job")

    def _free_slot(self) -> _Node:
        """Waits for a slot.

        Raises:
            TargetUnavailable: There is no node that could have one.
        """
        alone_since_s = time.monotonic()
        while True:
            with contextlib.suppress(queue.Empty):
                node = self._slots.get(timeout=_POLL_S)
                if not node.lost:
                    return node
                continue
            if self._ending:
                raise TargetUnavailable("the executor has ended")
            self._enlist()
            if self._nodes or self._starting:
                alone_since_s = time.monotonic()
            elif self._refused or time.monotonic() - alone_since_s > _PATIENCE_S:
                raise TargetUnavailable(self._why_none())

    def _why_none(self) -> str:
        """Returns what to do when no node serves."""
        if self._refused:
            return f"no node of the Ray cluster can run evaluations: {next(iter(self._refused.values()))}"
        what = f"GPUs (wanted: {self._gpus})" if self._gpus else "a processor"
        return f"the Ray cluster has no node with {what}; start one with `ray start --address=…`, see `ray status`"

    def _enlist(self) -> None:
        """Asks new nodes for their service, and takes those into it that have answered."""
        ray = library()
        with self._lock:
            if self._ending:
                return
            for told in ray.nodes():
                known = {*self._nodes, *self._starting, *self._refused}
                if told["Alive"] and told["NodeID"] not in known and _serves(told, self._gpus):
                    self._starting[told["NodeID"]] = self._station(told)
            for node in list(self._starting.values()):
                self._take(node)

    def _station(self, told: dict[str, Any]) -> _Node:
        """Asks a node to start a station, without waiting."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        processors = int(told["Resources"]["CPU"])
        workers = self._wanted or max(processors, len(self._devices))
        options = {
            "num_cpus": processors,
            "num_gpus": self._gpus,
            "max_concurrency": workers + 2,  # also for who asks whether it is ready, or to end
            "scheduling_strategy": NodeAffinitySchedulingStrategy(told["NodeID"], soft=False),
        }
        station = library().remote(Station).options(**options).remote(workers, self._devices)
        host = f"{told['NodeManagerHostname']} ({told['NodeID'][:8]})"
        return _Node(told["NodeID"], host, workers, station, station.ready.remote())

    def _take(self, node: _Node) -> None:
        """Gives out the slots of a node that has answered; the caller holds the lock."""
        ray = library()
        if not ray.wait([node.ready], timeout=0)[0]:
            return
        del self._starting[node.id]
        try:
            ray.get(node.ready)
        except ray.exceptions.ActorUnschedulableError:
            return  # it was lost in the meantime
        except ray.exceptions.RayError as error:
            if any(told["Alive"] and told["NodeID"] == node.id for told in ray.nodes()):
                self._refused[node.id] = f"{node.host}: {last_line(error)}"
                _LOG.warning("node %s cannot run evaluations: %s", node.host, last_line(error))
            return
        self._nodes[node.id] = node
        _LOG.info("node %s serves, number of its slots: %d", node.host, node.workers)
        for _ in range(node.workers):
            self._slots.put(node)

    def _lose(self, node: _Node, error: Exception) -> None:
        """Takes a node out of service; it may come back.

        Raises:
            TargetUnavailable: Everything is ending, and this node with it.
        """
        ray = library()
        if self._ending:
            raise TargetUnavailable("the executor has ended") from error
        with self._lock:
            if node.lost:
                return
            node.lost = True
            self._nodes.pop(node.id, None)
        _LOG.warning("node %s was lost, its jobs go to others: %s", node.host, last_line(error))
        with contextlib.suppress(Exception):
            ray.kill(node.station)

    def __enter__(self) -> Self:
        """Connects to the cluster, and asks its nodes for their service.

        Raises:
            ToolchainError: Ray is not installed.
            TargetUnavailable: There is no cluster at the address.
        """
        self._connection.enter_context(connected(self._address))
        self._enlist()
        return self

    def __exit__(self, *exc: object) -> None:
        """Drops what has not begun; what has is waited for or, when an exception leads here, killed."""
        ray = library()
        is_urgent = bool(exc) and exc[0] is not None
        if not is_urgent:
            self._threads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._ending = True
            stations = [node.station for node in (*self._nodes.values(), *self._starting.values())]
        with contextlib.suppress(Exception):
            serving = [node.station.end.remote() for node in self._nodes.values()]
            ray.wait(serving, num_returns=len(serving), timeout=_END_S)
        for station in stations:
            with contextlib.suppress(Exception):
                ray.kill(station)
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._connection.close()


def _serves(told: dict[str, Any], gpus: int) -> bool:
    """Returns whether a node has what a station needs; a head without processors of its own has not."""
    return bool(told["Resources"].get("CPU", 0) >= 1 and told["Resources"].get("GPU", 0) >= gpus)
