"""All runs below one folder: found, summarised, and opened when somebody looks at them."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..analysis.tables import FAILURE, MARKS, RESULT
from ..faults import RunError
from .recording import Recording
from .root import Root
from .summary import Summary, summarise

RECORDS = MARKS | {"generations.jsonl", "environment.json", RESULT}
"""A folder with any of these is, or was to be, a run."""
OPEN_CANDIDATES = 100_000
"""Runs stay open until they hold so many candidates together; about 100 MB."""


@dataclass(frozen=True, slots=True)
class Found:
    """A folder that is listed.

    Attributes:
        path: Relative to the root.
        marks: Names, sizes and times of its files.
    """

    path: str
    marks: tuple[tuple[str, int, int], ...]

    @property
    def files(self) -> frozenset[str]:
        """The names of its files."""
        return frozenset(name for name, _, _ in self.marks)

    @property
    def changed_s(self) -> float:
        """When its files changed last, in seconds since the epoch."""
        return max((mtime_ns for _, _, mtime_ns in self.marks), default=0) / 1e9


class Collection:
    """The runs below a folder, each summarised again only when its files have changed.

    Args:
        path: The folder.

    Attributes:
        links: Links to folders, which are not followed, relative to the root.

    Raises:
        RunError: There is no such folder.
    """

    def __init__(self, path: Path) -> None:
        self.root = Root(path)
        self.links: list[str] = []
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Found, Summary]] = {}
        self._open: OrderedDict[str, Recording] = OrderedDict()

    def summaries(self) -> list[Summary]:
        """Looks for runs and returns what the list shows of each, by path."""
        with self._lock:
            locked = _locked_files()
            known: dict[str, tuple[Found, Summary]] = {}
            shown = []
            for found in self._find():
                before = self._known.get(found.path)
                summary = before[1] if before is not None and before[0] == found else self._summarise(found)
                known[found.path] = found, summary
                shown.append(self._with_lock(summary, locked))
            self._known = known
            return sorted(shown, key=lambda each: each.path)

    def summary(self, path: str) -> Summary:
        """Returns what the list shows of one run.

        Raises:
            RunError: There is no run of this name below the folder.
        """
        with self._lock:
            self._check(path)
            found = Found(path, _marks(os.path.join(self.root.path, path)))
            before = self._known.get(path)
            summary = before[1] if before is not None and before[0] == found else self._summarise(found)
            self._known[path] = found, summary
            return self._with_lock(summary, _locked_files())

    def recording(self, path: str) -> Recording:
        """Opens a run, as it stands now.

        Raises:
            RunError: There is no run of this name below the folder.
        """
        with self._lock:
            self._check(path)
            recording = self._open.pop(path, None) or Recording(self.root, self.root.path / path)
            self._open[path] = recording
            while (
                len(self._open) > 1 and sum(len(each.run.candidates) for each in self._open.values()) > OPEN_CANDIDATES
            ):
                self._open.popitem(last=False)
        recording.refresh()
        return recording

    def _check(self, path: str) -> None:
        """Refuses a path that was not found below the root, whatever it looks like."""
        if path not in self._known and path not in {found.path for found in self._find()}:
            raise RunError(f"there is no run {path!r} below {self.root.path}")

    def _find(self) -> Iterator[Found]:
        """Yields run directories and empty folders; links to folders are noted, hidden folders left out."""
        self.links = []
        for folder, folders, files in os.walk(self.root.path):
            path = os.path.relpath(folder, self.root.path)
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            if RECORDS.intersection(files):
                folders.clear()
                yield Found(path, _marks(folder))
                continue
            self.links += [os.path.normpath(os.path.join(path, name)) for name in links]
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in links)
            if not (files or folders or links):
                yield Found(path, ())

    def _summarise(self, found: Found) -> Summary:
        if not found.marks:
            return Summary(found.path, "empty", "the folder is empty", {"state": "empty", "name": found.path})
        names = found.files
        state = next(
            (state for state, name in (("finished", RESULT), ("failed", FAILURE)) if name in names), "unfinished"
        )
        if not names & {"journal.jsonl", "journal.jsonl.gz"} and state != "failed":
            state = "broken"
        return summarise(self.root, found.path, state, found.changed_s)

    def _with_lock(self, summary: Summary, locked: frozenset[tuple[int, int, int]]) -> Summary:
        """Returns the summary with the state ``"running"`` where a process holds the journal."""
        if not locked or summary.state in ("empty", "broken"):
            return summary
        try:
            stat = os.stat(self.root.path / summary.path / "journal.jsonl")
        except OSError:
            return summary
        if (os.major(stat.st_dev), os.minor(stat.st_dev), stat.st_ino) not in locked:
            return summary
        return replace(summary, state="running", values={**summary.values, "state": "running"})


def _marks(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Returns names, sizes and times of the records in a folder; those that vanish meanwhile are left out."""
    marks = []
    for name in (*RECORDS, "config.yaml"):
        try:
            found = os.stat(os.path.join(folder, name))
        except OSError:
            continue
        marks.append((name, found.st_size, found.st_mtime_ns))
    return tuple(sorted(marks))


def _locked_files() -> frozenset[tuple[int, int, int]]:
    """Returns device and inode of every locked file, as Linux tells.

    Trying the lock would tell everywhere, but would keep it from a run that starts at that moment.
    """
    try:
        lines = Path("/proc/locks").read_text("ascii").splitlines()
        files = [line.split()[-3].split(":") for line in lines if " FLOCK " in line and "->" not in line]
        return frozenset((int(major, 16), int(minor, 16), int(inode)) for major, minor, inode in files)
    except (OSError, ValueError, IndexError):
        return frozenset()
