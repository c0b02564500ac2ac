from __future__ import annotations

import json
from pathlib import Path

from experiments.benchmarks.prompts import interval, main
from fake_openai import completion, fake_server
from fitness.tasks import RowSum

SOURCE = RowSum().seed_kernel("cpp").source
VALID = f"```cpp\n// again\n{SOURCE}```"


def test_every_prompt_is_asked_and_judged(tmp_path: Path, capsys) -> None:
    with fake_server() as fake:
        fake.answers = [lambda body: completion(VALID if body["seed"] % 2 else "No.")]
        out = tmp_path / "answers.jsonl"
        arguments = ["--url", fake.url, "--tasks", "row_sum", "--samples", "4", "--out", str(out), "evaluator=quick"]
        assert 0 == main(arguments)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {"plain", "mutate", "mutate_knowledge", "mutate_diff"} == {each["arm"] for each in records}
    assert {(VALID, "ok"), ("No.", None)} == {(each["text"], each["status"]) for each in records}
    assert 8 == len(capsys.readouterr().out.splitlines())


def test_the_plain_prompt_holds_the_source_and_a_wish(capsys) -> None:
    with fake_server() as fake:
        fake.answers = [completion("No.")]
        main(["--url", fake.url, "--tasks", "row_sum", "--samples", "1", "evaluator=quick"])
        first = fake.bodies[0]["messages"]
    assert (1, True) == (len(first), SOURCE in first[0]["content"])


def test_wilsons_interval_of_a_half() -> None:
    low, high = interval(24, 48)
    assert (0.364, 0.636) == (round(low, 3), round(high, 3))
