"""The worker in Python, with Triton's interpreter in place of a GPU: everything but the clock is real."""

import ctypes
import gc
import importlib.util
import re
import weakref
from collections import Counter
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fitness import Evaluator, Kernel, Status, tasks
from fitness.device.exam import Exam, Variant
from fitness.languages import Triton
from fitness.pool import Pool
from fitness.targets import Interpret
from fitness.tasks import RowSum

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None,
    reason="torch and triton are not installed",
)

TASK = RowSum(check_sizes=({"M": 1, "N": 1}, {"M": 3, "N": 7}, {"M": 5, "N": 130}))


@pytest.fixture(scope="module")
def evaluator():
    made = Evaluator(TASK, Interpret(most_elements=1000), Triton(), run_timeout_s=60)
    yield made
    made.close()


def judged(evaluator, body, before=""):
    source = f"import torch\n{before}\n\ndef kernel_fn(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return evaluator.evaluate(Kernel(source, "triton", "kernel_fn"), evaluator.calibrate())


def test_the_seed_is_correct_and_not_timed(evaluator):
    evaluation = evaluator.evaluate(TASK.seed_kernel("triton"), evaluator.calibrate())

    assert Status.OK == evaluation.status, evaluation.log
    assert "not_timed" in evaluation.flags
    assert evaluation.latency_us is None


@pytest.mark.parametrize(
    "task", [getattr(tasks, name) for name in tasks.__all__ if name != "TensorTask"], ids=lambda task: task.name
)
def test_every_task_has_a_correct_triton_seed(task):
    made = Evaluator(task(), Interpret(spares=0, most_elements=150), Triton(), run_timeout_s=120)
    try:
        assert {} == made.calibrate().reference_latency_us  # TaskError where the seed is missing or wrong
    finally:
        made.close()


ANSWERS = """\
import gc, os, struct
def answer(head):
    fd = next(each for each in gc.get_objects() if type(each).__name__ == "Pipes").send
    size = 1 << 34 if head == "" else len(head)
    data = memoryview(struct.pack("<Q", size) + head.encode())
    while data:
        data = data[os.write(fd, data):]
    os._exit(0)
"""
FORGED = {
    "a long answer": "",
    "a deep answer": "[" * 100_000,
    "an endless axis": '{"arrays": [{"name": "y@0", "dtype": "f4", "shape": [Infinity]}]}',
    "huge outputs": '{"arrays": [{"name": "y@0", "dtype": "f8", "shape": [4294967296, 4294967296]}]}',
    "a program as dtype": '{"arrays": [{"name": "y@0", "dtype": "((", "shape": [1]}]}',
    "forms that are numbers": '{"arrays": [], "forms": [1, 2]}',
    "a shape that is a number": '{"arrays": [], "forms": [{"plain": 1, "dtype": "float32", "shape": 3}, {}]}',
    "tampering in numbers": '{"arrays": [], "forms": [], "tampered": 5}',
}
CHEATS = {
    "zeros": ("return torch.zeros(x.shape[0])", "", {Status.WRONG_VALUE}),
    "nan": ("return torch.full((x.shape[0],), float('nan'))", "", {Status.WRONG_VALUE}),
    "uninitialised": ("return torch.empty(x.shape[0])", "", {Status.WRONG_VALUE}),
    "shape": ("return x.sum(1, keepdim=True)", "", {Status.WRONG_SHAPE}),
    "dtype": ("return x.double().sum(1)", "", {Status.WRONG_SHAPE}),
    "two outputs": ("return x.sum(1), x.sum(1)", "", {Status.WRONG_SHAPE}),
    "no output": ("return None", "", {Status.WRONG_SHAPE}),
    "lazy": ("return x.sum(1).as_subclass(Lazy)", "class Lazy(torch.Tensor):\n    pass\n", {Status.WRONG_SHAPE}),
    "sparse": ("return x.sum(1).to_sparse()", "", {Status.WRONG_SHAPE}),
    "nested": ("return torch.nested.nested_tensor([x.sum(1)])", "", {Status.WRONG_SHAPE}),
    "quantized": ("return torch.quantize_per_tensor(x.sum(1), 0.1, 0, torch.quint8)", "", {Status.WRONG_SHAPE}),
    "a type that NumPy has not": ("return x.sum(1).to(torch.float8_e4m3fn)", "", {Status.WRONG_SHAPE}),
    "on no device": ("return x.sum(1).to('meta')", "", {Status.WRONG_SHAPE}),
    "more memory than there is": ("return torch.ones(1 << 45)", "", {Status.OUT_OF_MEMORY}),
    "a signal to its sandbox": ("import os, signal\nos.killpg(0, signal.SIGTERM)", "", {Status.CRASHED}),
    "a signal without a name": ("import os\nos.kill(os.getpid(), 40)", "", {Status.CRASHED}),
    "input as output": ("x[:, 0] = x.sum(1)\nreturn x[:, 0]", "", {Status.TAMPERED}),
    "input zeroed": ("y = x.sum(1)\nx.zero_()\nreturn y", "", {Status.TAMPERED}),
    "first call only": (
        "global memo\nmemo = x.sum(1) if memo is None or memo.shape[0] != x.shape[0] else memo\nreturn memo.clone()",
        "memo = None",
        {Status.WRONG_VALUE},
    ),
    "by pointer": (
        "key = (x.data_ptr(), tuple(x.shape))\nmemo.setdefault(key, x.sum(1).clone())\nreturn memo[key].clone()",
        "memo = {}",
        {Status.WRONG_VALUE},
    ),
    "half precision": ("return x.half().sum(1).float()", "", {Status.WRONG_VALUE}),
    "exit": ("import os\nos._exit(0)", "", {Status.NO_RESULT}),
    "exit at import": ("return x.sum(1)", "import sys\nsys.exit(0)", {Status.NO_RESULT}),
    "raises": ("raise RuntimeError('no')", "", {Status.CRASHED}),
    "segfault": ("import ctypes\nctypes.string_at(0)", "", {Status.CRASHED}),
    "random": ("return x.sum(1) * (1 + torch.rand(1) * 1e-3)", "", {Status.WRONG_VALUE, Status.UNREPEATABLE}),
    "forged answer": (
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'\\x02' + b'\\0' * 7 + b'{}')\n"
        "    except OSError:\n        pass\nreturn torch.zeros(x.shape[0])",
        "",
        {Status.WRONG_VALUE, Status.NO_RESULT, Status.WRONG_SHAPE, Status.CRASHED},
    ),
    **{
        name: (f"answer({head!r})", ANSWERS, {Status.NO_RESULT, Status.WRONG_SHAPE, Status.TAMPERED})
        for name, head in FORGED.items()
    },
    "says half a character": ("raise RuntimeError(chr(0xD800) + chr(27) + '[31m')", "", {Status.CRASHED}),
    "syntax error": ("return (", "", {Status.CRASHED}),
    "no entry point": ("return x", "def other(): pass\ndel kernel_fn if False else None", {Status.CRASHED}),
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_do_not_score(evaluator, name):
    body, before, expected = CHEATS[name]
    evaluation = judged(evaluator, body, before)

    assert evaluation.status in expected, evaluation.log
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", evaluation.log)


def test_an_input_that_is_returned_is_said_to_be_an_output(evaluator):
    evaluation = judged(evaluator, "return x[:, 0]")

    assert (Status.TAMPERED, "an output is an input") == (evaluation.status, evaluation.log)


def test_an_evaluator_without_times_never_measures_its_noise():
    with closing(Evaluator(TASK, Interpret(), Triton(), null_every=1)) as made:
        calibration = made.calibrate()
        assert Status.OK == made.evaluate(TASK.seed_kernel("triton"), calibration).status


HONEST = {
    "prints": "print('hello')\nreturn x.sum(1)",
    "scratch of its own": "scratch = torch.empty_like(x)\nscratch.copy_(x)\nreturn scratch.sum(1)",
    "a tuple of one": "return (x.sum(1),)",
    "folders within folders": "import os\nhome = os.getcwd()\nfor _ in range(1500):\n    os.makedirs('d', exist_ok=True)\n"
    "    os.chdir('d')\nos.chdir(home)\nreturn x.sum(1)",
    "non-contiguous output": "return torch.stack([x.sum(1), x.sum(1)], 1)[:, 0]",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_modules_pass(evaluator, name):
    evaluation = judged(evaluator, HONEST[name])

    assert Status.OK == evaluation.status, evaluation.log


def test_a_module_that_leaves_the_work_to_torch_is_flagged(evaluator):
    evaluation = judged(evaluator, "return x.sum(1)")

    assert "launches_no_kernel" in evaluation.flags


GHOST = """\
import triton
import triton.language as tl


@triton.jit
def nothing(y, x, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < 1), mask=at < 1)
"""


def test_a_kernel_for_show_is_flagged(evaluator):
    body = "y = torch.empty(x.shape[0])\nnothing[(1,)](y, x, B=16)\nreturn x.sum(1)"
    evaluation = judged(evaluator, body, GHOST)

    assert Status.OK == evaluation.status, evaluation.log
    assert "ghost_kernel" in evaluation.flags


def test_a_kernel_for_show_can_be_forbidden():
    body = "y = torch.empty(x.shape[0])\nnothing[(1,)](y, x, B=16)\nreturn x.sum(1)"
    strict = Evaluator(TASK, Interpret(most_elements=1000), Triton(), run_timeout_s=60, forbid=("ghost_kernel",))
    evaluation = judged(strict, body, GHOST)
    strict.close()

    assert Status.REJECTED == evaluation.status
    assert "gives the same result when its kernels do nothing" in evaluation.log


def test_a_module_with_a_kernel_is_not(evaluator):
    evaluation = evaluator.evaluate(TASK.seed_kernel("triton"), evaluator.calibrate())

    assert not {"launches_no_kernel", "ghost_kernel"} & set(evaluation.flags)


def test_an_endless_module_is_stopped():
    with_limit = Evaluator(TASK, Interpret(most_elements=1000), Triton(), run_timeout_s=2, build_timeout_s=5)
    evaluation = judged(with_limit, "while True:\n    pass") if with_limit.calibrate() else None
    with_limit.close()

    assert Status.RUN_TIMEOUT == evaluation.status


@pytest.fixture(scope="module")
def worker():
    """The worker's program as a module."""
    spec = importlib.util.spec_from_file_location("worker", Path(tasks.__file__).parents[1] / "workers" / "device.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Driver:
    """What the worker asks of a CUDA driver about the L2 cache; ``least`` bytes of it stay set aside."""

    def __init__(self, least, at_first):
        self.least, self.set_aside, self.resets = least, at_first, 0

    def cuCtxGetLimit(self, size, limit):
        size._obj.value = self.set_aside
        return 0

    def cuCtxSetLimit(self, limit, size):
        self.set_aside = max(self.least, size.value)
        return 0

    def cuCtxResetPersistingL2Cache(self):
        self.resets += 1
        return 0


@pytest.mark.parametrize("least", [0, 1 << 20])
def test_a_cache_of_which_a_part_is_set_aside_from_the_start_is_no_cheat(worker, monkeypatch, least):
    monkeypatch.setenv("KERNELWRIGHT_DEVICE", "cpu")
    device = worker.Device()
    device.driver = Driver(least, at_first=15 << 20)
    device.reserved = device.reserve_nothing()
    device.flush_buffer = device.torch.zeros(1)
    device.flush()

    assert (least, least) == (device.reserved, device.reserved_bytes())
    assert (least > 0) == device.driver.resets
    device.driver.cuCtxSetLimit(6, SimpleNamespace(value=16 << 20))
    assert device.reserved != device.reserved_bytes()


def test_a_module_that_fills_the_disk_is_stopped_and_the_next_one_is_not(evaluator, monkeypatch):
    monkeypatch.setattr("fitness.device.process.DISK_BYTES", 1 << 25)
    flood = "for i in range(64):\n    open(str(i), 'wb').write(bytes(1 << 20))\ntime.sleep(60)"
    evaluation = judged(evaluator, flood, "import time")

    assert Status.CRASHED == evaluation.status
    assert evaluation.log.startswith("stopped: its files took more than 32 MiB")
    assert Status.OK == judged(evaluator, "return x.sum(1)").status


def test_loading_kernels_ahead_leaves_nothing_behind(worker, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_DEVICE", "cpu")
    monkeypatch.setenv("KERNELWRIGHT_DTYPES", "float16,float32,int32,int64")
    device = worker.Device()
    device.flush_buffer = device.torch.ones(3)
    before = {name: value for name, value in vars(device).items() if name != "torch"}
    device.load_kernels()

    assert before == {name: value for name, value in vars(device).items() if name != "torch"}
    assert [0.0, 0.0, 0.0] == device.flush_buffer.tolist()


class Doubling:
    """Stands in for a loaded module."""

    launches = None

    def __init__(self, dtype="float32"):
        self.specs = ({"name": "y", "dtype": dtype},)

    def outputs(self, axes):
        return None

    def call(self, inputs, outputs, axes):
        return [inputs[0] + inputs[0]]


@pytest.fixture
def doubling(worker, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_DEVICE", "cpu")
    session = worker.Session(None, worker.Device())
    session.candidate = Doubling()
    return session


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5, 7)], ids=str)
def test_arrays_of_every_form_go_to_a_device_and_come_back(doubling, dtype, shape):
    sets = [np.random.default_rng(number).integers(0, 50, shape).astype(dtype) for number in range(12)]
    arrays = {f"x@{number}": np.array(array) for number, array in enumerate(sets)}
    doubling.candidate = Doubling(dtype)
    facts, brought = doubling.call({"calls": [({"N": 1}, number) for number in range(12)]}, arrays)

    assert [] == facts["tampered"]
    for turn, array in enumerate(sets):
        assert (array.dtype, array.shape) == (brought[f"y@{turn}"].dtype, brought[f"y@{turn}"].shape)
        assert (array + array).tobytes() == brought[f"y@{turn}"].tobytes()


def test_no_answer_of_a_check_stays_in_memory_for_who_computes_none(doubling, monkeypatch):
    copies, download = {}, doubling.download
    monkeypatch.setattr(doubling, "download", lambda tensors: copies.update(tensors) or download(tensors))
    x = np.arange(1, 9, dtype=np.float32)
    _, brought = doubling.call({"calls": [({"N": 8}, 0)]}, {"x@0": x})

    assert (2 * x).tolist() == brought["y@0"].tolist()
    assert not (copies["y@0"].numpy() == 2 * x).any()


@pytest.mark.parametrize("twice_bytes", [0, 1 << 28])
@pytest.mark.parametrize(
    "task", [tasks.Conv1d(), tasks.Conv1dFloat16(), tasks.MultiBucketize()], ids=lambda task: task.name
)
def test_worker_and_parent_make_the_same_inputs_of_a_variant(task, worker, twice_bytes):
    import torch

    pool = Pool.draw(task, task.time_workloads[0], np.random.default_rng(3))
    variant = Variant.draw(pool)
    there = worker.Session(None, SimpleNamespace(torch=torch, name="cpu"))
    message = variant.message("exam", False)
    exam = Exam.prepare(task, pool, count=2)
    for name, steady in ((message["entry"], exam.steady), ("of another size", task.inputs.keys() - exam.steady)):
        arrays = {**pool.entries[variant.entry].inputs, "factors@": exam.factors}
        there.pool({"name": name, "steady": sorted(steady), "twice_bytes": twice_bytes}, arrays)
    made = [torch.empty_like(tensor) for tensor in there.pools[message["entry"]]]
    there.fill(made, message)

    expected = variant.instance(task, pool, exam.factors).inputs.values()
    assert [array.tobytes() for array in expected] == [tensor.numpy().tobytes() for tensor in made]


@pytest.mark.parametrize("twice_bytes", [0, 1 << 28])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (6,), (0, 7), (1, 7), (5, 7), (3, 0), (2, 3, 4)], ids=str)
def test_rows_of_any_number_are_rolled_unless_they_are_steady(worker, shape, dtype, twice_bytes):
    import torch

    session = worker.Session(None, SimpleNamespace(torch=torch, name="cpu"))
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    factors = np.random.default_rng(0).uniform(0.5, 2, 20).astype("float16")
    own = factors.astype(dtype)[3:] if np.issubdtype(dtype, np.floating) else np.ones(20, dtype)
    for steady in (["x"], ["x"][: array.ndim == 0]):  # single numbers are
        message = {"name": "a", "steady": steady, "twice_bytes": twice_bytes}
        session.pool(message, {"x": np.array(array), "factors@": factors})
        [made] = map(torch.empty_like, session.pools["a"])
        session.fill([made], {"entry": "a", "roll": 4, "shift": 3})
        rolled = array if steady and array.ndim < 2 else np.roll(array, 4, 0)

        assert (rolled * (own[0] if steady else own[: shape[-1]])).tobytes() == made.numpy().tobytes()


def test_inputs_are_on_a_device_no_more_than_twice(timed):
    [first], [source] = timed.pools["exam/0"], timed.sources["exam/0"]

    assert 2 * first.nbytes == source.untyped_storage().nbytes()
    assert source.data_ptr() == first.data_ptr()


class ByPointer:
    """Stands in for a loaded shared object, which gets pointers: y = x + x, and ``beyond`` writes elsewhere."""

    def __init__(self):
        self.calls, self.beyond = 0, lambda x, y, count: None

    def __call__(self, x, y, count, stream):
        self.calls += 1
        form = ctypes.c_float * count.value
        given = form.from_address(x.value)
        form.from_address(y.value)[:] = [2 * value for value in given]
        self.beyond(x.value, y.value, count.value)


@pytest.fixture
def timed(worker, monkeypatch):
    """A worker that is ready to time calls on eight numbers."""
    monkeypatch.setenv("KERNELWRIGHT_DEVICE", "cpu")
    session = worker.Session(None, worker.Device())
    session.candidate = candidate = object.__new__(worker.Candidate)
    candidate.device, candidate.axes, candidate.pointers = session.device, ("N",), True
    candidate.function, candidate.specs = ByPointer(), [{"name": "y", "dtype": "float32", "shape": ["N"]}]
    arrays = {"x": np.arange(8, dtype=np.float32), "factors@": np.ones(9, np.float32)}
    session.pool({"name": "exam/0", "steady": [], "twice_bytes": 1 << 28}, arrays)
    return session


def block(calls, lead=1):
    variant = {"entry": "exam/0", "roll": 0, "shift": 0, "judged": False}
    return {"axes": {"N": 8}, "variants": [variant] * calls, "places": 8, "flush": False, "lead": lead}


@pytest.mark.parametrize("calls", [1, 3, 20])
def test_a_block_has_one_lead_and_tells_which_calls_nothing_was_queued_behind(timed, worker, monkeypatch, calls):
    holds = []
    monkeypatch.setattr(timed.device, "hold", holds.append)
    monkeypatch.setattr(worker.CpuEvent, "query", lambda event: True)
    facts, _ = timed.time(block(calls, lead=5), {})

    assert [5] == holds
    assert (calls, calls - 1) == (len(facts["times_us"]), facts["late"])
    assert [] == facts["tampered"]


@pytest.mark.parametrize("launches", range(1, 9))
def test_each_eight_calls_are_each_of_four_launches_in_turn_twice(timed, monkeypatch, launches):
    """However many launches make a call's data and the call, which is the last of them."""
    before = []
    monkeypatch.setattr(timed.device, "launch_nothing", before.append)
    for calls in (3, 20, 21):
        timed.time(block(calls), {})
    turns = [at % 4 for at in accumulate(launches + more for more in before)]

    assert 44 == len(turns)
    assert all({0: 2, 1: 2, 2: 2, 3: 2} == Counter(turns[at : at + 8]) for at in range(37))


MIB = 1 << 20


@pytest.mark.parametrize(
    ("dtype", "count", "aligned"),
    [
        ("float32", 8, 1 << 10),
        ("bool", 10 * MIB - 1, 1 << 8),
        ("uint8", 10 * MIB, 2 * MIB),
        ("float16", 6 * MIB, 2 * MIB),
        ("complex128", MIB, 2 * MIB),
    ],
)
def test_owned_tensors_begin_where_torch_begins_large_ones_and_are_guarded(timed, worker, dtype, count, aligned):
    """Torch's allocator gives 10 MiB and more pages of 2 MiB."""
    holder = worker.Owned(timed.device, getattr(timed.device.torch, dtype), [count])
    size = holder.buffer.element_size()
    begin = holder.tensor.data_ptr() - holder.buffer.data_ptr()

    assert aligned == begin
    assert timed.device.intact(holder)
    for beyond in (begin - 1, begin + count * size):
        holder.poison()
        holder.bytes[beyond] = 7
        assert not timed.device.intact(holder)


@pytest.mark.parametrize(("what", "late"), [("input", 1), ("input", 20), ("output", 13), ("output", 20)])
def test_a_timed_call_that_writes_beside_its_tensors_is_found(timed, what, late):
    """Around outputs of the last calls, which still are where they were."""

    def beyond(x, y, count):
        if timed.candidate.function.calls == late:
            ctypes.c_float.from_address((x if what == "input" else y) + 4 * count).value = 7.0

    timed.candidate.function.beyond = beyond

    assert [f"memory around {what} 0 overwritten"] == timed.time(block(20), {})[0]["tampered"]


@pytest.mark.parametrize(("pointers", "elements"), [(True, 3 * 8 + 512), (False, 3 * 8)])
def test_timed_calls_find_all_memory_of_their_outputs_allocated(timed, monkeypatch, pointers, elements):
    """Eight calls keep theirs, one makes its own, and one was copied; a timing slot should not wait for a driver."""
    torch, made, at_once = timed.device.torch, [], []

    def empty(*arguments, real=torch.empty, **settings):
        tensor = real(*arguments, **settings)
        made.extend([weakref.ref(tensor)] * (tensor.numel() == elements))
        at_once.append(sum(each() is not None for each in made))
        return tensor

    monkeypatch.setattr(torch, "empty", empty)
    timed.candidate.pointers = pointers
    timed.candidate.specs = [{"name": "y", "dtype": "float32", "shape": ["N", 3]}]
    timed.places_for({"N": 8}, timed.pools["exam/0"], 8)

    assert 10 == max(at_once)
    assert [None] * 10 == [each() for each in made]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "int64", "uint16", "uint8", "bool"])
def test_parts_of_an_output_are_the_elements_from_their_starts_on(timed, dtype):
    torch = timed.device.torch
    value = (torch.arange(60) * 7 % 11).reshape(6, 10).to(getattr(torch, dtype))
    starts = [0, 3, 52, 3]
    got = timed.parts([value, value[:, 0]], {"starts": {"y": starts}, "length": 8})

    flat = value.numpy().reshape(-1)
    assert {"y@0", "surplus1@0"} == got.keys()
    assert np.array_equal(got["y@0"], np.concatenate([flat[at : at + 8] for at in starts]))
    assert got["y@0"].dtype == flat.dtype
    assert np.array_equal(got["surplus1@0"], value[:, 0].numpy())


def test_a_block_leaves_collecting_as_it_was_and_makes_no_event_twice(timed, worker, monkeypatch):
    made, collecting = [], []
    monkeypatch.setattr(timed.device, "event", lambda: made.append(worker.CpuEvent()) or made[-1])
    monkeypatch.setattr(timed.device, "launch_nothing", lambda times: collecting.append(gc.isenabled()))
    for calls in (3, 5, 5, 2):
        assert calls == len(timed.time(block(calls), {})[0]["times_us"])

    assert [False] * 15 == collecting
    assert gc.isenabled()
    assert 10 == len(made)
