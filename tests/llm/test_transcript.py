from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve import Journal, RecordedClient
from experiments.transcript import main
from llm import Completion, Message, Request, RequestRejected, ScriptedClient

ASK = Request((Message("user", "make it fast"),), seed=4)
ANSWER = Completion(
    "a \x1b[31mred\x1b[0m kernel", cuts=("log: 12 characters",), retries=("HTTP 429: busy",), model="tiny"
)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal.jsonl") as journal:
        RecordedClient(ScriptedClient([ANSWER]), journal).complete(ASK)
    slot = {"slot": 3, "operator": "mutate", "outcome": "no_code", "note": "there is no code", "requests": [ASK.digest]}
    (tmp_path / "generations.jsonl").write_text(json.dumps({"generation": 1, "slots": [slot]}) + "\n")
    return tmp_path


def test_a_person_reads_request_answer_and_what_came_of_it(run_dir: Path, capsys) -> None:
    assert 0 == main([str(run_dir)])
    text = capsys.readouterr().out
    parts = [
        "make it fast",
        "kernel",
        "slot 3, mutate: no_code. there is no code",
        "cut: log: 12 characters",
        "429: busy",
    ]
    assert [] == [part for part in parts if part not in text]


def test_control_characters_of_the_model_do_not_reach_the_terminal(run_dir: Path, capsys) -> None:
    main([str(run_dir)])
    assert ("\x1b" in capsys.readouterr().out) is False


def test_lines_of_json_hold_everything(run_dir: Path, capsys) -> None:
    assert 0 == main([str(run_dir), "--jsonl"])
    (line,) = capsys.readouterr().out.splitlines()
    record = json.loads(line)
    assert (ASK, ANSWER) == (Request.from_json(record["request"]), Completion.from_json(record["completion"]))


@pytest.mark.parametrize(("outcome", "lines"), [("no_code", 1), ("parsed", 0)])
def test_only_one_outcome(run_dir: Path, capsys, outcome, lines) -> None:
    main([str(run_dir), "--jsonl", "--only", outcome])
    assert lines == len(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("options", [(), ("--jsonl",), ("--summary",)])
def test_a_run_that_asked_no_model_says_so(tmp_path: Path, capsys, options) -> None:
    Journal(tmp_path / "journal.jsonl").close()
    assert 0 == main([str(tmp_path), *options])
    assert ("", f"{tmp_path}: the journal holds no request to a model\n") == capsys.readouterr()


def test_the_summary_counts_requests_behind_one_outcome(run_dir: Path, capsys) -> None:
    main([str(run_dir), "--summary", "--only", "no_code"])
    assert "requests 1" in capsys.readouterr().out
    main([str(run_dir), "--summary", "--only", "parsed"])
    assert "no request to a model behind a proposal with the outcome parsed" in capsys.readouterr().err


def test_a_folder_without_a_run_is_one_line(tmp_path: Path, capsys) -> None:
    assert 2 == main([str(tmp_path)])
    assert "holds no journal.jsonl" in capsys.readouterr().err


def test_a_request_that_failed_for_good_is_met_again_without_a_server(tmp_path: Path) -> None:
    class Refusing:
        def complete(self, request: Request) -> Completion:
            raise RequestRejected("HTTP 422: no", request)

    with Journal(tmp_path / "journal.jsonl") as journal:
        first = RecordedClient(Refusing(), journal).complete(ASK)
    with Journal(tmp_path / "journal.jsonl", strict=True) as journal:
        again = RecordedClient(Refusing(), journal).complete(ASK)
    assert ("rejected", ("HTTP 422: no",), first) == (first.finish_reason, first.retries, again)


def test_the_summary_has_a_line_for_each_operator(run_dir: Path, capsys) -> None:
    assert 0 == main([str(run_dir), "--summary"])
    (line,) = capsys.readouterr().out.splitlines()
    assert (True, True) == (line.startswith("mutate: requests 1, failed 0"), line.endswith("→ no_code 1"))


def test_the_summary_can_have_a_line_for_each_individual(run_dir: Path, capsys) -> None:
    assert 0 == main([str(run_dir), "--summary", "--by", "individual"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("slot 3 (mutate): requests 1, failed 0")
