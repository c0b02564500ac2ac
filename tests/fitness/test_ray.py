"""The executor on a Ray cluster of two nodes on this machine: separate raylets, so that one of them can be lost."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from evolve import Budget
from evolve.policies import SteadyState
from fitness import Evaluator, MachineError, Status, TargetLost, TargetUnavailable, TaskError, ToolchainError
from fitness.executors import Local, Ray
from fitness.languages import Cpp
from fitness.targets import Cpu
from fitness.tasks import RowSum
from toy_search import ToyEvaluator, digest, run

ROOT = Path(__file__).parent.parent.parent
STORE = {"object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def cluster():
    """A head that computes nothing, and two nodes with two processors each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **STORE})
        for _ in range(2):
            made.add_node(num_cpus=2, **STORE)
        made.wait_for_nodes()
        yield made
        made.shutdown()


def connected(cluster):
    """An executor that all nodes serve."""
    with Ray(cluster.address) as made:
        deadline_s = time.monotonic() + 60
        while made.workers < 4 and time.monotonic() < deadline_s:
            made._enlist()
            time.sleep(0.05)
        yield made


both_nodes = pytest.fixture(connected, name="both_nodes")
executor = pytest.fixture(connected, scope="class", name="executor")


def where(device):
    import ray

    return ray.get_runtime_context().get_node_id(), os.getpid()


class Meeting:
    """A job that waits in its slot until a file is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def attend(self, number, device):
        (self.folder / f"{number}.{os.getpid()}").touch()
        while not (self.folder / "over").exists():
            time.sleep(0.05)
        return number, where(device)

    def wait_for(self, count):
        deadline_s = time.monotonic() + 60
        while len(list(self.folder.glob("*.*"))) < count:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)


class Counting:
    """Counts how often it is called, in the process that it was sent to."""

    def __init__(self) -> None:
        self.calls = 0
        self._lock = threading.Lock()

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.__init__()

    def count(self, device):
        with self._lock:
            self.calls += 1
            return os.getpid(), self.calls

    def lose_once(self, device):
        self.calls += 1
        if self.calls == 1:
            raise TargetLost("gone")
        return self.calls

    def fail(self, device):
        raise TaskError("the seed is wrong")

    def die(self, device):
        os._exit(1)


@pytest.mark.ray
class TestTwoNodes:
    def test_slots_of_both_nodes_work_at_once_and_each_node_is_one_process(self, executor, tmp_path):
        meeting = Meeting(tmp_path)
        futures = [executor.submit(meeting.attend, number) for number in range(4)]
        meeting.wait_for(4)
        (tmp_path / "over").touch()
        places = {future.result(60)[1] for future in futures}

        assert (4, 2, 2) == (executor.workers, len({node for node, _ in places}), len({pid for _, pid in places}))

    def test_an_object_is_sent_once_so_that_what_it_builds_serves_all_jobs(self, executor):
        counting = Counting()
        answers = [future.result(60) for future in [executor.submit(counting.count) for _ in range(20)]]
        calls = {pid: sorted(call for other, call in answers if other == pid) for pid, _ in answers}

        assert {pid: list(range(1, len(each) + 1)) for pid, each in calls.items()} == calls

    def test_what_a_job_raises_arrives_as_it_is(self, executor):
        with pytest.raises(TaskError, match=r"^the seed is wrong$"):
            executor.submit(Counting().fail).result(60)

    def test_lost_hardware_is_tried_once_more(self, executor):
        assert 2 == executor.submit(Counting().lose_once).result(60)

    def test_a_job_that_cannot_be_sent_is_refused(self, executor):
        with pytest.raises(TargetUnavailable, match="sends its jobs to other processes"):
            executor.submit(threading.Condition().notify)

    @pytest.mark.slow
    def test_a_real_kernel_is_built_checked_and_timed_on_a_node(self, executor):
        task = RowSum([{"M": 64, "N": 64}])
        evaluator = Evaluator(task, Cpu(), Cpp(), max_pairs=10, time_limit_s=0.05)
        calibration = executor.submit(evaluator.calibrate).result(120)
        evaluation = executor.submit(evaluator.evaluate, task.seed_kernel("cpp"), calibration).result(120)

        assert (Status.OK, True) == (evaluation.status, evaluation.speedup > 0)


@pytest.mark.ray
def test_a_job_that_loses_every_node_it_meets_ends(both_nodes):
    with pytest.raises(MachineError, match="3 nodes were lost"):
        both_nodes.submit(Counting().die).result(120)

    assert both_nodes.submit(where).result(60)


def searched(folder: Path, executor) -> str:
    """Runs a search with three slots in flight and returns the digest of its record."""
    run(
        SteadyState(mu=4, lambda_=5, in_flight=3),
        folder,
        executor=executor,
        evaluator=ToyEvaluator(jitter_s=0.2),
        budget=Budget(evaluations=40),
    )
    return digest(folder)


@pytest.mark.ray
def test_a_search_that_loses_a_node_ends_as_on_one_machine(cluster, both_nodes, tmp_path):
    """Kills a raylet while evaluations run, and lets another node join."""
    with Local(2) as local:
        expected = searched(tmp_path / "local", local)
    lost = cluster.worker_nodes and next(iter(cluster.worker_nodes))
    killer = threading.Timer(1.0, cluster.remove_node, (lost, False))
    killer.start()
    found = searched(tmp_path / "ray", both_nodes)
    killer.join()
    journal = (tmp_path / "ray" / "journal.jsonl").read_text()
    keys = [line.split('"key":"')[1].split('"')[0] for line in journal.splitlines() if '"evaluation"' in line]

    assert expected == found
    assert len(keys) == len(set(keys)) > 20
    cluster.add_node(num_cpus=2, **STORE)
    cluster.wait_for_nodes()


@pytest.mark.ray
def test_jobs_of_a_lost_node_are_run_by_another_and_a_new_node_serves(cluster, both_nodes, tmp_path):
    meeting = Meeting(tmp_path)
    futures = [both_nodes.submit(meeting.attend, number) for number in range(6)]
    meeting.wait_for(4)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    new = cluster.add_node(num_cpus=2, **STORE)
    meeting.wait_for(6)
    (tmp_path / "over").touch()
    answers = [future.result(60) for future in futures]

    assert list(range(6)) == [number for number, _ in answers]
    assert new.node_id in {node for _, (node, _) in answers}


@pytest.mark.ray
def test_a_cluster_without_a_node_for_us_is_told(cluster, monkeypatch):
    monkeypatch.setattr("fitness.executors.ray._PATIENCE_S", 1.0)

    with (
        Ray(cluster.address, gpus=3) as executor,
        pytest.raises(TargetUnavailable, match=r"no node with GPUs .wanted: 3"),
    ):
        executor.submit(where).result(60)


class Homeless:
    """What serves on a node, where something that it needs is not installed."""

    def __init__(self, *args):
        raise ModuleNotFoundError("No module named 'fitness'")

    def ready(self): ...


@pytest.mark.ray
def test_nodes_on_which_nothing_can_run_are_told(cluster, monkeypatch):
    monkeypatch.setattr("fitness.executors.ray.Station", Homeless)

    with Ray(cluster.address) as executor, pytest.raises(TargetUnavailable, match="No module named 'fitness'"):
        executor.submit(where).result(60)


@pytest.mark.ray
def test_an_address_where_no_cluster_answers_is_told(monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # in a process of its own this is so

    with pytest.raises(TargetUnavailable, match=r"no Ray cluster answers at 127\.0\.0\.1:9: .*refused"):
        Ray("127.0.0.1:9").__enter__()


@pytest.mark.ray
def test_signals_are_handled_as_before(cluster):
    before = signal.getsignal(signal.SIGTERM)

    with Ray(cluster.address):
        assert before is signal.getsignal(signal.SIGTERM)


def test_without_ray_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(ToolchainError, match="pip install 'ray"):
        Ray().__enter__()


@pytest.mark.parametrize("arguments", [{"workers": 0}, {"devices": ()}, {"gpus": -1}])
def test_no_slot_is_refused(arguments):
    with pytest.raises(ValueError, match="executor"):
        Ray(**arguments)
