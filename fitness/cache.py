"""Things built once and kept by content in the user's cache: native helpers, precompiled headers, artifacts."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import MachineError


def cache_folder() -> Path:
    """Returns this user's folder: in ``$XDG_CACHE_HOME``, else in ``~/.cache``, else in the temporary folder.

    Raises:
        MachineError: None of them can be written.
    """
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for parent in (Path(root), Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"):
        folder = parent / "kernelwright"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    raise MachineError("no cache folder can be written; set XDG_CACHE_HOME to a writable folder")


def digest_of(*parts: str | bytes) -> str:
    """Returns a hex digest of the parts, separated so that no two splits of a text agree."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:40]


class Cache:
    """Folders by key, made once by whoever comes first, whole or not at all.

    A folder is filled under a temporary name and renamed into place, with a manifest of what it holds; a kill at any
    moment leaves either nothing or rubbish that the next writer removes. The lock is an `flock`, which the system
    releases when its holder dies.

    Attributes:
        folder: Where everything lies.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder()

    def find(self, kind: str, key: str) -> Path | None:
        """Returns the folder of ``key`` if it is there and holds what was put into it."""
        folder = self.folder / kind / key
        try:
            manifest = (folder / "manifest").read_text(encoding="ascii").splitlines()
            for line in manifest:
                digest, _, name = line.partition(" ")
                if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                    return None
        except OSError:
            return None
        return folder if manifest else None

    def make(self, kind: str, key: str, fill: Callable[[Path], None]) -> Path:
        """Returns the folder of ``key``, filled by ``fill(folder)`` if it was not there.

        Raises:
            MachineError: The disk is full or the cache cannot be written.
        """
        found = self.find(kind, key)
        if found is not None:
            return found
        with self.lock(f"{kind}-{key}"):
            found = self.find(kind, key)
            if found is not None:
                return found
            try:
                return self._fill(kind, key, fill)
            except OSError as error:
                raise MachineError(f"{self.folder}: the cache cannot be written ({error.strerror or error})") from error

    def _fill(self, kind: str, key: str, fill: Callable[[Path], None]) -> Path:
        parent = self.folder / kind
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f".{key}.*"):  # of a writer that was killed: the lock is ours now
            shutil.rmtree(left, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=parent))
        try:
            fill(draft)
            names = sorted(path.name for path in draft.iterdir() if path.is_file())
            lines = [f"{hashlib.sha256((draft / name).read_bytes()).hexdigest()} {name}\n" for name in names]
            (draft / "manifest").write_text("".join(lines), encoding="ascii")
            final = parent / key
            if final.exists():  # it was there, but damaged
                shutil.rmtree(final)
            draft.rename(final)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return final

    @contextmanager
    def machine_lock(self, name: str, *, shared: bool = False) -> Iterator[None]:
        """Holds a lock on something of this machine; the folder may be shared by many, as homes of clusters are."""
        with self.lock(f"{name}@{_machine()}", shared=shared):
            yield

    @contextmanager
    def lock(self, name: str, *, shared: bool = False) -> Iterator[None]:
        """Holds a lock that all processes of this user see that use this folder."""
        fd = self._open(name)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def sign(self, pid: int) -> str:
        """Returns the name of the lock by which a process of this machine shows that it is an evaluator."""
        return f"evaluator-{pid}@{_machine()}"

    def show(self) -> int:
        """Holds this process's sign until it ends; returns the descriptor.

        Others may hold it, too: threads of this process, and processes of the same number in other containers.
        """
        fd = self._open(self.sign(os.getpid()))
        fcntl.flock(fd, fcntl.LOCK_SH)
        return fd

    def shows(self, pid: int) -> bool:
        """Whether a process of this machine holds its sign: it is an evaluator of this user.

        Looking takes the lock for a moment; who else looks at that moment sees a sign that nobody holds.
        """
        try:
            fd = os.open(self._path(self.sign(pid)), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _open(self, name: str) -> int:
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _path(self, name: str) -> Path:
        return self.folder / "locks" / name[:80]


def _machine() -> str:
    """Returns what tells this machine from others, also to processes in its containers: its boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return os.uname().nodename
