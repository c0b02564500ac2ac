"""The latest events of each sample of a batch, padded to a fixed number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..task import Arrays, Cost, TensorSpec, Workload
from .rounding import Floats
from .tensor_task import Sizes, TensorTask, float32, float64


@dataclass(frozen=True)
class TruncateEvents(TensorTask):
    """``out[b, w]`` is the w-th of the last ``min(length[b], W)`` events of sample b, or the padding."""

    name: ClassVar[str] = "truncate_events"
    description: ClassVar[str] = (
        "Batch event truncation: sample b has length[b] events (int32, 0 <= length[b] <= L) of D features, oldest "
        "first, in events[b] (L x D; what lies behind them does not count). With n = min(length[b], W): "
        "out[b][w] = events[b][length[b] - n + w] for w < n, and pad[w] for n <= w < W. "
        "Row-major, contiguous; every element is copied exactly."
    )
    axes: ClassVar[tuple[str, ...]] = ("B", "L", "D", "W")
    inputs: ClassVar[Mapping[str, TensorSpec]] = {
        "events": float32("B", "L", "D"),
        "pad": float32("W", "D"),
        "length": TensorSpec("int32", ("B",)),
    }
    outputs: ClassVar[Mapping[str, TensorSpec]] = {"out": float32("B", "W", "D")}
    hidden_limit: ClassVar[int] = 50

    device_sizes: ClassVar[Sizes] = ({"B": 8192, "L": 100, "D": 32, "W": 64}, {"B": 4001, "L": 200, "D": 9, "W": 128})
    time_sizes: Sizes = ({"B": 512, "L": 100, "D": 9, "W": 64}, {"B": 201, "L": 67, "D": 32, "W": 41})
    check_sizes: Sizes = tuple(
        dict(zip(("B", "L", "D", "W"), sizes, strict=True))
        for sizes in (
            (1, 1, 1, 1),
            (1, 127, 1, 63),
            (127, 1, 1, 2),
            (3, 5, 7, 2),
            (9, 8, 3, 11),
            (31, 33, 5, 32),
            (32, 32, 4, 33),
            (17, 64, 1, 64),
            (65, 9, 9, 8),
            (13, 31, 33, 17),
        )
    )

    def make_inputs(self, workload: Workload, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Events and padding from the distribution, lengths uniform from none to all."""
        drawn = super().make_inputs(workload, rng)
        return {**drawn, "length": rng.integers(0, workload.axes["L"] + 1, workload.axes["B"], dtype=np.int32)}

    def reference(self, inputs: Arrays) -> dict[str, Floats]:
        """Exactly."""
        events, pad, length = float64(inputs["events"]), float64(inputs["pad"]), inputs["length"]
        width = len(pad)
        kept = np.minimum(length, width)
        source = (length - kept)[:, None] + np.arange(width)
        taken = np.take_along_axis(events, np.minimum(source, events.shape[1] - 1)[:, :, None], axis=1)
        return {"out": np.where((np.arange(width) < kept[:, None])[:, :, None], taken, pad)}

    def tolerance(self, inputs: Arrays, expected: Arrays) -> dict[str, Floats]:
        """Zero: a copy has no rounding."""
        return {"out": np.zeros((1, 1, 1))}

    def flops(self, axes: Mapping[str, int]) -> float:
        """None."""
        return 0.0

    def cost(self, workload: Workload) -> Cost:
        """Counts what is written; how much must be read depends on the lengths."""
        axes = workload.axes
        return Cost(flops=0.0, bytes=4.0 * axes["B"] * axes["W"] * axes["D"])
