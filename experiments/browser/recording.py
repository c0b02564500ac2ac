"""One run directory, read as far as it has grown; long records are read when they are asked for.

Of every candidate a few hundred bytes stay in memory. Sources, samples, logs and what a model said
stay on the disk; only their places are remembered.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fitness import Calibration, Duel, Evaluation
from llm import Completion, Request

from ..faults import RunError
from ..records import candidate_of, number
from ..runs import Candidate, Run
from ..transcript import Exchange
from .growing import GrowingFile
from .journal_index import JournalIndex
from .root import Root
from .slots import checked, totals, verdict_of
from .stored import FAULTS, Facts, read_facts, told

JSON = dict[str, Any]

STORED = ("journal.jsonl", "journal.jsonl.gz", "generations.jsonl", "config.yaml", "environment.json", "result.json")
SOURCE_HEAD = re.compile(rb'\{"schema":"[^"]*","kernel":"(\w+)"')


class Recording:
    """What is stored of one run.

    Args:
        root: What may be opened.
        path: The run directory, inside the root.

    Attributes:
        run: As it stood when `refresh` was called last; candidates without samples and logs.
        problems: What could not be read, a line each.
        version: Differs whenever anything new was read.
    """

    run: Run
    problems: Sequence[str]

    def __init__(self, root: Root, path: Path) -> None:
        self._root, self.path = root, path
        self._lock = threading.RLock()
        self.version = ""
        self._begin()
        self.refresh()

    def refresh(self) -> None:
        """Reads what was added to the files since the last call; what is damaged becomes a problem."""
        with self._lock:
            if any(file.is_another() for file in (self.journal.file, self._generations, self._sources)):
                self._begin()
            self._facts = read_facts(self._root, self.path)
            for read in (self.journal.refresh, self._read_generations, self._read_sources):
                self._try(read)
            version = self._extent()
            if self.version != version:
                self.version, self.run = version, self._snapshot()
            self.problems = (*self._facts.problems, *self._damages, *self.journal.damages)

    def evaluation(self, digest: str, kind: str = "evaluation") -> Evaluation | None:
        """Reads the whole verdict on a kernel, samples and log included; None where there is none.

        Args:
            digest: Of the kernel.
            kind: ``"evaluation"``, or ``"verification"`` for the judgement at the end.

        Raises:
            RunError: It cannot be read.
        """
        value = self.journal.answer(kind, digest)
        try:
            return None if value is None else Evaluation.from_json(value)
        except FAULTS as fault:
            raise RunError(f"the {kind} of {digest} cannot be read: {told(fault)}") from fault

    def duels(self, digest: str) -> list[Duel]:
        """Reads the duels that a kernel fought, in the order of recording.

        Raises:
            RunError: One of them cannot be read.
        """
        try:
            return [Duel.from_json(value) for value in self.journal.duels(digest)]
        except FAULTS as fault:
            raise RunError(f"a duel of {digest} cannot be read: {told(fault)}") from fault

    def source(self, digest: str) -> str | None:
        """Reads the source of a kernel; None where the run was stored without it.

        Raises:
            RunError: It cannot be read.
        """
        offset = self._source_at.get(digest)
        try:
            return None if offset is None else str(json.loads(self._sources.line_at(offset))["source"])
        except FAULTS as fault:
            raise RunError(f"the source of {digest} cannot be read: {told(fault)}") from fault

    def exchange(self, key: str) -> Exchange | None:
        """Reads a request to the model and its answer; None where it is not recorded.

        Raises:
            RunError: It cannot be read.
        """
        place, value = self.journal.place("completion", key), self.journal.answer("completion", key)
        if place is None or value is None:
            return None
        try:
            request, answer = Request.from_json(value["request"]), Completion.from_json(value["completion"])
        except FAULTS as fault:
            raise RunError(f"the request {key} cannot be read: {told(fault)}") from fault
        return Exchange(key, place.at_s, request, answer)

    def check_files(self) -> None:
        """Makes sure that whoever reads the run directory by itself reads nothing outside the root.

        Raises:
            RunError: One of its files is a link that leads out, or no plain file.
        """
        sources = self.path / "kernels" / "sources.jsonl"
        for path in (*(self.path / name for name in STORED), sources):
            if path.exists():
                with self._root.open(path):
                    pass

    def children(self, digest: str) -> Sequence[Candidate]:
        """Returns the candidates that were made from a kernel, in slot order."""
        return self._children.get(digest, ())

    def _begin(self) -> None:
        """Forgets everything that was read."""
        packed = self.path / "journal.jsonl.gz"
        plain = self.path / "journal.jsonl"
        self.journal = JournalIndex(self._root, packed if packed.exists() and not plain.exists() else plain)
        self._generations = GrowingFile(self._root, self.path / "generations.jsonl")
        self._sources = GrowingFile(self._root, self.path / "kernels" / "sources.jsonl")
        self._facts = Facts()
        self._candidates: list[Candidate] = []
        self._source_at: dict[str, int] = {}
        self._children: dict[str, list[Candidate]] = {}
        self._last: JSON = {}
        self._charged = 0
        self._damages: list[str] = []

    def _try(self, read: Callable[[], None]) -> None:
        """Reads as far as it goes, and notes what was in the way."""
        try:
            read()
        except FAULTS as fault:
            damage = told(fault)
            if damage not in self._damages:
                self._damages.append(damage)

    def _extent(self) -> str:
        """Returns a text that differs when more has been read."""
        files = (self.journal.file, self._generations, self._sources)
        facts = self._facts
        told = (*(file.seen for file in files), facts.config_text, facts.environment, facts.result, facts.failure)
        return hashlib.sha256(repr(told).encode("utf-8", "backslashreplace")).hexdigest()[:12]

    def _read_generations(self) -> None:
        for _, line in self._generations.news():
            self._try(partial(self._take, line))

    def _take(self, line: bytes) -> None:
        """Takes in one generation, as far as its line can be read."""
        try:
            record = json.loads(line)
            for slot in record["slots"]:
                self._add(slot, int(record["generation"]))
            self._last = totals(record)
        except FAULTS as fault:
            raise RunError(f"generations.jsonl: a line cannot be read: {told(fault)}") from fault

    def _add(self, slot: JSON, generation: int) -> None:
        """Takes in one slot."""
        slot = checked(slot)
        evaluation = verdict_of(slot)
        self._charged += evaluation is not None and slot["duplicate_of"] is None
        candidate = candidate_of(slot, generation, evaluation, self._charged)
        self._candidates.append(candidate)
        for parent in dict.fromkeys(candidate.parents):
            self._children.setdefault(parent, []).append(candidate)

    def _read_sources(self) -> None:
        for offset, line in self._sources.news():
            head = SOURCE_HEAD.match(line)
            if head is None:
                raise RunError("sources.jsonl: a line cannot be read")
            self._source_at[sys.intern(head[1].decode())] = offset

    def _snapshot(self) -> Run:
        """Returns the run as it stands, with the whole verdict on its best kernel."""
        facts, last, elapsed_s = self._facts, self._last, number(self._facts.result.get("elapsed_s"))
        best = last.get("best")
        whole, verified = self._verdict_on(best, "evaluation"), self._verdict_on(best, "verification")
        return Run(
            path=self.path,
            config=facts.config or self.journal.configuration,
            config_text=facts.config_text,
            environment={key: value for key, value in facts.environment.items() if key not in ("schema", "choices")},
            choices=facts.choices,
            candidates=tuple(
                replace(each, evaluation=whole) if whole is not None and each.digest == best else each
                for each in self._candidates
            ),
            sources=_Sources(self, self._source_at),
            best_digest=best,
            generations=last.get("generation", 0),
            evaluations=last.get("evaluations", 0),
            duels=last.get("duels", 0),
            counts=last.get("funnel", {}),
            elapsed_s=self.journal.latest_s if elapsed_s is None else elapsed_s,
            verification=verified,
            calibration=self._calibration(),
            ended=str(facts.result.get("ended", "")),
        )

    def _verdict_on(self, digest: str | None, kind: str) -> Evaluation | None:
        """Reads a verdict; one that cannot be read is a problem and None."""
        try:
            return None if digest is None else self.evaluation(digest, kind)
        except (RunError, OSError) as fault:
            self._damages.append(told(fault))
            return None

    def _calibration(self) -> Calibration | None:
        """Reads the scale of the run; one that cannot be read is a problem and None."""
        try:
            value = self.journal.answer("calibration", "")
            return None if value is None else Calibration.from_json(value)
        except FAULTS as fault:
            self._damages.append(told(fault))
            return None


class _Sources(Mapping[str, str]):
    """Sources by digest, read one at a time."""

    def __init__(self, recording: Recording, places: Mapping[str, int]) -> None:
        self._recording, self._places = recording, places

    def __getitem__(self, digest: str) -> str:
        try:
            source = self._recording.source(digest)
        except (RunError, OSError) as fault:
            raise KeyError(digest) from fault
        if source is None:
            raise KeyError(digest)
        return source

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
