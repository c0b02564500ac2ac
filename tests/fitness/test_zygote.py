"""Forked workers: what a candidate in one of them can see and touch, and what becomes of the zygote."""

import ctypes
import importlib.util
import json
import os
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fitness import SandboxError
from fitness.cell import Cell, Limits
from fitness.compiler import find_compiler
from fitness.device.process import DeviceProcess
from fitness.device.session import DeviceSession
from fitness.device.start import device_cell, start_device
from fitness.device.zygote import Zygote
from fitness.sandbox import find_sandbox
from fitness.session import Artifact, Failed
from fitness.targets import Interpret
from fitness.tasks import RowSum

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

TASK, TARGET = RowSum(), Interpret()
MECHANISMS = [
    pytest.param("bubblewrap", marks=pytest.mark.skipif(not shutil.which("bwrap"), reason="no bwrap")),
    "limits",
]


def _landlock_version() -> int:
    return ctypes.CDLL(None).syscall(444, None, 0, 1)  # landlock_create_ruleset, asking for its version


@pytest.fixture(scope="module", params=MECHANISMS)
def zygote(request):
    sandbox = find_sandbox(find_compiler(), request.param)
    with Zygote(sandbox, device_cell(TARGET.device_files(), TARGET.environment(0)), 90.0) as made:
        yield made


def worker(zygote) -> DeviceSession:
    sandbox = zygote._sandbox
    return start_device(sandbox, TASK, TARGET.environment(0), TARGET.device_files(), timeout_s=60.0, zygote=zygote)


def told(session: DeviceSession, tmp_path: Path, expression: str) -> object:
    """Runs an expression in the candidate's place and returns its value, by way of the log of what it raises."""
    path = tmp_path / "candidate.py"
    path.write_text(
        f"import json, os, socket, sys\nfrom pathlib import Path\n\nraise RuntimeError('<' '<' + json.dumps({expression}) + '>' '>')\n"
    )
    with pytest.raises(Failed) as failed:
        session.load(Artifact(path, "kernel_fn", 0, "python_module"))
    log = failed.value.log
    assert "<<" in log, log
    return json.loads(log[log.rindex("<<") + 2 : log.rindex(">>")])


def test_a_fork_is_confined_as_a_program_is(zygote, tmp_path):
    fields = "{k: v.strip() for k, v in (l.split(':', 1) for l in open('/proc/self/status'))}"
    with worker(zygote) as session:
        status = told(session, tmp_path, fields)

    assert "1" == status["NoNewPrivs"]
    assert "2" == status["Seccomp"]
    if "bubblewrap" == zygote._sandbox.mechanism:
        assert {0} == {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}


def test_a_fork_has_the_limits_of_its_own(zygote, tmp_path):
    with worker(zygote) as session:
        limits = told(
            session,
            tmp_path,
            "[getattr(__import__('resource'), 'RLIMIT_' + n) for n in ('CORE', 'FSIZE', 'NOFILE')]"
            " and [__import__('resource').getrlimit(n)[1] for n in (4, 1, 7)]",
        )

    assert [0, 1 << 30, 4096] == limits


def test_a_fork_inherits_no_descriptor_but_its_pipes(zygote, tmp_path):
    with worker(zygote) as session:
        kinds = told(session, tmp_path, "sorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in range(3, 512)"
                     " if os.path.lexists(f'/proc/self/fd/{n}') and os.path.exists(f'/proc/self/fd/{n}'))")  # fmt: skip

    assert 2 == kinds.count("pipe")
    assert "socket" not in kinds


def test_a_fork_has_the_environment_that_it_was_given(zygote, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    with worker(zygote) as session:
        variables = told(session, tmp_path, "dict(os.environ)")

    assert "hunter2" not in variables.values()
    assert "1" == variables["TRITON_INTERPRET"]


def test_a_fork_starts_with_a_copy_of_what_triton_compiled_for_itself(zygote, tmp_path):
    zygote.caches.mkdir(exist_ok=True)
    (zygote.caches / "compiled").write_text("once")
    with worker(zygote) as session:
        found = told(session, tmp_path, "open(os.environ['TRITON_CACHE_DIR'] + '/compiled', 'r+').write('changed')")

    assert 7 == found
    assert "once" == (zygote.caches / "compiled").read_text()


def test_a_fork_cannot_write_what_another_one_will_see(zygote, tmp_path):
    attempt = (
        "[place for place in ('/', '/tmp', '/dev/shm', '/usr', '/proc', os.path.dirname(os.path.realpath('.')))"
        " if os.access(place, os.W_OK) and not os.system(f'touch {place}/planted 2>/dev/null')]"
    )
    look = "[place for place in ('/', '/tmp', '/dev/shm') if os.path.exists(f'{place}/planted')]"
    with worker(zygote) as first:
        told(first, tmp_path, attempt)
        with worker(zygote) as second:
            assert [] == told(second, tmp_path, look)
    assert not Path("/dev/shm/planted").exists()


def test_a_fork_does_not_see_the_scratch_folders_of_others(zygote, tmp_path):
    with worker(zygote) as first, worker(zygote) as second:
        (Path(first.folder.name) / "answer").write_text("42")
        reach = f"[p for p in ('{first.folder.name}/answer', '{zygote.folder}') if os.access(p, os.R_OK) and os.path.isdir(p) and os.listdir(p) or os.path.isfile(p) and open(p).read()]"
        found = told(second, tmp_path, f"(lambda: {reach})() if 'bubblewrap' == '{zygote._sandbox.mechanism}' else []")

        assert [] == found
    if "limits" == zygote._sandbox.mechanism:
        with worker(zygote) as first, worker(zygote) as second, pytest.raises(AssertionError, match="PermissionError"):
            told(second, tmp_path, f"os.listdir('{zygote.folder}') and open('{first.folder.name}/answer').read()")


def test_a_fork_cannot_reach_the_zygote(zygote, tmp_path):
    with worker(zygote):
        pass
    before = zygote.pid
    kill_everybody = "[os.kill(pid, 9) for pid in (int(p) for p in os.listdir('/proc') if p.isdigit()) if pid not in (1, os.getpid())]"
    if "bubblewrap" == zygote._sandbox.mechanism:
        with worker(zygote) as session:
            assert [] == told(session, tmp_path, kill_everybody)
    else:
        with worker(zygote) as session, pytest.raises(AssertionError, match=r"PermissionError|ProcessLookupError"):
            told(session, tmp_path, f"open('/proc/{before}/mem', 'rb').read(1)")
    with worker(zygote):
        assert before == zygote.pid


@pytest.mark.skipif(_landlock_version() < 6, reason="this kernel's Landlock does not confine signals")
def test_a_fork_cannot_signal_the_zygote(zygote, tmp_path):
    with worker(zygote) as session, pytest.raises(AssertionError, match=r"PermissionError|ProcessLookupError"):
        told(session, tmp_path, f"os.kill({_zygote_pid(zygote)}, 9)")
    with worker(zygote):
        pass


def test_a_fork_has_no_network(zygote, tmp_path):
    with worker(zygote) as session, pytest.raises(AssertionError, match="PermissionError"):
        told(session, tmp_path, "socket.socket().connect(('127.0.0.1', 22))")


def test_no_gpu_is_awake_and_no_thread_runs_in_the_zygote(zygote, tmp_path):
    with worker(zygote) as session:
        awake = told(session, tmp_path, "sys.modules['torch'].cuda.is_initialized()")
        threads = os.listdir(f"/proc/{_zygote_pid(zygote)}/task")

    assert awake is False
    assert 1 == len(threads)


def _zygote_pid(zygote) -> int:
    """The Python process; under bubblewrap it is a child of what was started."""
    children = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()
    return int(children[0]) if "bubblewrap" == zygote._sandbox.mechanism else zygote.pid


def test_nothing_is_left_of_a_fork_that_started_a_daemon(zygote, tmp_path):
    with worker(zygote) as session:
        told(session, tmp_path, "os.fork() or (os.setsid(), __import__('time').sleep(300)) and 0")
        marker = session.folder.name

    assert not Path(marker).exists()
    assert [] == [path for path in Path("/proc").glob("[0-9]*/cwd") if _link(path) == marker]


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def test_another_zygote_follows_one_that_was_killed(zygote):
    with worker(zygote):
        pass
    before = zygote.pid
    os.kill(_zygote_pid(zygote), signal.SIGKILL)
    time.sleep(0.2)
    with worker(zygote):
        assert before != zygote.pid


def test_a_worker_that_went_with_its_zygote_is_no_verdict(zygote):
    if "limits" == zygote._sandbox.mechanism:
        pytest.skip("without a process namespace, workers outlive their zygote")
    with worker(zygote) as session:
        os.kill(_zygote_pid(zygote), signal.SIGKILL)
        session.process._confined._process.wait(20)
        with pytest.raises(SandboxError, match="killed from outside"):
            session.process.request({"command": "probe"})


def test_what_cannot_be_started_is_a_broken_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("fitness.device.zygote._PROGRAM", tmp_path / "missing.py")
    sandbox = find_sandbox(find_compiler(), None)
    with Zygote(sandbox, Cell(), 20.0) as broken, pytest.raises(SandboxError, match="does not come up"):
        broken.start(Cell(scratch=tmp_path), Limits(1.0, 1, 0), {}, (0, 1))


def test_later_workers_find_the_launchers_of_the_seed_and_nothing_else(zygote, tmp_path):
    for name, file in (("AB", "__triton_launcher.so"), ("CD", "kernel.cubin")):
        (tmp_path / "of_the_seed" / name).mkdir(parents=True)
        (tmp_path / "of_the_seed" / name / file).write_text(name)
    shutil.rmtree(zygote.caches, ignore_errors=True)  # as where Triton compiled nothing at the start
    zygote.adopt(tmp_path / "of_the_seed")
    zygote.adopt(tmp_path / "of_the_seed")  # it has them already
    with worker(zygote) as session:
        found = told(session, tmp_path, "[str(path.name) for path in Path(os.environ['TRITON_CACHE_DIR']).glob('*/*')]")

    assert "__triton_launcher.so" in found
    assert "kernel.cubin" not in found


class Refusing:
    """A zygote of which no fork can be had, for want of anything."""

    def __init__(self, folder, error):
        self.folder, self.caches, self.error = folder, folder / "none", error

    def start(self, cell, limits, options, channel):
        assert all(os.fstat(each) for each in channel)
        raise self.error


@pytest.mark.parametrize("error", [SandboxError("none"), OSError(24, "Too many open files"), KeyboardInterrupt()])
def test_a_worker_that_cannot_be_started_leaves_neither_pipe_nor_folder(tmp_path, error):
    open_before = os.listdir("/proc/self/fd")
    with pytest.raises(type(error)):
        start_device(SimpleNamespace(mechanism="limits"), TASK, {}, (), timeout_s=9.0, zygote=Refusing(tmp_path, error))

    assert sorted(open_before) == sorted(os.listdir("/proc/self/fd"))
    assert [] == list(tmp_path.iterdir())


def test_a_pipe_that_cannot_be_had_closes_the_one_that_could(monkeypatch, tmp_path):
    open_before, left, pipe = os.listdir("/proc/self/fd"), [True], os.pipe

    def rare():
        if not left.pop():
            raise OSError(24, "Too many open files")
        left.append(False)
        return pipe()

    monkeypatch.setattr(os, "pipe", rare)
    with pytest.raises(OSError, match="Too many open files"):
        DeviceProcess.connected(lambda channel: None, tmp_path)

    assert sorted(open_before) == sorted(os.listdir("/proc/self/fd"))
