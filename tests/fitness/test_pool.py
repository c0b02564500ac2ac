from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from fitness import Kernel, TensorSpec, Workload
from fitness.compiler import find_compiler
from fitness.native import MEAN, PICKED, WHOLE, driver
from fitness.pool import Pool
from fitness.tasks import MapId, TensorTask

SIZES = ({"N": 100},)


@dataclass(frozen=True)
class Doubled(TensorTask):
    """A task without floats."""

    name: ClassVar[str] = "doubled"
    description: ClassVar[str] = "y = 2 x"
    axes: ClassVar[tuple[str, ...]] = ("N",)
    inputs: ClassVar[dict[str, TensorSpec]] = {"x": TensorSpec("int32", ("N",)), "start": TensorSpec("int64", ("N",))}
    outputs: ClassVar[dict[str, TensorSpec]] = {"y": TensorSpec("int32", ("N",))}

    def make_inputs(self, workload, rng):
        size = workload.axes["N"]
        x = rng.integers(0, 1000, size, dtype=np.int32)
        return {"x": x, "start": np.sort(rng.integers(0, 1000, size, dtype=np.int64))}

    def reference(self, inputs):
        return {"y": 2 * inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"y": np.zeros(1)}

    def flops(self, axes):
        return 0.0

    def seed_kernel(self, language):
        return Kernel("", language)


def blends(task, axes):
    pool = Pool.draw(task, Workload("w", axes, "normal"), np.random.default_rng(0))
    return [pool.plan().buffer[index].blend for index in range(len(task.inputs))]


def test_integers_are_mixed_where_there_are_no_floats_and_stay_sorted():
    assert [PICKED, WHOLE] == blends(Doubled(SIZES, SIZES), {"N": 100})


def test_integers_among_floats_are_left_whole():
    assert [PICKED, MEAN, WHOLE] == blends(MapId(), {"N": 100, "B": 20})


def test_unseen_inputs_are_new_where_they_can_be_mixed_and_never_the_same_twice_in_a_row():
    task = MapId()
    pool = Pool.draw(task, Workload("w", {"N": 100, "B": 20}, "normal"), np.random.default_rng(0))
    drawn = pool.unseen(driver(find_compiler()), 9)
    values, borders, labels = ([each[name].tobytes() for each in drawn] for name in task.inputs)

    assert 9 == len(set(values))
    assert all(one != next_one for one, next_one in pairwise(labels))  # these are left whole
    assert {*labels} == {entry.inputs[[*task.inputs][2]].tobytes() for entry in pool.entries}
    assert all(np.all(np.diff(np.frombuffer(each, np.float32)) >= 0) for each in borders)
