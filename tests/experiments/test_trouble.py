"""The world goes wrong during a run: nothing is lost, and one line says what to do."""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SMALL = ["task=row_sum", "evaluator=quick", "mu=2", "lambda_=4", "seed=3"]
SEED = (ROOT / "fitness" / "tasks" / "seeds" / "row_sum.cpp").read_text()


class Handler(BaseHTTPRequestHandler):
    """Speaks as much of the OpenAI protocol as a client needs; the server's ``replies`` are given out in turn."""

    def do_GET(self):
        self._answer({"object": "list", "data": [{"id": "toy", "object": "model", "max_model_len": 8192}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        text = self.server.replies[(self.server.asked - 1) % len(self.server.replies)]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self._answer(
            {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [choice], "usage": usage}
        )

    def _answer(self, data):
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.replies = 0, ["I am sorry, I cannot help with that."]
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def model(port: int) -> list[str]:
    url = f"llm.base_url=http://127.0.0.1:{port}/v1"
    return ["operators=llm", "llm=server", url, "llm.model=toy", "llm.attempts=2", "llm.backoff_s=0.01"]


def funnel(folder: Path) -> dict[str, int]:
    record = json.loads((folder / "generations.jsonl").read_text().splitlines()[-1])
    rows = [row for name, row in record["funnel"].items() if name != "seed"]
    return {stage: sum(row[stage] for row in rows) for stage in ("proposed", "parsed")}


def test_a_run_with_a_model_works_against_any_server(server, command, tmp_path):
    server.replies = [f"Here it is:\n```cpp\n// variant {index}\n{SEED}\n```" for index in range(50)]
    done = command("run", *SMALL, *model(server.server_port), "generations=1", f"hydra.run.dir={tmp_path}")

    assert 0 == done.returncode, done.stderr
    assert {"proposed": 4, "parsed": 4} == funnel(tmp_path)


def test_replies_without_code_are_counted_and_end_nothing(server, command, tmp_path):
    done = command("run", *SMALL, *model(server.server_port), "generations=1", f"hydra.run.dir={tmp_path}")

    assert 0 == done.returncode, done.stderr
    assert {"proposed": 4, "parsed": 0} == funnel(tmp_path)


def test_a_replay_asks_no_model(server, command, tmp_path):
    assert (
        0 == command("run", *SMALL, *model(server.server_port), "generations=1", f"hydra.run.dir={tmp_path}").returncode
    )
    asked = server.asked
    done = command("replay", str(tmp_path))

    assert (0, asked) == (done.returncode, server.asked), done.stderr


def test_a_server_that_is_gone_stops_a_run_that_can_be_resumed(server, command, tmp_path):
    dead = command("run", *SMALL, *model(9), "generations=1", f"hydra.run.dir={tmp_path}")

    assert 1 == dead.returncode
    waiting, error, *_ = dead.stderr.splitlines()
    assert waiting.startswith("http://127.0.0.1:9/v1: ")
    assert error.startswith("error: ")
    assert "127.0.0.1:9" in error
    assert f"hydra.run.dir={tmp_path}" in dead.stderr.splitlines()[-1]
    kept = (tmp_path / "journal.jsonl").read_bytes()
    again = command("run", *SMALL, *model(server.server_port), "generations=1", f"hydra.run.dir={tmp_path}")
    assert 0 == again.returncode, again.stderr
    assert (tmp_path / "journal.jsonl").read_bytes().startswith(kept)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The directory of a finished run, for copying."""
    folder = tmp_path_factory.mktemp("stored") / "run"
    arguments = [*SMALL, "generations=2", f"hydra.run.dir={folder}"]
    subprocess.run([sys.executable, "-m", "experiments.run", *arguments], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture
def journal(stored, tmp_path):
    """The journal of a finished run that may be spoiled."""
    return shutil.copytree(stored, tmp_path / "run") / "journal.jsonl"


def test_a_torn_last_line_is_written_again(journal, command):
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]) + lines[-3][:40])
    done = command("run", *SMALL, "generations=2", f"hydra.run.dir={journal.parent}")

    assert 0 == done.returncode, done.stderr
    assert 0 == command("replay", str(journal.parent)).returncode


@pytest.mark.parametrize("name", ["run", "replay", "report"])
def test_a_broken_line_in_the_middle_is_named(journal, command, name):
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"kind": "evaluation", "key": \x00\xff\n'
    journal.write_bytes(b"".join(lines))
    arguments = [*SMALL, "generations=2", f"hydra.run.dir={journal.parent}"] if name == "run" else [str(journal.parent)]
    done = command(name, *arguments)

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "line 4" in done.stderr


DAMAGED = {"nothing": "", "half of it": '{"schema": "kern', "a list": "[]", "depths": "[" * 100_000}


@pytest.mark.parametrize("name", ["run", "replay", "report"])
@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_environment_is_named(journal, command, name, text):
    (journal.parent / "environment.json").write_text(text)
    arguments = [*SMALL, "generations=2", f"hydra.run.dir={journal.parent}"] if name == "run" else [str(journal.parent)]
    done = command(name, *arguments)

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "environment.json" in done.stderr
    assert "restore it, or delete it to go on without" in done.stderr


def test_a_damaged_run_keeps_no_other_from_its_replay(journal, stored, command):
    (journal.parent / "environment.json").write_text("")
    done = command("replay", str(journal.parent), str(stored))

    assert 1 == done.returncode
    assert f"{stored}: byte-identical" in done.stdout


@pytest.mark.parametrize("name", ["replay", "report"])
def test_a_refused_run_keeps_no_other_from_being_read(stored, tmp_path, command, name):
    (tmp_path / "run.log").touch()
    done = command(name, str(tmp_path), str(stored))

    assert (0, f"note: left out, as no run began there: {tmp_path}\n") == (done.returncode, done.stderr)


def test_a_run_that_is_not_finished_is_told(journal, command):
    (journal.parent / "result.json").unlink()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:4]))
    done = command("replay", str(journal.parent))

    assert (
        1,
        f"error: {journal.parent} has not come to its end; run its command again to finish it, then replay\n",
    ) == (
        done.returncode,
        done.stderr,
    )


def test_a_replay_that_differs_names_the_first_line(journal, command):
    records = journal.parent / "generations.jsonl"
    records.write_text(records.read_text().replace('"generation":1', '"generation":7'))
    done = command("replay", str(journal.parent))

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "generations.jsonl: line 2 differs" in done.stderr


def test_a_replay_notes_other_versions(journal, command):
    path = journal.parent / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "deap": "0.1"}))
    done = command("replay", str(journal.parent))

    assert 0 == done.returncode
    assert "note: deap was 0.1, is " in done.stderr


def test_two_runs_at_once_in_one_directory_are_kept_apart(journal, command):
    import fcntl

    with journal.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = command("run", *SMALL, "generations=2", f"hydra.run.dir={journal.parent}")

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "another process is running in this folder" in done.stderr


def unshare() -> list[str] | None:
    """A command prefix with mounts of its own; None where the system allows none."""
    prefix = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if shutil.which("unshare") is None:
        return None
    tried = subprocess.run([*prefix, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else None


@pytest.mark.skipif(unshare() is None, reason="no mount namespace can be made here")
def test_a_full_disk_is_one_line_and_nothing_before_it_is_lost(tmp_path, command):
    folder, saved = tmp_path / "run", tmp_path / "saved.jsonl"
    folder.mkdir()
    arguments = [*SMALL, "generations=4", f"hydra.run.dir={folder}"]
    script = (
        f"mount -t tmpfs -o size=48k none {folder} && "
        f"{sys.executable} -m experiments.run {' '.join(arguments)}; status=$?; "
        f"cp {folder}/journal.jsonl {saved}; exit $status"
    )
    done = subprocess.run(
        [*unshare(), "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )

    assert 1 == done.returncode, done.stderr
    assert 1 == len([line for line in done.stderr.splitlines() if line.startswith("error: ")])
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert saved.read_bytes().endswith(b"\n")
    shutil.copy(saved, folder / "journal.jsonl")
    assert 0 == command("run", *arguments).returncode
    assert (folder / "journal.jsonl").read_bytes().startswith(saved.read_bytes())


WRONG_TASK = """
from fitness import Kernel
from fitness.tasks import RowSum


class WrongSum(RowSum):
    def seed_kernel(self, language):
        right = super().seed_kernel(language)
        return Kernel(right.source.replace("+=", "-="), language, right.entry_point)
"""


def test_a_seed_kernel_that_is_wrong_is_the_tasks_fault(tmp_path, command):
    (tmp_path / "wrong_task.py").write_text(WRONG_TASK)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "wrong.yaml").write_text("_target_: wrong_task.WrongSum\ntime_sizes: [{M: 64, N: 64}]\n")
    arguments = ["--config-dir", str(tmp_path), "task=wrong", f"hydra.run.dir={tmp_path / 'run'}"]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.run", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "seed kernel of task" in done.stderr
    assert "wrong_value" in done.stderr
