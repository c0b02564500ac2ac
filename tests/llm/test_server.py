from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llm import Message, Request, ServerStartError, ServerUnreachable, VLLMServer, check_gpus

FAKE = Path(__file__).parents[1] / "fake_vllm.py"
ASK = Request((Message("user", "hello"),))

RUN = """
import sys, time
from pathlib import Path
import llm.server
from llm import Message, Request, VLLMServer
llm.server.GRACE_S = 0.5
server = VLLMServer("tiny", command=[sys.executable, sys.argv[1], "{name}", "{port}", sys.argv[2]])
server.place(Path(sys.argv[3]), print)
server.complete(Request((Message("user", "hello"),)))
print("ready", server.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.server.GRACE_S", 0.5)


def server(tmp_path: Path, *more: str, **settings: object) -> VLLMServer:
    command = [sys.executable, str(FAKE), "{name}", "{port}", str(tmp_path / "pids"), *more]
    made = VLLMServer("models/tiny", command=command, **settings)
    made.place(tmp_path, lambda line: None)
    return made


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and _state(pid) != "Z"]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def pids(tmp_path: Path) -> list[int]:
    return [int(pid) for pid in (tmp_path / "pids").read_text().split()]


def test_building_one_starts_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as made:
        assert None is made.pid
    assert [] == list(tmp_path.iterdir())


def test_the_first_request_starts_it_and_the_end_leaves_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as made:
        made.complete(ASK)
        started = [*pids(tmp_path), made.pid]
        assert started == alive(started)
    assert [] == alive(started)


def test_threads_share_one_server(tmp_path: Path) -> None:
    with server(tmp_path) as made, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: made.complete(ASK).text, range(4)))
    assert 1 == len(set(answers))


def test_it_sees_its_gpus_and_no_foreign_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_SECRET", "x")
    with server(tmp_path, gpus=[2, 3]) as made:
        told = json.loads(made.complete(ASK).text)
    assert ("2,3", None) == (told["gpus"], told["secret"])


def test_the_revision_is_recorded(tmp_path: Path) -> None:
    with server(tmp_path, revision="abc") as made:
        assert "tiny@abc" == made.complete(ASK).model


def test_the_key_is_in_no_argument_list_and_no_log(tmp_path: Path) -> None:
    with server(tmp_path) as made:
        argv = json.loads(made.complete(ASK).text)["argv"]
        leash = Path(f"/proc/{made.pid}/cmdline").read_bytes().decode()
        key = next(
            part
            for part in Path(f"/proc/{pids(tmp_path)[0]}/environ").read_text().split("\0")
            if part.startswith("VLLM_API_KEY=")
        ).partition("=")[2]
    assert (True, False) == (len(key) > 20, key in " ".join(argv) + leash + made.log.read_text() + repr(made))


def test_progress_is_told(tmp_path: Path) -> None:
    lines: list[str] = []
    with server(tmp_path) as made:
        made.place(tmp_path, lines.append)
        made.complete(ASK)
    assert (True, True) == (lines[0].startswith("starting tiny in vLLM"), lines[-1].startswith("tiny is up after"))


def test_a_failed_start_tells_why(tmp_path: Path) -> None:
    with (
        server(tmp_path, "--fail") as made,
        pytest.raises(ServerStartError, match="status 3: ValueError: No available memory") as caught,
    ):
        made.complete(ASK)
    assert "loading weights" in caught.value.tail


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    made = VLLMServer("tiny", command=["no-such-program"])
    made.place(tmp_path, lambda line: None)
    with made, pytest.raises(ServerStartError, match=r"no-such-program.*llm.command"):
        made.complete(ASK)


def test_a_start_that_takes_too_long_leaves_nothing(tmp_path: Path) -> None:
    with server(tmp_path, startup_s=0.2) as made, pytest.raises(ServerStartError, match=r"not up after 0.2 s"):
        made.complete(ASK)
    started = pids(tmp_path) if (tmp_path / "pids").exists() else []
    assert [] == alive(started)


def test_a_server_that_dies_is_named(tmp_path: Path) -> None:
    with server(tmp_path, client={"attempts": 2, "backoff_s": 0.3}) as made:
        made.complete(ASK)
        os.kill(pids(tmp_path)[0], signal.SIGKILL)
        with pytest.raises(ServerUnreachable, match=r"ended with status .*resume"):
            made.complete(ASK)


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_killed_run_leaves_nothing(tmp_path: Path, whole_group: bool) -> None:
    command = [sys.executable, "-c", RUN, str(FAKE), str(tmp_path / "pids"), str(tmp_path)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=FAKE.parents[1])
    assert run.stdout is not None
    ready = next(line for line in run.stdout if line.startswith("ready"))
    started = [*pids(tmp_path), int(ready.split()[1])]
    assert started == alive(started)
    (os.killpg if whole_group else os.kill)(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    limit = time.monotonic() + 30
    while alive(started) and time.monotonic() < limit:
        time.sleep(0.1)
    assert [] == alive(started)


@pytest.mark.parametrize("arguments", [["--tensor-parallel-size", "2"], ["--tensor-parallel-size=2"], ["-tp", "2"]])
def test_a_server_on_several_gpus_names_them(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(ValueError, match=r"vLLM will use 2 GPUs .* name as many in llm\.gpus"):
        server(tmp_path, arguments=arguments, gpus=[0])
    assert (0, 1) == server(tmp_path, arguments=arguments, gpus=[0, 1]).gpus


def test_disjoint_gpus_pass() -> None:
    assert "model and timing use different devices" == check_gpus([0], [1, 2], takes_turns=False)


def test_where_an_unknown_server_runs_is_not_claimed() -> None:
    assert "llm.gpus does not say where the model runs" in check_gpus((), (0,), takes_turns=False)


def test_a_shared_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match=r"GPU 1 would serve the model while kernels are timed"):
        check_gpus([0, 1], [1, 2], takes_turns=False)


def test_a_shared_gpu_with_turns_is_told() -> None:
    assert "model and timing take turns on GPU 1" == check_gpus([0, 1], [1, 2], takes_turns=True)


def test_closing_from_another_thread_is_safe(tmp_path: Path) -> None:
    made = server(tmp_path)
    made.complete(ASK)
    threads = [threading.Thread(target=made.close) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == alive(pids(tmp_path))


def test_closing_stops_a_start_that_is_under_way(tmp_path: Path) -> None:
    made = VLLMServer("tiny", command=[sys.executable, "-c", "import time; time.sleep(600)"])
    made.place(tmp_path, lambda line: None)
    failures: list[ServerStartError] = []

    def ask() -> None:
        try:
            made.complete(ASK)
        except ServerStartError as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    limit = time.monotonic() + 10
    while made.pid is None and time.monotonic() < limit:
        time.sleep(0.01)
    leash = made.pid
    made.close()
    thread.join(timeout=10)
    assert leash is not None
    assert (["the start of tiny was stopped"], []) == ([str(error) for error in failures], alive([leash]))
