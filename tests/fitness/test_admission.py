"""All shipped tasks are fit for search; degenerate ones are refused with the reason."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from fitness import TensorSpec, tasks
from fitness.admission import admit

SHIPPED = [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"]
SIZES = ({"M": 64, "N": 64},)
CHECKS = ({"M": 3, "N": 5}, {"M": 31, "N": 33}, {"M": 65, "N": 63})


def rng():
    return np.random.default_rng(7)


@dataclass(frozen=True)
class Degenerate(tasks.TensorTask):
    """Sound on purpose; the members below break one thing each."""

    name: ClassVar[str] = "degenerate"
    description: ClassVar[str] = "Twice x plus the bias."
    axes: ClassVar[tuple[str, ...]] = ("M", "N")
    inputs: ClassVar[dict[str, TensorSpec]] = {
        "x": TensorSpec("float32", ("M", "N")),
        "bias": TensorSpec("float32", ("M", "N")),
    }
    outputs: ClassVar[dict[str, TensorSpec]] = {"y": TensorSpec("float32", ("M", "N"))}
    time_sizes: tuple = SIZES
    check_sizes: tuple = CHECKS

    def reference(self, inputs):
        return {"y": 2.0 * inputs["x"].astype(np.float64) + inputs["bias"].astype(np.float64)}

    def tolerance(self, inputs, expected):
        return {"y": 1e-6 * (np.abs(expected["y"]) + np.abs(inputs["x"].astype(np.float64)))}


class ConstantOutput(Degenerate):
    """The seventh column of KernelBench's degenerate tasks: the work cannot matter."""

    def reference(self, inputs):
        y = super().reference(inputs)["y"]
        return {"y": 3.0 + 0.0 * y}


class IgnoresBias(Degenerate):
    def reference(self, inputs):
        return {"y": 2.0 * inputs["x"].astype(np.float64)}


class ReadsFirstHalfOnly(Degenerate):
    def reference(self, inputs):
        x = inputs["x"].astype(np.float64)
        half = np.resize(x.ravel()[: (x.size + 1) // 2], x.shape)
        return {"y": half + inputs["bias"].astype(np.float64)}


class NearlyIdentity(Degenerate):
    def reference(self, inputs):
        x, bias = inputs["x"].astype(np.float64), inputs["bias"].astype(np.float64)
        return {"y": x + 1e-13 * bias}


class NotFinite(Degenerate):
    def reference(self, inputs):
        with np.errstate(divide="ignore"):
            return {"y": super().reference(inputs)["y"] + np.where(inputs["x"] < 0, np.nan, 0.0)}


class NegativeTolerance(Degenerate):
    def tolerance(self, inputs, expected):
        return {"y": -super().tolerance(inputs, expected)["y"]}


class Chaotic(Degenerate):
    """Thirty-five turns of the logistic map: one ulp decides everything."""

    def reference(self, inputs):
        value = 0.5 + 0.4 * np.sin(super().reference(inputs)["y"])
        for _ in range(35):
            value = 3.99 * value * (1.0 - value)
        return {"y": value}

    def tolerance(self, inputs, expected):
        return {"y": 1e-6 * np.abs(expected["y"])}


class ConstantRows(Degenerate):
    def reference(self, inputs):
        y = super().reference(inputs)["y"]
        return {"y": np.repeat(y.sum(axis=1, keepdims=True), y.shape[1], axis=1)}


class ColumnOffset(Degenerate):
    """A tolerance in proportion to the largest output, as some harnesses have it."""

    def tolerance(self, inputs, expected):
        return {"y": np.full_like(expected["y"], 1e-2 * np.abs(expected["y"]).max())}


class Inplace(Degenerate):
    def reference(self, inputs):
        inputs["x"] *= np.float32(2.0)
        return {"y": inputs["x"].astype(np.float64) + inputs["bias"]}


class WrongShape(Degenerate):
    def reference(self, inputs):
        return {"y": super().reference(inputs)["y"][:, :1]}


class Unsteady(Degenerate):
    calls: ClassVar[list[int]] = []

    def reference(self, inputs):
        self.calls.append(1)
        return {"y": super().reference(inputs)["y"] + len(self.calls)}


@dataclass(frozen=True)
class LooseSoftmax(tasks.Softmax):
    """Rows of 393,216 elements and atol 1e-4: every correct output is smaller than the tolerance."""

    time_sizes: tuple = ({"M": 2, "N": 393_216},)

    @property
    def time_workloads(self):
        return tuple(dataclasses.replace(each, distribution="positive") for each in super().time_workloads)

    def tolerance(self, inputs, expected):
        return {"y": np.full((1, 1), 1e-4)}


@pytest.mark.parametrize("task", SHIPPED, ids=lambda each: each.name)
def test_shipped_tasks_are_admitted(task):
    assert () == admit(task(), rng()).reasons


@pytest.mark.parametrize("task", [tasks.Bucketize, tasks.MultiBucketize, tasks.Conv1d], ids=lambda each: each.name)
def test_the_verdict_does_not_hang_on_the_draw(task):
    assert {True} == {admit(task(), np.random.default_rng(seed)).admitted for seed in range(1, 4)}


@dataclass(frozen=True)
class Scaled(Degenerate):
    """With one number beside a matrix."""

    inputs: ClassVar[dict[str, TensorSpec]] = {**Degenerate.inputs, "scale": TensorSpec("float32", (1,))}

    def reference(self, inputs):
        return {"y": inputs["scale"].astype(np.float64) * super().reference(inputs)["y"]}

    def tolerance(self, inputs, expected):
        return {"y": 1e-5 * (1 + np.abs(inputs["scale"].astype(np.float64)) * np.abs(expected["y"]))}


class ForgetsScale(Scaled):
    def reference(self, inputs):
        return Degenerate.reference(self, inputs)


def test_an_input_of_one_number_matters_or_does_not():
    assert () == admit(Scaled(), rng()).reasons
    refused = {check.name for check in admit(ForgetsScale(), rng()).checks if not check.passed}
    assert {"input matters: scale", "half of input matters: scale"} == refused


def test_the_sound_example_is_admitted():
    assert () == admit(Degenerate(), rng()).reasons


REFUSALS = [
    (LooseSoftmax, "zeros fail", "within tolerance at time-2x393216"),
    (ConstantOutput, "constants fail", "within tolerance at time-64x64"),
    (ConstantOutput, "input matters: x", "within tolerance at time-64x64"),
    (IgnoresBias, "input matters: bias", "within tolerance at time-64x64"),
    (ReadsFirstHalfOnly, "half of input matters: x", "within tolerance at time-64x64"),
    (NearlyIdentity, "inputs passed through fail", "within tolerance at time-64x64"),
    (NotFinite, "finite", "y or its tolerance is not finite"),
    (NegativeTolerance, "finite", "the tolerance is negative"),
    (Chaotic, "well conditioned", "one ulp in the inputs moves y by"),
    (ConstantRows, "outputs spread", "y hardly varies along axis 1"),
    (ColumnOffset, "coarser inputs fail", "within tolerance at time-64x64"),
    (Inplace, "repeatable reference", "the reference changes its inputs"),
    (WrongShape, "declared shapes", "output y is float64(64, 1), declared float32(64, 64)"),
    (Unsteady, "repeatable reference", "another answer to the same inputs"),
]


@pytest.mark.parametrize(("task", "check", "reason"), REFUSALS, ids=lambda each: getattr(each, "__name__", None))
def test_degenerate_tasks_are_refused_with_the_reason(task, check, reason):
    admission = admit(task(), rng())
    assert not admission.admitted
    assert reason in {each.name: each.reason for each in admission.checks if not each.passed}.get(check, "not refused")
