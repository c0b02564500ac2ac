"""Where in a journal each answer stands, so that it can be read when it is asked for."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis.run_columns import HEAD
from ..faults import RunError
from .growing import GrowingFile
from .root import Root

JSON = dict[str, Any]

DAMAGES_TOLD = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where one answer stands.

    Attributes:
        offset: Of its line.
        at_s: When it was recorded, in seconds since the run began.
    """

    offset: int
    at_s: float


class JournalIndex:
    """The places of all answers; grows with the journal.

    Args:
        root: What may be opened.
        path: Of the journal, plain or compressed; it need not exist yet.

    Attributes:
        damages: Lines that are no answers, in words.
        configuration: What the journal was begun with.
        latest_s: Time of the last answer, in seconds since the run began.
        counts: How many answers of each kind there are.
    """

    def __init__(self, root: Root, path: Path) -> None:
        self.file = GrowingFile(root, path)
        self.damages: list[str] = []
        self.configuration: JSON = {}
        self._places: dict[tuple[str, str], Place] = {}
        self._duels: list[tuple[str, int]] = []
        self._lines = 0
        self.latest_s = 0.0
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._lines

    def refresh(self) -> None:
        """Takes in what was added since the last call; a line that is no answer becomes a damage.

        Raises:
            RunError: The file cannot be unpacked, or is out of the root.
            OSError: It cannot be read.
        """
        for offset, line in self.file.news():
            self._lines += 1
            if offset == 0:
                self._begin(line)
            else:
                self._note(offset, line)

    def place(self, kind: str, key: str) -> Place | None:
        """Returns where an answer stands.

        Args:
            kind: ``"evaluation"``, ``"verification"``, ``"completion"`` or ``"calibration"``.
            key: Digest of the kernel or of the request; empty for the calibration.
        """
        return self._places.get((kind, key))

    def answer(self, kind: str, key: str) -> JSON | None:
        """Reads an answer; None where it is not recorded.

        Raises:
            RunError: It cannot be read.
            OSError: The file cannot be read any more.
        """
        place = self.place(kind, key)
        return None if place is None else self._value(place.offset)

    def duels(self, digest: str) -> Iterator[JSON]:
        """Reads the duels that a kernel fought, in the order of recording.

        Raises:
            RunError: One cannot be read.
            OSError: The file cannot be read any more.
        """
        for key, offset in self._duels:
            if digest in key.split("/")[:2]:
                yield self._value(offset)

    def _begin(self, line: bytes) -> None:
        """Reads the first line."""
        try:
            found = json.loads(line).get("configuration")
        except (ValueError, AttributeError, RecursionError):
            self.damages.append(f"{self.file.path.name}: line 1 is no header of a journal")
            return
        self.configuration = found if isinstance(found, dict) else {}

    def _note(self, offset: int, line: bytes) -> None:
        """Remembers the place of one answer."""
        head = HEAD.match(line)
        if head is None or not math.isfinite(at_s := float(head[3])):
            if len(self.damages) < DAMAGES_TOLD:
                self.damages.append(f"{self.file.path.name}: line {self._lines} cannot be read and is left out")
            return
        kind, key = sys.intern(head[1].decode()), head[2].decode()
        self.latest_s = max(self.latest_s, at_s)
        self.counts[kind] += 1
        if kind == "duel":
            self._duels.append((key, offset))
            return
        digest = "" if kind == "calibration" else sys.intern(key.partition("/")[0])
        self._places[kind, digest] = Place(offset, at_s)

    def _value(self, offset: int) -> JSON:
        try:
            value = json.loads(self.file.line_at(offset))["value"]
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            raise RunError(f"{self.file.path.name}: the answer at byte {offset} cannot be read") from fault
        if not isinstance(value, dict):
            raise RunError(f"{self.file.path.name}: the answer at byte {offset} is no object")
        return value
