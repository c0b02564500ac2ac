import contextlib
import errno
import math
import os
import platform
import shutil
import time
from pathlib import Path

import pytest

from fitness import SandboxError
from fitness.cell import Cell, Limits
from fitness.compiler import find_compiler
from fitness.confined import kill_all
from fitness.disk import used_bytes
from fitness.sandbox import find_sandbox

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


def test_nobody_inside_a_namespace_ends_its_sandbox():
    if not shutil.which("bwrap"):
        pytest.skip("no bwrap")
    done = shell(find_sandbox(find_compiler(), "bubblewrap"), "kill -TERM 1; kill -INT 1; sleep 0.2; exit 7")

    assert os.WEXITSTATUS(done.status) == 7


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


REFUSED = {
    "clone": "clone(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "clone with a mount namespace": "clone(56, 0x00020000 | 17, 0, 0, 0, 0)",
    "unshare": "clone(272, 0x10000000)",
    "open_tree": "clone(428, -100, b'/', 0)",
    "move_mount": "clone(429, -100, b'/', -100, b'/', 0)",
    "fsopen": "clone(430, b'tmpfs', 0)",
    "fsconfig": "clone(431, -1, 0, 0, 0, 0)",
    "fsmount": "clone(432, -1, 0, 0)",
    "fspick": "clone(433, -100, b'/', 0)",
    "mount_setattr": "clone(442, -100, b'/', 0, 0, 0)",
    "open_tree_attr": "clone(467, -100, b'/', 0, 0, 0)",
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of clone and unshare are those of x86-64")
@pytest.mark.parametrize("name", REFUSED)
def test_a_build_makes_no_namespaces_and_no_mounts(sandbox, name):
    script = f"import ctypes, os\nclone = ctypes.CDLL(None, use_errno=True).syscall\nif {REFUSED[name]} == 0: os._exit(0)\nprint('errno', ctypes.get_errno())"
    assert f"errno {errno.EPERM}\n" == python(sandbox, script).log


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of clone3 is that of x86-64")
def test_a_build_has_no_clone3_whose_flags_nobody_reads(sandbox):
    script = "import ctypes\nprint(ctypes.CDLL(None, use_errno=True).syscall(435, 0, 0), ctypes.get_errno())"
    assert f"-1 {errno.ENOSYS}\n" == python(sandbox, script).log


def test_a_build_makes_pipes_with_names_and_no_devices(sandbox, tmp_path):
    """Nsight Compute starts nothing without such a pipe."""
    script = "import os, stat\nos.mkfifo('pipe')\nprint(stat.S_ISFIFO(os.stat('pipe').st_mode))\nos.mknod('device', stat.S_IFCHR | 0o600, os.makedev(1, 3))"
    tmp_path.chmod(0o777)
    log = python(sandbox, script, Cell(scratch=tmp_path)).log

    assert log.startswith("True\n")
    assert "PermissionError" in log


def test_a_build_still_has_threads_and_processes(sandbox):
    script = "import subprocess, threading\nthread = threading.Thread(target=print, args=('thread',))\nthread.start()\nthread.join()\nsubprocess.run(['/bin/echo', 'process'])"
    assert {"thread", "process"} == set(python(sandbox, script).log.split())


def python(sandbox, script, cell=None, limits=LIMITS):
    return sandbox.run(("/usr/bin/python3", "-I", "-u", "-c", script), cell or Cell(environment={}), limits)


NOBODY = 1 << 30  # no process has this id
ROOM = Limits(wall_s=60.0, cpu_s=60, memory_bytes=1 << 30, file_bytes=1 << 22, descriptors=256, disk_bytes=1 << 25)
FLOODS = {
    "many files": "for i in range(64): open(f'{i}', 'wb').write(bytes(1 << 20))",
    "files without a name": (
        "import os\nkept = []\nfor i in range(64):\n    kept.append(open('x', 'wb', 0))\n    kept[-1].write(bytes(1 << 20))\n    os.unlink('x')"
    ),
    "in deep folders": (
        "import os\nfor i in range(64):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n    open('x', 'wb').write(bytes(1 << 20))"
    ),
    "in the folder of a child's child": "import os\nif os.fork() == 0 and os.fork() == 0:\n    for i in range(64): open(f'{i}', 'wb').write(bytes(1 << 20))",
}


@pytest.mark.parametrize("name", FLOODS)
def test_files_have_a_limit_together(sandbox, tmp_path, name):
    tmp_path.chmod(0o777)
    done = python(sandbox, FLOODS[name] + "\nimport time\ntime.sleep(60)", Cell(scratch=tmp_path), ROOM)

    assert done.flooded
    assert done.status is None
    assert "stopped: its files took more than 32 MiB" in done.log


def test_files_below_the_limit_are_let_be(sandbox, tmp_path):
    tmp_path.chmod(0o777)
    script = "import os, time\nfor i in range(8): open(f'{i}', 'wb').write(bytes(1 << 20))\nos.truncate('0', 1 << 22)\ntime.sleep(1.2)"
    done = python(sandbox, script, Cell(scratch=tmp_path), ROOM)

    assert done.ok, done.log
    assert not done.flooded


def test_what_cannot_be_counted_is_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("fitness.disk._MOST_FILES", 10)
    for number in range(9):
        (tmp_path / str(number)).touch()

    assert 0.0 == used_bytes(tmp_path, NOBODY)
    (tmp_path / "one more").touch()
    assert math.inf == used_bytes(tmp_path, NOBODY)


def test_a_folder_that_is_gone_holds_nothing(tmp_path):
    assert 0.0 == used_bytes(tmp_path / "gone", NOBODY)


def test_what_lies_behind_an_absolute_link_of_the_system_is_read(sandbox):
    """Toolkits are installed behind such links, e.g. /usr/local/cuda."""
    links = (each for each in Path("/usr/bin").iterdir() if each.is_symlink() and os.readlink(each).startswith("/etc/"))
    link = next((each for each in links if os.path.realpath(each).startswith("/usr/")), None)
    if link is None:
        pytest.skip("no program below /usr/bin is an absolute link to one below /usr")
    done = sandbox.run(("/usr/bin/head", "-c", "1", str(link)), Cell(reads=(link,)), LIMITS)

    assert done.ok, done.log
