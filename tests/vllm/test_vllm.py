"""Against real vLLM with a real, small model, on the CPU: ``make test-vllm``.

The Makefile makes an environment with vLLM and a folder with SmolLM2-135M-Instruct, and names both
in ``VLLM_PYTHON`` and ``VLLM_MODEL``. The toolkit itself runs in the ordinary environment and starts
vLLM in the other one, as a user would who has it installed elsewhere.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from evolve import read_journal
from llm import Completion, Message, Request, Section, VLLMServer
from operators.reading import Outcome

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif("VLLM_PYTHON" not in os.environ, reason="needs make test-vllm"),
]

ROOT = Path(__file__).parents[2]
NAME = "SmolLM2-135M-Instruct"
IN_FLIGHT = 8
GENERATIONS = 2
# vLLM 0.32 on a CPU ends with "CPU Generator does not use offset" when the prefill of a request with a seed
# is split into chunks; so none is split.
WHOLE_PREFILL = ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192"]
SMALL = [
    *(f"operators.{name}.sampling.max_tokens=192" for name in ("draft", "mutate", "crossover", "repair")),
    *("task=row_sum", "language=cpp", "target=cpu", "operators=llm", "evaluator=quick"),
    *("mu=2", "lambda_=6", f"generations={GENERATIONS}", "seed=1"),
]


def settings() -> dict[str, object]:
    """What a user writes into a file of the group ``llm``."""
    command = "{python} -m vllm.entrypoints.openai.api_server --model {{model}} --served-model-name {{name}}"
    command += " --host 127.0.0.1 --port {{port}}"
    return {
        "model": os.environ["VLLM_MODEL"],
        "name": NAME,
        "command": command.format(python=os.environ["VLLM_PYTHON"]).split(),
        "arguments": ["--dtype", "bfloat16", "--max-model-len", "4096", "--enforce-eager", *WHOLE_PREFILL],
        "environment": {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
        "startup_s": 480.0,
        "client": {"timeout_s": 400.0},
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VLLMServer]:
    with VLLMServer(**settings()) as made:
        made.place(tmp_path_factory.mktemp("server"), lambda line: None)
        made.complete(Request((Message("user", "Say hello."),), max_tokens=4))
        yield made


def processes_of(marker: str) -> list[int]:
    """Returns the processes whose argument list holds ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def family(pids: list[int]) -> list[int]:
    """Returns processes and everything below them."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = list(pids), list(pids)
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def alive(pids: list[int]) -> list[int]:
    def state(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "Z"

    return [pid for pid in pids if state(pid) != "Z"]


def completions(run_dir: Path) -> list[Completion]:
    journal = run_dir / "journal.jsonl"
    if not journal.exists():
        return []
    answers = [value for kind, _, _, value in read_journal(journal) if kind == "completion"]
    return [Completion.from_json(value["completion"]) for value in answers]


def test_a_search_is_killed_and_resumed_and_its_server_is_gone(tmp_path: Path) -> None:
    (tmp_path / "conf" / "llm").mkdir(parents=True)
    node = {"_target_": "llm.VLLMServer", **settings()}
    (tmp_path / "conf" / "llm" / "small.yaml").write_text(yaml.safe_dump(node))
    run_dir = tmp_path / "run"
    command = [sys.executable, "-m", "experiments.run", "--config-dir", str(tmp_path / "conf"), "llm=small", *SMALL]
    command += [f"hydra.run.dir={run_dir}"]
    model = str(settings()["model"])

    with (tmp_path / "first.txt").open("w") as told:
        first = subprocess.Popen(command, cwd=ROOT, stdout=told, stderr=subprocess.STDOUT, start_new_session=True)
        limit = time.monotonic() + 600
        # The first generation has six proposals: after the third answer it is surely under way.
        while len(completions(run_dir)) < 3:
            assert first.poll() is None, (tmp_path / "first.txt").read_text()
            assert time.monotonic() < limit, (tmp_path / "first.txt").read_text()
            time.sleep(0.2)
        servers = family(processes_of(model))
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    recorded = (run_dir / "journal.jsonl").read_bytes()
    assert [] != servers
    limit = time.monotonic() + 60
    while alive(servers) and time.monotonic() < limit:
        time.sleep(0.2)
    assert [] == alive(servers)

    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert 0 == second.returncode, second.stderr
    whole_lines = recorded[: recorded.rindex(b"\n") + 1]
    assert (run_dir / "journal.jsonl").read_bytes().startswith(whole_lines)
    assert [] == alive(family(processes_of(model)))

    generations = [json.loads(line) for line in (run_dir / "generations.jsonl").read_text().splitlines()]
    slots = [slot for generation in generations[1:] for slot in generation["slots"]]
    assert GENERATIONS * 6 == len(slots)
    assert set() == {slot["outcome"] for slot in slots} - {*map(str, Outcome), "refused"}
    answers = completions(run_dir)
    assert {NAME} == {answer.model for answer in answers}
    assert all(answer.server.startswith("vllm ") and answer.completion_tokens > 0 for answer in answers)
    assert (run_dir / f"vllm-{NAME}.log").stat().st_size > 0

    replay = [sys.executable, "-m", "experiments.replay", str(run_dir)]
    assert 0 == subprocess.run(replay, cwd=ROOT, check=False, timeout=120).returncode
    export = [sys.executable, "-m", "experiments.transcript", str(run_dir), "--jsonl"]
    lines = subprocess.run(
        export, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()
    assert len(answers) == len(lines)


def test_requests_in_flight_fill_the_batch(server: VLLMServer) -> None:
    seen: list[float] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            seen.append(server.running_requests() or 0.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    ask = [Request((Message("user", "Count from 1 to 100."),), seed=seed, max_tokens=48) for seed in range(IN_FLIGHT)]
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        answers = list(pool.map(server.complete, ask))
    done.set()
    watcher.join()
    assert (IN_FLIGHT, True) == (max(seen), all(answer.text for answer in answers))


def test_a_prompt_that_is_too_long_is_cut_by_the_servers_own_count(server: VLLMServer) -> None:
    log = "kernel.cpp:12:8: error: expected ';' before '}' token\n" * 2000
    message = Message("user", log + "What is wrong?", (Section("log", 0, len(log), 4),))
    answer = server.complete(Request((message,), max_tokens=64))
    assert (["log"], True) == ([cut.split(":")[0] for cut in answer.cuts], 3000 < answer.prompt_tokens <= 4096 - 64)


def test_guided_decoding_is_passed_through(server: VLLMServer) -> None:
    extra = {"structured_outputs": {"choice": ["yes", "no"]}}
    answer = server.complete(Request((Message("user", "Is 7 a prime number?"),), max_tokens=8, extra=extra))
    assert answer.text.strip() in {"yes", "no"}


def test_the_token_limit_is_told(server: VLLMServer) -> None:
    answer = server.complete(Request((Message("user", "Write a long story."),), max_tokens=5))
    assert ("length", 5) == (answer.finish_reason, answer.completion_tokens)
