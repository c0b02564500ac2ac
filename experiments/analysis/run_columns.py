"""One run directory as columns: what each slot proposed, what became of it, and what had been spent by then.

A sweep has thousands of runs, so lines of the journal are read no further than needed: their long
samples and logs are never decoded.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve import whole_lines

JSON = dict[str, Any]

COLUMNS: Mapping[str, str] = {
    "slot": "int32",
    "generation": "int32",
    "operator": "category",
    "outcome": "category",
    "status": "category",
    "kernel": "uint64",
    "duplicate": "bool",
    "latency_us": "float64",
    "speedup": "float64",
    "parent_speedup": "float64",
    "best": "float64",
    "charged": "bool",
    "evaluations": "int32",
    "tokens": "int32",
    "cost_s": "float64",
    "elapsed_s": "float64",
}
"""Columns of the table of evaluations, a row a slot, and their types.

``kernel`` is the first 16 hex digits of the digest, 0 without a kernel. ``parent_speedup`` is that of
the fastest parent, 1 for a draft. ``best`` is the speedup of the certified best after the slot.
``charged`` tells whether the slot cost an evaluation; ``evaluations`` counts what had been charged,
duels at the end of their generation. ``tokens`` and ``cost_s`` (build, check and time, and the
model's time shared out by tokens) are the slot's own; ``elapsed_s`` is the wall time of the run.
"""

HEAD = re.compile(rb'\{"kind":"(\w+)","key":"([^"]*)","at_s":([-+.\deE]+),"value":')
SECONDS, LATENCY = b'"seconds":{', b'"latency_s":'
"""Fields of an answer. Inside a text their quotes would be escaped, so it holds none of them."""
NUMBER = re.compile(rb"[-+.\deE]+")
STAGE = re.compile(rb'"(\w+)":([^,]*)')


@dataclass(slots=True)
class Clockings:
    """What the journal of a run says about time.

    Attributes:
        at_s: When each kernel's verdict was recorded, by digest, in seconds since the run began.
        cost_s: What it took to build, check and time each kernel, by digest.
        model_s: What all completions took together.
        verified_speedup: Of the winner, judged anew; None where that was not done, NaN where the
            winner failed.
        verified_low: Lower end of the 95 % interval of that speedup; None where there is none.
        noise_floor: Of the machine, as a fraction.
        configuration: The resolved configuration of the run.
    """

    at_s: dict[str, float] = field(default_factory=dict)
    cost_s: dict[str, float] = field(default_factory=dict)
    model_s: float = 0.0
    verified_speedup: float | None = None
    verified_low: float | None = None
    noise_floor: float | None = None
    configuration: JSON = field(default_factory=dict)


def journal_path(run_dir: Path) -> Path | None:
    """Returns the journal of a run, plain or compressed; None where there is none."""
    return next((path for name in ("journal.jsonl", "journal.jsonl.gz") if (path := run_dir / name).is_file()), None)


def read_clockings(journal: Path) -> Clockings:
    """Reads times, costs and the verification from a journal; a torn last line is left out.

    Raises:
        ValueError: A whole line is no answer.
        OSError: The file cannot be read.
    """
    found = Clockings()
    with gzip.open(journal) if journal.suffix == ".gz" else journal.open("rb") as file:
        for number, line in enumerate(whole_lines(file, journal)):
            if number:
                _note(found, line)
            else:
                found.configuration = json.loads(line).get("configuration") or {}
    return found


def _note(found: Clockings, line: bytes) -> None:
    """Takes one answer into account.

    Raises:
        ValueError: It is none.
    """
    head = HEAD.match(line)
    if head is None:
        raise ValueError("a line of the journal is no answer")
    kind, key = head[1], head[2].decode()
    if kind == b"evaluation":
        digest = key.partition("/")[0]
        found.at_s[digest] = float(head[3])
        found.cost_s[digest] = _stages_s(line)
    elif kind == b"completion":
        latency = NUMBER.match(line, line.rfind(LATENCY) + len(LATENCY)) if LATENCY in line else None
        found.model_s += float(latency[0]) if latency else 0.0
    elif kind == b"verification":
        value = json.loads(line)["value"]
        speedup, interval = value.get("speedup"), value.get("interval")
        found.verified_speedup = float("nan") if speedup is None else float(speedup)
        found.verified_low = float(interval[0]) if interval else None
    elif kind == b"calibration":
        found.noise_floor = float(json.loads(line)["value"]["noise_floor"])


def _stages_s(line: bytes) -> float:
    """Adds up the last ``"seconds":{"build":0.1,"check":…}`` of a line without the time in the queue; 0 without one.

    Raises:
        ValueError: It does not end, or holds something other than numbers.
    """
    start = line.rfind(SECONDS) + len(SECONDS)
    if start < len(SECONDS):
        return 0.0
    stages = STAGE.findall(line, start, line.index(b"}", start))
    return sum([float(value) for name, value in stages if name != b"queue"])


@dataclass(slots=True)
class RunColumns:
    """The slots of one run; grows generation by generation.

    Attributes:
        clockings: What its journal says about time.
        columns: One list a column of `COLUMNS`.
        evaluations: Charged in all, duels included.
        tokens: Spent in all.
        inherited_speedup: Of the best seed kernel.
        best: The last certified best speedup.
        elapsed_s: Wall time when the last slot was committed.
        speedups: Of all kernels so far, by digest.
    """

    clockings: Clockings = field(default_factory=Clockings)
    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    evaluations: int = 0
    tokens: int = 0
    inherited_speedup: float = 1.0
    best: float = 1.0
    elapsed_s: float = 0.0
    speedups: dict[str, float] = field(default_factory=dict)

    def add_generation(self, record: JSON) -> None:
        """Adds the slots of one generation.

        Raises:
            ValueError: A field is missing or of the wrong kind.
        """
        try:
            best = max(record["best"]["speedup"] or 1.0, 1.0)
            for slot in record["slots"]:
                if slot["slot"] == record["best"]["slot"]:
                    self.best = best
                self._add_slot(slot, record["generation"])
            self.best, self.evaluations, self.tokens = best, record["evaluations"], record["tokens"]
            self.inherited_speedup = record["inherited_speedup"] or 1.0
            if record["slots"]:
                self.columns["evaluations"][-1] = self.evaluations
                self.columns["best"][-1] = best
        except (KeyError, TypeError) as fault:
            raise ValueError(f"a generation lacks or misuses {fault}") from fault

    def _add_slot(self, slot: JSON, generation: int) -> None:
        """Adds one row."""
        digest, speedup, duplicate = slot["kernel"], slot["speedup"], slot["duplicate_of"] is not None
        charged = digest is not None and not duplicate and slot["outcome"] == "parsed"
        self.evaluations += charged
        self.elapsed_s = max(self.elapsed_s, self.clockings.at_s.get(digest, 0.0))
        row = {
            **slot,
            "generation": generation,
            "status": slot["status"] or "none",
            "kernel": int(digest[:16], 16) if digest else 0,
            "duplicate": duplicate,
            "parent_speedup": max(
                (self.speedups[each] for each in slot["parents"] if each in self.speedups), default=1.0
            ),
            "best": self.best,
            "charged": charged,
            "evaluations": self.evaluations,
            "cost_s": self.clockings.cost_s.get(digest, 0.0) if charged else 0.0,
            "elapsed_s": self.elapsed_s,
        }
        for name, column in self.columns.items():
            column.append(row[name])
        if speedup is not None:
            self.speedups.setdefault(digest, speedup)

    def share_out(self, model_s: float) -> None:
        """Adds the model's time to the slots' costs, by tokens."""
        total = sum(self.columns["tokens"])
        if total and model_s:
            pairs = zip(self.columns["cost_s"], self.columns["tokens"], strict=True)
            self.columns["cost_s"] = [cost + tokens * model_s / total for cost, tokens in pairs]


def read_slots(generations: Path, clockings: Clockings) -> RunColumns:
    """Reads ``generations.jsonl`` into columns; a torn last line is left out.

    Raises:
        ValueError: A whole line is no generation.
        OSError: The file cannot be read.
    """
    run = RunColumns(clockings)
    with generations.open("rb") as file:
        for line in whole_lines(file, generations):
            run.add_generation(json.loads(line))
    run.share_out(clockings.model_s)
    return run
