"""The command serves this machine alone, says in a line what is wrong, and ends cleanly."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from evolve import Journal
from experiments.browser import Collection, application, listening
from experiments.faults import RunError
from stored_run import make_run

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def browsing(root, *arguments):
    """Starts the command and yields its process and address; it is killed if it is still there at the end."""
    command = [sys.executable, "-m", "experiments.browse", str(root), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=-1, stderr=-1) as process:
        try:
            lines = [process.stdout.readline() for _ in range(2)]
            yield process, re.search(r"http://127\.0\.0\.1:\d+/", lines[1]).group()
        finally:
            process.kill()


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_serves_until_it_is_stopped(tmp_path, sign, status):
    make_run(tmp_path / "run")
    with browsing(tmp_path, "--port", "0") as (process, url):
        page = urllib.request.urlopen(url, timeout=60).read().decode()
        process.send_signal(sign)
        told = process.communicate(timeout=60)

    assert "1 of 1 run<" in page
    assert (status, "") == (process.returncode, told[1])


def test_only_the_loopback_interface_listens(tmp_path):
    with listening(application(Collection(tmp_path)), 0, 0) as server:
        assert "127.0.0.1" == server.socket.getsockname()[0]


def test_a_taken_port_is_told_or_replaced_by_another(tmp_path):
    app = application(Collection(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(RunError, match=f"port {taken} is taken by another program"), listening(app, taken, 0):
            pass
        with listening(app, None, taken) as server:
            assert server.port not in (0, taken)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["nowhere"], 1, "error: nowhere: no such folder; give one that holds runs"),
        ([".", "--port", "70000"], 2, "a port is a number from 0 to 65535"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(command, tmp_path, arguments, status, told):
    done = command("browse", *arguments, cwd=tmp_path)

    assert status == done.returncode
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_grows_is_followed(tmp_path):
    make_run(tmp_path / "run")
    path = tmp_path / "run" / "generations.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    client = application(Collection(tmp_path)).test_client()
    counts, waiting = [], []
    with Journal(tmp_path / "run" / "journal.jsonl"):
        for length in range(1, len(lines) + 1):
            path.write_text("".join(lines[:length]) + lines[-1][:20])
            page = client.get("/candidates?run=run", base_url="http://127.0.0.1").text
            counts.append(int(re.search(r"of (\d+) candidates?", page).group(1)))
            assert "state running" in page
            overview = client.get("/run?run=run", base_url="http://127.0.0.1").text
            waiting.append(int(re.search(r"under way, (\d+) kernels are evaluated", overview).group(1)))

    assert [1, 9, 17, 25, 33] == counts
    assert sorted(waiting, reverse=True) == waiting
    assert waiting[0] > waiting[-1] == 0
