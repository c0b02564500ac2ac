"""What every `fitness.Task` must do. Inherit from `TaskSuite` and supply the task as a fixture."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fitness import Cost, Kernel, TaskError


def stream(seed=0):
    return np.random.default_rng(seed)


class TaskSuite:
    """Behaviour that the evaluator, the operators and the reports rely on."""

    @pytest.fixture
    def task(self):
        raise NotImplementedError

    @pytest.fixture
    def workloads(self, task):
        return [*task.check_workloads, *task.time_workloads, *task.hidden_workloads(stream())]

    def test_it_is_described_for_people_and_models(self, task):
        assert len(task.description) > 40
        assert task.description.isprintable()

    def test_axes_name_every_symbol_of_the_shapes(self, task):
        specs = [*task.inputs.values(), *task.outputs.values()]
        assert set(task.axes) == {axis for spec in specs for axis in spec.shape if isinstance(axis, str)}

    def test_workloads_give_every_axis_a_size(self, task, workloads):
        assert {frozenset(task.axes)} == {frozenset(workload.axes) for workload in workloads}
        assert min(size for workload in workloads for size in workload.axes.values()) >= 1

    def test_workload_names_differ(self, workloads):
        assert len(workloads) == len({workload.name for workload in workloads})

    def test_check_sizes_include_the_awkward_ones(self, task):
        sizes = {size for workload in task.check_workloads for size in workload.axes.values()}
        assert 1 in sizes
        assert any(size % 2 for size in sizes - {1})
        assert len({workload.distribution for workload in task.check_workloads}) >= 3

    def test_timed_sizes_are_not_only_the_checked_ones(self, task):
        checked = [dict(workload.axes) for workload in task.check_workloads]
        assert [] == [workload.name for workload in task.time_workloads if dict(workload.axes) in checked]

    def test_hidden_workloads_follow_the_stream(self, task):
        assert list(task.hidden_workloads(stream(1))) == list(task.hidden_workloads(stream(1)))
        assert list(task.hidden_workloads(stream(1))) != list(task.hidden_workloads(stream(2)))

    def test_inputs_are_as_declared(self, task, workloads):
        for workload in workloads:
            inputs = task.make_inputs(workload, stream())
            declared = {name: (spec.dtype, spec.extent(workload.axes)) for name, spec in task.inputs.items()}
            assert declared == {name: (str(value.dtype), value.shape) for name, value in inputs.items()}
            assert list(task.inputs) == list(inputs)
            assert all(value.flags.c_contiguous and np.isfinite(value).all() for value in inputs.values())

    def test_inputs_follow_the_stream(self, task):
        workload = task.time_workloads[0]
        one, same, other = (task.make_inputs(workload, stream(seed)) for seed in (1, 1, 2))
        assert all(np.array_equal(one[name], same[name]) for name in one)
        assert all(not np.array_equal(one[name], other[name]) for name in one)

    def test_the_reference_answers_in_float64_or_exactly(self, task, workloads):
        for workload in workloads:
            expected = task.reference(task.make_inputs(workload, stream()))
            assert {n: s.extent(workload.axes) for n, s in task.outputs.items()} == {
                n: v.shape for n, v in expected.items()
            }
            kinds = {str(value.dtype) for value in expected.values()}
            assert kinds <= {"float64", *(spec.dtype for spec in task.outputs.values() if "int" in spec.dtype)}

    def test_tolerances_fit_the_outputs(self, task, workloads):
        for workload in workloads:
            inputs = task.make_inputs(workload, stream())
            expected = task.reference(inputs)
            for name, tolerance in task.tolerance(inputs, expected).items():
                assert expected[name].shape == np.broadcast_shapes(tolerance.shape, expected[name].shape)
                assert np.isfinite(tolerance).all()
                assert (tolerance >= 0).all()

    def test_costs_are_plain_floats(self, task, workloads):
        for workload in workloads:
            cost = task.cost(workload)
            assert (Cost, float, float) == (type(cost), type(cost.flops), type(cost.bytes))
            assert cost.flops >= 0
            assert cost.bytes > 0

    def test_bytes_count_no_tensor_twice_and_every_output(self, task):
        workload = task.time_workloads[0]
        sizes = {
            name: np.prod(spec.extent(workload.axes)) * np.dtype(spec.dtype).itemsize
            for name, spec in {**task.inputs, **task.outputs}.items()
        }
        written = sum(sizes[name] for name in task.outputs)
        assert written <= task.cost(workload).bytes <= sum(sizes.values())

    def test_it_has_a_seed_kernel_in_cpp(self, task):
        kernel = task.seed_kernel("cpp")
        assert (Kernel, "cpp", "kernel") == (type(kernel), kernel.language, kernel.entry_point)
        assert 'extern "C" void kernel(' in kernel.source

    def test_an_unknown_language_has_no_seed(self, task):
        with pytest.raises(TaskError, match=f"{task.name} has no seed kernel in 'cobol'"):
            task.seed_kernel("cobol")

    def test_it_can_be_shipped_to_another_process(self, task):
        assert task == pickle.loads(pickle.dumps(task))
        assert repr(task) == repr(copy.deepcopy(task))
