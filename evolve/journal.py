"""Every answer of the outside world, once: what makes a run resumable and reproducible.

The file is JSON lines. The first line names the schema and the configuration; each further line is
one answer: ``{"kind": …, "key": …, "at_s": …, "value": …}``. Keys are digests of what was asked, so
the order of lines, which threads do not fix, does not matter.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .errors import JournalCorrupt, JournalError, JournalMismatch, JournalMiss
from .journal_file import JSON, Entry, JournalFile, scan
from .strict_json import json_text

SCHEMA = "kernelwright.journal/1"

Question = tuple[str, str]


class Journal:
    """Answers from the record, or asks and records.

    Only positions are kept in memory, so that a long run stays small.

    Args:
        path: Of ``journal.jsonl``; a path that ends in ``.gz`` can be read but not written.
        configuration: What the answers depend on. Kept in the first line; a journal that was begun
            with another one is refused. None accepts any.
        strict: Answer from the record alone; the file is only read, and need not be writable.

    Raises:
        JournalCorrupt: A line before the last cannot be read.
        JournalMismatch: The journal was begun with another configuration, or by another schema.
        JournalLocked: Another process writes to it.
        JournalUnwritable: The file cannot be opened or written.
        JournalError: ``strict``, and there is no such file.
    """

    def __init__(self, path: Path | str, *, configuration: Mapping[str, Any] | None = None, strict: bool = False):
        self.path = Path(path)
        self.strict = strict
        self._lock = threading.RLock()
        self._index: dict[Question, int] = {}
        self._pending: dict[Question, Future[JSON]] = {}
        self._lives = 0
        self._file = JournalFile(self.path, writable=not strict)
        try:
            self._base_s = self._load(configuration)
        except BaseException:
            self._file.close()
            raise
        self._unused = dict.fromkeys(self._index)
        self._opened_s = time.monotonic()

    def once(self, kind: str, key: str, make: Callable[[], JSON]) -> JSON:
        """Returns the recorded answer, or calls ``make``, records its answer and returns that.

        What is returned has passed through JSON in either case. Threads that ask the same at once
        share one call.

        Raises:
            JournalMiss: The answer is not recorded and the journal is strict.
            JournalUnwritable: The answer could not be written.
        """
        with self._lock:
            recorded = self.lookup(kind, key)
            if recorded is not None:
                return recorded
            pending = self._pending.get((kind, key))
            if pending is None:
                mine = self._pending[kind, key] = Future()
        if pending is not None:
            return pending.result()
        try:
            value = self.record(kind, key, make())
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            mine.set_result(value)
            return value
        finally:
            with self._lock:
                del self._pending[kind, key]

    def lookup(self, kind: str, key: str) -> JSON | None:
        """Returns the recorded answer, or None when there is none.

        Raises:
            JournalMiss: There is none and the journal is strict.
        """
        with self._lock:
            offset = self._index.get((kind, key))
            if offset is None:
                if self.strict:
                    raise JournalMiss(kind, key)
                return None
            self._unused.pop((kind, key), None)
            line = self._file.read(offset)
        value: JSON = json.loads(line)["value"]
        return value

    def record(self, kind: str, key: str, value: JSON) -> JSON:
        """Appends an answer and returns it as it will be read back.

        Raises:
            JournalUnwritable: It could not be written whole; the file ends with the answer before.
        """
        text = json_text(value, separators=(",", ":"))
        head = json_text({"kind": kind, "key": key, "at_s": round(self.elapsed_s(), 3)}, separators=(",", ":"))
        with self._lock:
            self._index[kind, key] = self._file.append(f'{head[:-1]},"value":{text}}}\n'.encode())
            self._lives += 1
        plain: JSON = json.loads(text)
        return plain

    def sync(self) -> None:
        """Waits until everything recorded is on the disk.

        Raises:
            JournalUnwritable: The disk refuses.
        """
        with self._lock:
            self._file.sync()

    def elapsed_s(self) -> float:
        """Returns the wall time of the run so far, over all its attempts."""
        return self._base_s + time.monotonic() - self._opened_s

    @property
    def live(self) -> bool:
        """Whether an answer was recorded since the journal was opened."""
        return self._lives > 0

    def unused(self, *kinds: str) -> list[Question]:
        """Returns what was recorded before this attempt, is of these kinds, and was not asked for again."""
        with self._lock:
            return [question for question in self._unused if question[0] in kinds]

    def __len__(self) -> int:
        return len(self._index)

    def close(self) -> None:
        """Closes the file. Answers that arrive later are refused with `JournalUnwritable`."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _load(self, configuration: Mapping[str, Any] | None) -> float:
        """Reads the index; returns the latest time in the record, in seconds."""
        latest_s = 0.0
        header, end = False, 0
        for entry in self._file.entries():
            end = entry.end
            if not header:
                self._check_header(entry, configuration)
                header = True
                continue
            kind, key, at_s = _question(entry, self.path)
            self._index[kind, key] = entry.offset
            latest_s = max(latest_s, at_s)
        if self.strict and not header:
            raise JournalError(f"{self.path}: nothing is recorded here")
        self._file.drop_after(end)
        if not header:
            line = {"schema": SCHEMA, "configuration": _plain(configuration)}
            self._file.append(json_text(line, separators=(",", ":")).encode() + b"\n")
        return latest_s

    def _check_header(self, entry: Entry, configuration: Mapping[str, Any] | None) -> None:
        schema = entry.data.get("schema")
        if schema != SCHEMA:
            raise JournalMismatch(f"{self.path}: schema {schema!r} is not {SCHEMA!r}; use a new run directory")
        recorded, wanted = _plain(entry.data.get("configuration")), _plain(configuration)
        if wanted is None or recorded is None or recorded == wanted:
            return
        raise JournalMismatch(
            f"{self.path}: begun with another configuration ({_difference(recorded, wanted)}); "
            "use the old one to resume, or another run directory"
        )


def read_configuration(path: Path | str) -> Mapping[str, Any]:
    """Returns the configuration that a journal was begun with; empty when there is none, or no journal."""
    try:
        header = next(scan(Path(path)), None)
    except JournalError:
        return {}
    configuration = header.data.get("configuration") if header is not None else None
    return configuration if isinstance(configuration, Mapping) else {}


def read_journal(path: Path | str) -> Iterator[tuple[str, str, float, JSON]]:
    """Yields kind, key, time in seconds since the run began, and value of every recorded answer.

    For reports: nothing is locked, and a torn last line is left out.

    Args:
        path: Of ``journal.jsonl`` or ``journal.jsonl.gz``.

    Raises:
        JournalCorrupt: A line before the last cannot be read.
        JournalError: The file cannot be opened.
    """
    path = Path(path)
    for number, entry in enumerate(scan(path)):
        if number:
            kind, key, at_s = _question(entry, path)
            yield kind, key, at_s, entry.data["value"]


def _question(entry: Entry, path: Path) -> tuple[str, str, float]:
    """Returns kind, key and time of a line, which must have all fields."""
    data = entry.data
    if not (isinstance(data.get("kind"), str) and isinstance(data.get("key"), str) and "value" in data):
        raise JournalCorrupt(f"{path}: line {entry.number} is no answer", entry.number)
    return data["kind"], data["key"], float(data.get("at_s", 0.0))


def _plain(configuration: Mapping[str, Any] | None) -> Any:
    """Returns the configuration as it reads back from JSON, so that tuples equal lists, and no limit is null."""
    return None if configuration is None else json.loads(json_text(configuration))


def _difference(recorded: Any, wanted: Any, limit: int = 3) -> str:
    """Names the first few keys that differ, with both values."""
    old, new = dict(_leaves(recorded)), dict(_leaves(wanted))
    differing = [key for key in sorted({*old, *new}) if old.get(key, _ABSENT) != new.get(key, _ABSENT)]
    shown = [f"{key or '.'}: {old.get(key, _ABSENT)} then, {new.get(key, _ABSENT)} now" for key in differing[:limit]]
    more = len(differing) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


_ABSENT = "absent"


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yields dotted key and JSON text of every value that is no mapping."""
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        text = json_text(tree)
        yield prefix, text if len(text) <= 60 else text[:57] + "..."
