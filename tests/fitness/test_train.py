"""Whether the parent's clock bears out what events claim: a stand-in takes the worker's place, so that times can be chosen."""

import fcntl
import math
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from fitness import Status
from fitness.compiler import find_compiler
from fitness.device.exam import Exam, Variant
from fitness.device.process import DeviceProcess
from fitness.device.session import DeviceSession
from fitness.device.timing import rehearse, timed_block
from fitness.device.train import prepare_train, seconds_of_train
from fitness.native import driver
from fitness.pool import Pool
from fitness.session import Failed
from fitness.tasks import RowSum

TASK = RowSum(time_sizes=[{"M": 8, "N": 16}])
EXAM = Exam.prepare(TASK, Pool.draw(TASK, TASK.time_workloads[0], np.random.default_rng(0)))
CLAIMED_S = 1e-3
CALLS = 4  # of a train of such calls


class Worker:
    """Answers as a worker does whose replays take the given seconds, the last of them from then on."""

    def __init__(self, replays_s, captured=True):
        self.replays_s, self.captured, self.made, self.outputs = list(replays_s), captured, 0, 0
        self.judged, self.shown = [], []

    def request(self, message, arrays=None, most_bytes=0):
        if message["command"] == "train":
            return {"captured": self.captured}, {}
        if message["command"] == "replay":
            self.variants = message["variants"]
            self.shown.append(self.variants)
        if message["command"] == "outputs":
            self.outputs += 1
            variant = self.variants[message["index"]]
            drawn = Variant(int(variant["entry"].partition("/")[2]), variant["roll"], variant["shift"])
            self.judged.append(drawn)
            right = drawn.instance(TASK, EXAM.pool, EXAM.factors).expected["y"].astype(np.float32)
            form = {"plain": True, "dtype": "float32", "shape": list(right.shape), "elsewhere": False}
            return {"forms": [form]}, {"y@0": right}
        return {}, {}

    def round_trip(self, message):
        took_s = self.replays_s[min(self.made, len(self.replays_s) - 1)]
        self.made += 1
        return took_s, {}


def train(worker):
    session = DeviceSession(worker, TASK, None)
    session.make_room([EXAM])
    session.trains[EXAM.name] = prepare_train(session, EXAM, CLAIMED_S)
    seen_s = seconds_of_train(session, EXAM, CLAIMED_S)
    session.judge_kept()
    return seen_s


@pytest.mark.parametrize(("memory_bytes", "calls"), [(0, 200), (1 << 37, 200), (1 << 23, 120), (1, 1)])
def test_a_train_takes_a_small_part_of_the_memory(memory_bytes, calls):
    """Calls of 8 rows of 16 numbers, and their sums, have 544 bytes each."""
    session = DeviceSession(Worker([1.0]), TASK, None, memory_bytes=memory_bytes)
    session.make_room([EXAM])

    assert calls == prepare_train(session, EXAM, 1e-6).calls


def test_what_a_contest_kept_that_the_other_side_ended_is_not_kept_for_ever():
    """The baseline's worker lives as long as its search, and candidates may crash a thousand times."""
    session = DeviceSession(Worker([1.0]), TASK, None, trains={EXAM.name: None})
    session._unjudged.append(({}, lambda: pytest.fail("it is judged"), None, ""))
    rehearse(session, [EXAM], flush=False)

    assert 0.0 == session.judge_kept()


@pytest.mark.parametrize(("memory_bytes", "most_bytes"), [(0, 1 << 28), (141 << 30, 1 << 28), (8 << 30, 1 << 26)])
def test_what_is_kept_twice_is_a_small_part_of_the_memory(memory_bytes, most_bytes):
    """Candidates wait with it by the dozen, and a workstation's GPU has 8 GB."""
    session = DeviceSession(Worker([1.0]), TASK, None, memory_bytes=memory_bytes)
    session.make_room([EXAM])

    assert most_bytes == session.twice_bytes


def test_exams_share_the_memory_that_timing_may_take():
    """A few numbers may become gigabytes, and many candidates wait with theirs."""
    small, large = SimpleNamespace(name="small", call_bytes=1 << 20), SimpleNamespace(name="large", call_bytes=1 << 33)
    session = DeviceSession(Worker([1.0]), TASK, None, memory_bytes=24 << 30)
    rooms = []
    for exams in ([small], [small, large]):
        session.make_room(exams)
        rooms.append(session.room)

    assert [{"small": 192}, {"small": 96, "large": 1}] == rooms
    assert 8 * 16 * 4 + 8 * 4 == EXAM.call_bytes - 1


def test_a_claim_that_the_clock_bears_out_is_believed():
    worker = Worker([CALLS * CLAIMED_S])

    assert train(worker) is None
    assert (3, 1) == (worker.made, worker.outputs)


def test_a_late_replay_on_a_busy_machine_is_no_lie():
    worker = Worker([0.1] * 7 + [CALLS * CLAIMED_S])

    assert train(worker) is None
    assert 8 == worker.made


@pytest.mark.parametrize("late", [0, 5])
def test_what_is_judged_of_a_graph_is_new_to_it(late):
    """Who leaves out the work on all data that is new to it must be wrong."""
    worker = Worker([0.1] * late + [CALLS * CLAIMED_S])
    train(worker)
    told = [(each["entry"], each["roll"], each["shift"]) for replay in worker.shown[:-1] for each in replay]
    blocks = [EXAM.block_question(asked)[0] for asked in range(10)]

    assert 1 == len(worker.judged)
    assert (f"{EXAM.name}/{worker.judged[0].entry}", worker.judged[0].roll, worker.judged[0].shift) not in told
    assert worker.judged[0] not in blocks


def test_the_judged_calls_of_blocks_are_new_to_their_worker():
    assert len(EXAM.variants) - 1 == len({EXAM.block_question(asked)[0] for asked in range(len(EXAM.variants) - 1)})


def test_a_drawn_question_is_no_prepared_one_and_answered_once():
    (variant, instance), (other, _) = EXAM.drawn_question(), EXAM.drawn_question()

    assert len({*EXAM.variants, variant, other}) == len(EXAM.variants) + 2
    assert instance() is instance()
    assert instance().expected["y"].tolist() == variant.instance(TASK, EXAM.pool, EXAM.factors).expected["y"].tolist()


def test_a_claim_that_no_replay_bears_out_is_a_lie():
    with pytest.raises(Failed) as failed:
        train(Worker([20 * CALLS * CLAIMED_S]))

    assert Status.SUSPECT == failed.value.status
    assert "the parent's clock says" in failed.value.log


def test_the_replay_that_bears_a_claim_out_is_the_one_that_is_judged():
    """Work that is left out of the first replays alone, and never judged, proves nothing."""
    with pytest.raises(Failed) as failed:
        train(Worker([CALLS * CLAIMED_S] * 2 + [20 * CALLS * CLAIMED_S]))

    assert Status.SUSPECT == failed.value.status


def test_each_replay_is_judged_of_who_is_not_captured():
    worker = Worker([CALLS * CLAIMED_S], captured=False)

    assert pytest.approx(CLAIMED_S) == train(worker)
    assert 3 == worker.outputs


def test_who_is_timed_by_the_clock_is_not_asked_until_it_agrees_with_the_events():
    worker = Worker([20 * CALLS * CLAIMED_S], captured=False)

    assert pytest.approx(20 * CLAIMED_S) == train(worker)
    assert 3 == worker.made


NO_TIMES = [[1.0], [1.0, 1], [1.0, True], [1.0, [1.0]], [1.0, -1.0], [1.0, 0.0], [1.0, 1e-320], [1.0, 1e300]]


@pytest.mark.parametrize("times_us", [*NO_TIMES, [1.0, math.inf], [1.0, math.nan], "11", None], ids=str)
def test_times_that_no_clock_tells_are_suspect(times_us):
    def request(message, arrays=None, most_bytes=0):
        time.sleep(1e-3)  # long enough for two calls of a microsecond
        return {"forms": [], "tampered": [], "times_us": times_us}, {}

    session = DeviceSession(SimpleNamespace(request=request), TASK, None)
    session.make_room([EXAM])
    with pytest.raises(Failed) as failed:
        timed_block(session, EXAM, 2, flush=False)

    assert Status.SUSPECT == failed.value.status


@pytest.fixture
def process(tmp_path):
    """Both ends of a worker's pipes, without a worker."""
    (orders, send), (receive, answers) = os.pipe(), os.pipe()
    confined = SimpleNamespace(driver=driver(find_compiler()), pid=os.getpid(), log="", wait=lambda wall_s: 0)
    made = DeviceProcess(confined, receive, send, tmp_path)
    made.deadline = time.monotonic() + 2
    yield made, orders, answers
    for descriptor in (receive, send, orders):
        os.close(descriptor)


ANSWER = (13).to_bytes(8, "little") + b'{"arrays":[]}'


def test_an_answer_before_the_question_is_suspect(process):
    made, _, answers = process
    os.write(answers, ANSWER)
    with pytest.raises(Failed) as failed:
        made.round_trip({"command": "go"})
    os.close(answers)

    assert Status.SUSPECT == failed.value.status


def test_who_leaves_its_pipe_full_and_answers_all_the_same_is_suspect(process):
    made, orders, answers = process
    fcntl.fcntl(orders, fcntl.F_SETPIPE_SZ, 4096)
    os.write(made._send, bytes(4096))
    answer = threading.Timer(0.05, os.write, (answers, ANSWER))
    answer.start()
    with pytest.raises(Failed) as failed:
        made.round_trip({"command": "go"})
    answer.join()
    os.close(answers)

    assert Status.SUSPECT == failed.value.status


def test_what_a_worker_writes_to_disk_is_looked_at_while_its_time_is_taken(process, monkeypatch):
    made, _, answers = process
    monkeypatch.setattr("fitness.device.process._LOOK_S", 0.05)
    monkeypatch.setattr("fitness.device.process.used_bytes", lambda *_: 1 << 40)
    with pytest.raises(Failed) as failed:
        made.round_trip({"command": "go"})
    os.close(answers)

    assert Status.CRASHED == failed.value.status


def test_an_answer_that_takes_long_is_timed_all_the_same(process, monkeypatch):
    made, _, answers = process
    monkeypatch.setattr("fitness.device.process._LOOK_S", 0.02)
    answer = threading.Timer(0.1, os.write, (answers, ANSWER))
    answer.start()
    took_s, _ = made.round_trip({"command": "go"})
    answer.join()
    os.close(answers)

    assert took_s >= 0.09


BIG = "1" * 4000


@pytest.mark.parametrize("shape", [f"[{BIG}, {BIG}]", f"[{BIG}, 0]", f"[{1 << 62}, {1 << 62}, 0]", "[1e400]", "[-1]"])
def test_shapes_that_no_array_has_are_not_of_the_form(process, shape):
    made, _, answers = process
    head = f'{{"arrays": [{{"name": "y@0", "dtype": "float32", "shape": {shape}}}]}}'.encode()
    os.write(answers, len(head).to_bytes(8, "little") + head)
    with pytest.raises(Failed) as failed:
        made.receive(1000)
    os.close(answers)

    assert Status.NO_RESULT == failed.value.status


def test_a_round_trip_ends_with_the_first_byte_of_the_answer(process):
    made, orders, answers = process
    if os.fork() == 0:
        os.read(orders, 1000)
        time.sleep(0.05)
        os.write(answers, ANSWER)
        os._exit(0)
    took_s, answer = made.round_trip({"command": "go"})
    os.wait()
    os.close(answers)

    assert {} == answer
    assert took_s >= 0.05


def test_a_worker_that_is_gone_or_late_is_no_answer(process):
    made, _, answers = process
    made.deadline = time.monotonic() + 0.05
    with pytest.raises(Failed) as late:
        made.round_trip({"command": "go"})
    os.close(answers)
    made.deadline = time.monotonic() + 5
    with pytest.raises(Failed) as gone:
        made.round_trip({"command": "go"})

    assert [Status.RUN_TIMEOUT, Status.NO_RESULT] == [late.value.status, gone.value.status]
