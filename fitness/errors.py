"""Faults of the machine or of the problem. A bad kernel is a `Status`, never one of these.

* FitnessError
  x TaskError              the task itself is wrong: its seed kernel or its reference fails
  x ToolchainError         a compiler or module is missing or broken here
  x SandboxError           a sandboxed process could not be set up
  x MachineError           a full disk, a killed worker, a machine too busy to time
  x TargetError
    + TargetUnavailable    the hardware is absent or fails its probe
    + TargetLost           the hardware died through no fault of the candidate
"""

from __future__ import annotations


class FitnessError(Exception):
    """Base of everything that `fitness` raises for a fault that is not the kernel's."""


class TaskError(FitnessError, ValueError):
    """The task is unusable: its reference, its seed kernel or its description is wrong."""


class ToolchainError(FitnessError):
    """A compiler or a module that a language needs is missing or broken here."""


class SandboxError(FitnessError):
    """A sandboxed process could not be started, for a reason outside the candidate."""


class MachineError(FitnessError):
    """The machine failed in the middle: disk full, worker killed from outside, too busy to time."""


class TargetError(FitnessError):
    """A hardware target cannot be used."""


class TargetUnavailable(TargetError):
    """The hardware is not here, or it fails its probe."""


class TargetLost(TargetError):
    """The hardware was lost during an evaluation through no fault of the candidate."""
