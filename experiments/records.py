"""Reads the records of a run directory, finished or not, into a `Run`, and writes files whole."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from evolve import LONGEST_LINE_BYTES, LineTooLong, json_text, read_journal, whole_lines
from fitness import Calibration, Evaluation

from .faults import RunError, naming, one_line
from .runs import Candidate, Run
from .wording import count_text

JSON = dict[str, Any]


@dataclass(slots=True)
class Answers:
    """What the journal of a run says, by digest of the kernel.

    Attributes:
        evaluations: Without measurements, except for the kernels asked for.
        verifications: With measurements.
        elapsed_s: Time of the last answer since the run began, over all attempts.
    """

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    verifications: dict[str, Evaluation] = field(default_factory=dict)
    calibration: Calibration | None = None
    elapsed_s: float = 0.0


def journal_of(path: Path) -> Path | None:
    """Returns the journal of a run directory; None where no run began."""
    return next((path / name for name in ("journal.jsonl", "journal.jsonl.gz") if (path / name).is_file()), None)


def begun(paths: Sequence[Path]) -> Sequence[Path]:
    """Returns the folders in which a run began; one line says what else was given, e.g. runs that were refused.

    What is not there stays, and so does everything where no run began: whoever reads it says what is wrong with it.
    """
    others = [each for each in paths if each.exists() and not _began(each)]
    if len(others) in (0, len(paths)):
        return paths
    folders = [str(each) for each in others if each.is_dir()]
    files = [count_text(len(others) - len(folders), "plain file")] if len(folders) < len(others) else []
    print(f"note: left out, as no run began there: {', '.join(folders + files)}", file=sys.stderr)
    return [each for each in paths if each not in others]


def _began(path: Path) -> bool:
    """Whether a folder holds more than the first line of a journal, which a run that is refused may leave."""
    return journal_of(path) is not None and any(
        (path / each).is_file() for each in ("config.yaml", "generations.jsonl")
    )


def load_run(path: Path) -> Run:
    """Reads a run directory.

    Raises:
        RunError: There is no run in it, or one of its files cannot be understood.
        JournalCorrupt: A line of the journal before the last cannot be read.
    """
    journal = journal_of(path)
    if journal is None:
        raise RunError(f"{path} holds no run (no journal.jsonl); give the folder that a run printed as its own")
    try:
        return _run(path, journal)
    except LineTooLong:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as fault:  # JSON, and not that of a run
        kind = type(fault).__name__
        raise RunError(f"{path} holds records that cannot be understood ({kind}: {one_line(str(fault))})") from fault


def _run(path: Path, journal: Path) -> Run:
    records = list(json_lines(path / "generations.jsonl"))
    best = records[-1]["best"]["kernel"] if records else None
    answers = read_answers(journal, keep={best})
    config_text = text_of(path / "config.yaml")
    config = _object(path / "config.yaml", yaml.safe_load)
    environment = json_object(path / "environment.json")
    result = json_object(path / "result.json")
    return Run(
        path=path,
        config=config,
        config_text=config_text,
        environment={key: value for key, value in environment.items() if key not in ("schema", "choices")},
        choices={str(key): str(value) for key, value in environment.get("choices", {}).items()},
        candidates=list(_candidates(records, answers)),
        sources={each["kernel"]: each["source"] for each in json_lines(path / "kernels" / "sources.jsonl")},
        best_digest=best,
        generations=records[-1]["generation"] if records else 0,
        evaluations=records[-1]["evaluations"] if records else 0,
        duels=records[-1]["duels"] if records else 0,
        counts=records[-1]["funnel"] if records else {},
        elapsed_s=number(result.get("elapsed_s")) or number(answers.elapsed_s) or 0.0,
        verification=answers.verifications.get(best or ""),
        calibration=answers.calibration,
        ended=result.get("ended", ""),
    )


def json_object(path: Path) -> JSON:
    """Returns the object that one file of JSON holds; empty where there is none.

    Raises:
        RunError: It cannot be understood.
        OSError: It cannot be read.
    """
    return _object(path, json.loads)


def _object(path: Path, parse: Callable[[str], Any]) -> JSON:
    """Does the same for any way of writing."""
    try:
        found = parse(text_of(path)) if path.is_file() else {}
    except (ValueError, RecursionError, yaml.YAMLError) as fault:
        told = f"{path} cannot be read: {one_line(str(fault))}"
        raise RunError(f"{told}; restore it, or delete it to go on without") from fault
    if not isinstance(found, dict):
        raise RunError(f"{path} holds no mapping; restore it, or delete it to go on without")
    return found


def read_answers(journal: Path, keep: set[str | None]) -> Answers:
    """Reads what compilers and clocks answered; raw samples only of the kernels in ``keep``."""
    answers = Answers()
    for kind, key, at_s, value in read_journal(journal):
        answers.elapsed_s = max(answers.elapsed_s, at_s)
        digest = key.split("/")[0]
        if kind == "calibration":
            answers.calibration = Calibration.from_json(value)
        elif kind == "verification":
            answers.verifications[digest] = Evaluation.from_json(value)
        elif kind == "evaluation":
            evaluation = Evaluation.from_json(value)
            answers.evaluations[digest] = evaluation if digest in keep else replace(evaluation, measurements=())
    return answers


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, so that a full disk or a signal spoils no earlier one.

    A link, a pipe or a device (``--json /dev/stdout``) is written to, and no file put in its place.

    Raises:
        OSError: It cannot be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with naming(path):
            path.write_bytes(content)
        return
    fresh = path.with_name(f".{path.name}.new")
    try:
        with naming(path):
            fresh.write_bytes(content)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Writes a file of JSON for people and programs, whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(path, (json_text(data, indent=1) + "\n").encode())


def _candidates(records: list[JSON], answers: Answers) -> Iterator[Candidate]:
    """Yields the slots of all generations in order, each with its evaluation."""
    charged = 0
    for record in records:
        for slot in record["slots"]:
            digest, repeated = slot["kernel"], slot["duplicate_of"] is not None
            evaluation = answers.evaluations.get(digest) if digest is not None else None
            charged += evaluation is not None and not repeated
            yield candidate_of(slot, record["generation"], evaluation, charged)


def candidate_of(slot: JSON, generation: int, evaluation: Evaluation | None, charged: int) -> Candidate:
    """Makes a candidate of a slot's record in ``generations.jsonl``.

    Args:
        slot: The record.
        generation: In whose line it stands.
        evaluation: Of its kernel, if there is one.
        charged: Evaluations charged so far, this one included.

    Raises:
        KeyError: The record lacks a field.
    """
    return Candidate(
        slot=slot["slot"],
        generation=generation,
        operator=slot["operator"],
        parents=tuple(slot["parents"]),
        digest=slot["kernel"],
        outcome=slot["outcome"],
        note=slot["note"],
        tokens=slot["tokens"],
        evaluation=evaluation,
        charged=charged,
        repeated=slot["duplicate_of"] is not None,
        requests=tuple(slot.get("requests", ())),
        arm=slot.get("arm", ""),
        origin=slot.get("origin", ""),
    )


def number(value: Any) -> float | None:
    """Returns a finite number from a record; None where it is none."""
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:  # whole numbers of JSON have no end
        return None


def json_lines(path: Path) -> Iterator[JSON]:
    """Yields the whole lines of a file of JSON objects; nothing where there is no file.

    Raises:
        RunError: A line before the last cannot be read.
        LineTooLong: A line is longer than any that a run writes.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(whole_lines(file, path), start=1):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as fault:
                raise RunError(
                    f"{path}: line {number} cannot be read; run the same command again to write it anew"
                ) from fault


def text_of(path: Path) -> str:
    """Returns the text of a file that is read whole; empty where there is none.

    Raises:
        RunError: It is larger than any such file of a run, or no text.
    """
    if not path.exists():
        return ""
    with path.open("rb") as file:
        content = file.read(LONGEST_LINE_BYTES + 1)
    if len(content) > LONGEST_LINE_BYTES:
        raise RunError(f"{path}: is larger than {LONGEST_LINE_BYTES:,} bytes, which no such file of a run is")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise RunError(f"{path}: is not UTF-8 text (byte {fault.start}); restore it") from fault
