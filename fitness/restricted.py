"""Tasks that know which settings of their kernels' tunables exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Restricted(Protocol):
    """A task for whose kernels only listed settings of the tunables exist; operators propose no others.

    Attributes:
        parameters: The values of each tunable, as they stand in a source.
        levels: ``(num_settings, num_parameters)`` the settings that exist: for each the index of every value.
    """

    @property
    def parameters(self) -> Mapping[str, tuple[Any, ...]]: ...  # noqa: D102 - said above
    @property
    def levels(self) -> NDArray[np.int64]: ...  # noqa: D102

    def exists(self, setting: Mapping[str, Any]) -> bool:
        """Whether these values of all tunables exist together."""
        ...
