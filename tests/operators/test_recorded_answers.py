"""Real answers of a real model, read again: at least 95 % of those that hold a whole kernel are read correctly.

``answers/*.jsonl.gz`` holds what SmolLM2-135M-Instruct said to the prompts of `LLMMutation`, served by vLLM on
a CPU. ``kernel`` is the definition that an independent search found in an answer: it tried ranges of lines until
one compiled to a shared object with the symbol ``kernel``; null where none did. Answers of the split
``held_out`` were recorded after the reader had been made to read those of ``seen``; two mendings of what stands
around a kernel (headers, headings) came later and change none of these results.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from fitness import tasks
from operators.contract import contract
from operators.reading import Outcome, Reading, read_answer
from operators.reading.scan import definitions

FILES = sorted((Path(__file__).parent / "answers").glob("*.jsonl.gz"))
RECORDS = [json.loads(line) for file in FILES for line in gzip.decompress(file.read_bytes()).splitlines()]
TASKS = {task.name: task for task in (getattr(tasks, name) for name in tasks.__all__) if hasattr(task, "description")}


def read(record: dict) -> Reading:
    task = TASKS[record["task"]]()
    parent = task.seed_kernel(record["language"]).source
    wanted = contract(task, record["language"], "cpp")
    return read_answer(record["text"], wanted, parent, record["mode"], record["finish_reason"])


def is_correct(record: dict, reading: Reading) -> bool:
    """Whether the kernel that an answer holds is the one that was read, or was known to be the parent's."""
    if reading.outcome is Outcome.UNCHANGED:
        return record["kernel"].split() == _kernel(TASKS[record["task"]]().seed_kernel("cpp").source)
    return reading.source is not None and record["kernel"].split() == _kernel(reading.source)


def _kernel(source: str) -> list[str]:
    last = definitions(source, "kernel")[-1]
    return source[last.start : last.end].split()


@pytest.mark.parametrize("split", ["seen", "held_out"])
def test_whole_kernels_are_read(split) -> None:
    holding = [record for record in RECORDS if record["split"] == split and record["kernel"] is not None]
    correct = [record for record in holding if is_correct(record, read(record))]
    assert len(holding) >= 10
    assert len(correct) / len(holding) >= 0.95


def test_every_answer_has_an_outcome() -> None:
    assert all(read(record).outcome in Outcome for record in RECORDS)
