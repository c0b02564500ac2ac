import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest

from fitness import SandboxError
from fitness.compiler import find_compiler
from fitness.confined import kill_all
from fitness.sandbox import Cell, Limits, find_sandbox

LIMITS = Limits(wall_s=20.0, cpu_s=5, memory_bytes=1 << 30)
MECHANISMS = [
    "limits",
    pytest.param("bubblewrap", marks=pytest.mark.skipif(not shutil.which("bwrap"), reason="no bwrap")),
]


@pytest.fixture(params=MECHANISMS)
def sandbox(request):
    return find_sandbox(find_compiler(), request.param)


def shell(sandbox, script, cell=None, limits=LIMITS):
    return sandbox.run(("/bin/sh", "-c", script), cell or Cell(environment={"PATH": "/usr/bin:/bin"}), limits)


def processes_called(name):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if name.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_a_command_runs(sandbox):
    assert shell(sandbox, "echo hello").log == "hello\n"


def test_an_exit_code_is_told(sandbox):
    assert os.WEXITSTATUS(shell(sandbox, "exit 7").status) == 7


def test_a_signal_is_told(sandbox):
    assert os.WTERMSIG(shell(sandbox, "kill -SEGV $$").status) == 11


def test_only_listed_variables_are_there(sandbox, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    cell = Cell(environment={"PATH": "/usr/bin:/bin", "ONE": "1"})
    assert "hunter2" not in shell(sandbox, "env; true", cell).log


def test_files_outside_are_out_of_reach(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    assert "hunter2" not in shell(sandbox, f"cat {secret} /etc/passwd /etc/shadow").log


def test_the_password_file_is_out_of_reach(sandbox):
    assert "root:" not in shell(sandbox, "cat /etc/passwd").log


def test_a_listed_file_is_in_reach(sandbox, tmp_path):
    (tmp_path / "given").write_text("hello")
    cell = Cell(reads=(tmp_path / "given",), environment={"PATH": "/usr/bin:/bin"})
    assert shell(sandbox, f"cat {tmp_path}/given", cell).log == "hello"


def test_a_listed_file_is_read_only(sandbox, tmp_path):
    (tmp_path / "given").write_text("hello")
    shell(sandbox, f"echo bye > {tmp_path}/given", Cell(reads=(tmp_path / "given",)))
    assert (tmp_path / "given").read_text() == "hello"


def test_the_scratch_folder_is_the_current_one_and_writable(sandbox, tmp_path):
    shell(sandbox, "echo hello > here", Cell(scratch=tmp_path))
    assert (tmp_path / "here").read_text() == "hello\n"


def test_the_system_is_read_only(sandbox):
    shell(sandbox, "touch /usr/kernelwright-was-here")
    assert not Path("/usr/kernelwright-was-here").exists()


def test_there_is_no_network(sandbox):
    python = "import socket; socket.socket(); print('connected')"
    assert "connected" not in shell(sandbox, f'/usr/bin/python3 -c "{python}"').log


def test_descriptors_are_not_inherited(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        assert "hunter2" not in shell(sandbox, f"cat <&{fd}").log
    finally:
        os.close(fd)


def test_the_wall_clock_stops_what_sleeps(sandbox):
    assert shell(sandbox, "sleep 60", limits=Limits(0.3, 5, 1 << 30)).status is None


def test_the_cpu_limit_stops_what_computes(sandbox):
    done = shell(sandbox, "while :; do :; done", limits=Limits(30.0, 1, 1 << 30))
    assert os.WIFSIGNALED(done.status)


def test_a_daemon_in_a_session_of_its_own_dies_too(sandbox):
    name = f"61.{os.getpid()}{time.monotonic_ns()}"
    shell(
        sandbox, f"setsid sleep {name} < /dev/null > /dev/null 2>&1 & setsid sleep {name} & exit 0", Cell(scratch=None)
    )
    assert processes_called(name) == []


def test_files_have_a_limit(sandbox, tmp_path):
    shell(sandbox, "head -c 1000000 /dev/zero > big", Cell(scratch=tmp_path), Limits(20.0, 5, 1 << 30, file_bytes=1000))
    assert not (tmp_path / "big").exists() or (tmp_path / "big").stat().st_size <= 1000


def test_a_flood_of_output_is_capped(sandbox):
    limits = Limits(20.0, 5, 1 << 30, file_bytes=1 << 24)
    done = shell(sandbox, "yes begin | head -c 3000000; echo end", limits=limits)
    assert done.log.startswith("begin")
    assert done.log.endswith("end\n")
    assert len(done.log) < 20_000


def test_memory_has_a_limit(sandbox):
    done = shell(sandbox, "/usr/bin/python3 -c 'x = bytearray(1 << 30); print(1)'", limits=Limits(20.0, 5, 1 << 28))
    assert not done.ok


def test_nothing_is_left_open(sandbox):
    shell(sandbox, "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        shell(sandbox, "true")
    assert len(os.listdir("/proc/self/fd")) == before


def test_all_can_be_ended_at_once(sandbox):
    confined = sandbox.start(Cell(environment={"PATH": "/usr/bin:/bin"}), LIMITS, {}, ("/bin/sleep", "60"))
    kill_all()
    with contextlib.suppress(SandboxError):
        confined.wait(10.0)
    confined.close()
    assert confined.log == ""


def test_a_missing_mechanism_is_an_error():
    with pytest.raises(SandboxError, match="no sandbox works"):
        find_sandbox.__wrapped__(find_compiler(), "chains")
