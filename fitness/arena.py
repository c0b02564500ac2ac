"""The memory that the parent shares with a runner: one sealed region, with the buffers of every call and guards."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import MachineError, TaskError
from .native import FLOAT32, FLOAT64, MAX_ARGUMENTS, MAX_BUFFERS, RAW, Plan
from .task import Task, Workload

_GUARD = 256
_ALIGNMENT = 64
_PAGE = 4096
_STAGGER = 2112  # keeps equal indices of an input and an output apart in the low twelve bits of their addresses


class Arena:
    """A region of memory that neither side can resize: truncating it would kill whoever reads it.

    Attributes:
        fd: Its descriptor, to be handed to the runner.
        bytes: Its size.
        address: Of this process's mapping.
    """

    def __init__(self, size_bytes: int) -> None:
        self.bytes = -(-size_bytes // _PAGE) * _PAGE + _PAGE  # the last page is the runner's, for notes
        self.fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, self.bytes)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._memory = mmap.mmap(self.fd, self.bytes)
        except OSError as error:
            os.close(self.fd)
            raise MachineError(f"no shared memory for an evaluation ({error.strerror or error})") from error
        self._view = np.frombuffer(self._memory, dtype=np.uint8)
        self.address = int(self._view.ctypes.data)

    @property
    def was_refused_memory(self) -> bool:
        """Whether the runner noted that an allocation failed."""
        return bool(self._view[self.bytes - _PAGE])

    def copy(self, offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Returns a copy of what lies at ``offset``, as an array."""
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return self._view[offset : offset + count].copy().view(dtype).reshape(shape)

    def gather(self, spans: Sequence[tuple[int, int]], dtype: str) -> NDArray[Any]:
        """Returns a copy of the bytes of several ``(start, stop)`` spans, one after the other."""
        return np.concatenate([self._view[start:stop] for start, stop in spans]).view(dtype)

    def close(self) -> None:
        """Gives the memory back."""
        del self._view
        self._memory.close()
        os.close(self.fd)


def plan_of(task: Task, workload: Workload) -> Plan:
    """Lays out one set of a workload's buffers, in the kernel's order; `place` says where sets of it begin.

    Raises:
        TaskError: The task has more buffers or axes than a kernel call can have.
    """
    specs = [(spec, False) for spec in task.inputs.values()] + [(spec, True) for spec in task.outputs.values()]
    if len(specs) > MAX_BUFFERS or len(specs) + len(task.axes) > MAX_ARGUMENTS:
        raise TaskError(f"task {task.name!r} has more than {MAX_BUFFERS} buffers or {MAX_ARGUMENTS} arguments")
    plan = Plan(sets=1, buffers=len(specs), extents=len(task.axes))
    at = [_GUARD, _GUARD]
    for index, (spec, is_output) in enumerate(specs):
        dtype = np.dtype(spec.dtype)
        size = int(np.prod(spec.extent(workload.axes), dtype=np.int64)) * dtype.itemsize
        element = {"float32": FLOAT32, "float64": FLOAT64}.get(dtype.name, RAW)
        plan.buffer[index].offset, plan.buffer[index].bytes = at[is_output], size
        plan.buffer[index].is_output, plan.buffer[index].element = int(is_output), element
        at[is_output] = _round_up(at[is_output] + size + _GUARD, _ALIGNMENT)
    for index, axis in enumerate(task.axes):
        plan.extent[index] = workload.axes[axis]
    plan.stride[0], plan.stride[1] = at
    return plan


def place(plans: Sequence[Plan], origin: int) -> tuple[int, int]:
    """Gives the sets of all ``plans`` their places from ``origin``, a multiple of the page, on.

    Returns:
        Where the inputs end, on whole pages of their own, and where everything ends.
    """
    at = origin
    for plan in plans:
        plan.origin[0] = at
        at += plan.stride[0] * plan.sets
    inputs_end = _round_up(at, _PAGE)
    at = inputs_end + _STAGGER
    for plan in plans:
        plan.origin[1] = at
        at += plan.stride[1] * plan.sets
    return inputs_end, at


def table_bytes(task: Task, calls: int) -> int:
    """Returns the room for the argument lists of ``calls`` calls, at the start of an arena."""
    width = len(task.inputs) + len(task.outputs) + len(task.axes)
    return _round_up(8 * width * calls, _PAGE)


def sources_of(task: Task, entries: Sequence[Mapping[str, NDArray[Any]]]) -> ctypes.Array[ctypes.c_void_p]:
    """Returns pointers to the inputs of every entry, in the kernel's order; the entries must outlive it."""
    pointers = [entry[name].ctypes.data for entry in entries for name in task.inputs]
    return (ctypes.c_void_p * max(1, len(pointers)))(*pointers)


def copy_outputs(task: Task, workload: Workload, plan: Plan, arena: Arena, index: int = 0) -> dict[str, NDArray[Any]]:
    """Copies the outputs of one set out of the arena."""
    first = len(task.inputs)
    start = plan.origin[1] + plan.stride[1] * index
    return {
        name: arena.copy(start + plan.buffer[first + i].offset, spec.dtype, spec.extent(workload.axes))
        for i, (name, spec) in enumerate(task.outputs.items())
    }


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
