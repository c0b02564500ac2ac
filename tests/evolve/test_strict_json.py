"""Records are read by others than Python: no number is written that JSON has not."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evolve import Journal, json_text

NOT_FINITE = {"error": math.inf, "low": [-math.inf, 1.5], "deep": ({"nan": math.nan},)}
AS_JSON = {"error": None, "low": [None, 1.5], "deep": [{"nan": None}]}


def strict(text: str | bytes) -> Any:
    """Reads JSON as others do."""
    return json.loads(text, parse_constant=pytest.fail)


def test_what_is_not_finite_is_null_at_any_depth() -> None:
    assert AS_JSON == strict(json_text(NOT_FINITE))


def test_finite_data_are_as_python_writes_them() -> None:
    data = {"a": [1, 0.1 + 0.2, 1e308, None, "Infinity"], "b": True}

    assert json.dumps(data, indent=1) == json_text(data, indent=1)


def test_a_journal_holds_strict_json_and_answers_what_it_holds(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl", configuration={"limit": math.inf}) as journal:
        assert AS_JSON == journal.once("evaluation", "key", lambda: NOT_FINITE)

    header, answer = map(strict, (tmp_path / "journal.jsonl").read_bytes().splitlines())
    assert ({"limit": None}, AS_JSON) == (header["configuration"], answer["value"])


@pytest.mark.parametrize("limit", ["Infinity", "NaN", "null"])
def test_an_older_journal_with_such_numbers_goes_on(tmp_path: Path, limit: str) -> None:
    header = f'{{"schema":"kernelwright.journal/1","configuration":{{"limit":{limit}}}}}'
    answer = '{"kind":"evaluation","key":"key","at_s":1.0,"value":{"error":Infinity}}'
    (tmp_path / "journal.jsonl").write_text(f"{header}\n{answer}\n")

    with Journal(tmp_path / "journal.jsonl", configuration={"limit": float(limit.replace("null", "inf"))}) as journal:
        assert {"error": math.inf} == journal.lookup("evaluation", "key")
