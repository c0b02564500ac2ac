"""Answers of a model that were recorded elsewhere."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from llm import Completion, Message, ReplayedClient, Request

SHIPPED = "pkg://experiments.papers/answers/qwen25_coder_1p5b_row_sum.jsonl.gz"


def request(seed: int, text: str = "Make it faster.") -> Request:
    return Request((Message("user", text),), seed=seed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    answers = [Completion(f"answer {number}", prompt_tokens=3, completion_tokens=2, model="m") for number in range(3)]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(each.to_json()) + "\n" for each in answers))
    return path


def test_the_seed_alone_draws_the_answer(path: Path) -> None:
    client = ReplayedClient(str(path))
    answers = [client.complete(request(seed, text)).text for text in ("one", "another") for seed in (0, 1, 2, 3)]

    assert ["answer 0", "answer 1", "answer 2", "answer 0"] * 2 == answers


def test_a_replayed_answer_says_that_it_is_one(path: Path) -> None:
    answer = ReplayedClient(str(path)).complete(request(1))

    assert ("recorded m", 5) == (answer.model, answer.tokens)


def test_packed_answers_inside_a_package_are_read() -> None:
    models = {ReplayedClient(SHIPPED).complete(request(seed)).model for seed in range(60)}

    assert {"recorded Qwen2.5-Coder-1.5B-Instruct"} == models


def test_the_shipped_answers_are_those_of_the_stored_run() -> None:
    journal = Path(__file__).parents[2] / "experiments" / "results" / "llm_row_sum_h200" / "journal.jsonl.gz"
    with gzip.open(journal, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    stored = [each["value"]["completion"]["text"] for each in records if each.get("kind") == "completion"]
    client = ReplayedClient(SHIPPED)

    assert stored == [client.complete(request(seed)).text for seed in range(len(stored))]


@pytest.mark.parametrize("content", ["", "no JSON\n", "[1]\n", '{"unknown": 1}\n'])
def test_a_file_without_answers_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"answers\.jsonl"):
        ReplayedClient(str(path))


@pytest.mark.parametrize("path", ["/nowhere/answers.jsonl", "pkg://nobody/answers.jsonl", "pkg://llm/answers.jsonl.gz"])
def test_a_missing_file_is_named(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        ReplayedClient(path)
