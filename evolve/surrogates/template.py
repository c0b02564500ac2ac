"""Kernels that differ in their tunables only, as points of a space."""

from __future__ import annotations

import math
from typing import Protocol

from fitness import Kernel, Restricted, Task
from operators import TunableError, Tunables

from .tuning_space import Configuration, TuningSpace


class Template(Protocol):
    """A kernel with places for parameters.

    Attributes:
        space: The parameters, and which combinations exist.
    """

    space: TuningSpace

    def read(self, kernel: Kernel) -> Configuration | None:
        """Returns the configuration of a kernel, or None when more differs than the parameters."""
        ...

    def write(self, configuration: Configuration) -> Kernel:
        """Returns the kernel of a configuration."""
        ...


class DeclaredTunables:
    """A kernel whose source declares its parameters; see `operators.Tunables`.

    Args:
        kernel: The kernel.
        task: Says which settings exist, if it is a `fitness.Restricted`; else the kernel's own constraints do.

    Raises:
        TunableError: A declaration is malformed, there is none, or no setting is allowed.
    """

    def __init__(self, kernel: Kernel, task: Task | None = None) -> None:
        self._kernel = kernel
        self._tunables = Tunables.read(kernel.source)
        self.space = _space(self._tunables, task)

    def read(self, kernel: Kernel) -> Configuration | None:
        """Returns the values of a kernel's tunables if all else is as in this one, and the values are allowed."""
        try:
            values = Tunables.read(kernel.source).values
            same = self._tunables.with_values(values) == kernel.source
        except TunableError:
            return None
        configuration = tuple(values.values())
        allowed = [value in choices for value, choices in zip(configuration, self.space.values, strict=same)]
        return configuration if same and all(allowed) else None

    def write(self, configuration: Configuration) -> Kernel:
        """Returns this kernel with other values."""
        setting = dict(zip(self.space.names, configuration, strict=True))
        return Kernel(self._tunables.with_values(setting), self._kernel.language, self._kernel.entry_point)


def _space(tunables: Tunables, task: Task | None) -> TuningSpace:
    choices = tunables.choices
    if math.prod(map(len, choices.values())) < 2:
        raise TunableError("the kernel declares no tunables, or leaves no choice among their values")
    if isinstance(task, Restricted) and choices == task.parameters:
        return TuningSpace(choices, levels=task.levels)
    try:
        return TuningSpace(choices, is_valid=tunables.allows if tunables.constraints else None)
    except ValueError as error:
        raise TunableError(f"the constraints of the kernel's tunables allow no setting ({error})") from error


def declared(kernel: Kernel, task: Task | None) -> Template:
    """Returns the template of a kernel that declares tunables.

    Raises:
        TunableError: It does not, or not well.
    """
    return DeclaredTunables(kernel, task)
