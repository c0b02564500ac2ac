from __future__ import annotations

import json
from pathlib import Path

from experiments.benchmarks.prompts import interval, main, ratio, stored, table
from experiments.reproduce import RESULTS
from fake_openai import completion, fake_server
from fitness.tasks import RowSum, SwiGlu, Transpose
from operators.contract import contract
from operators.reading import read_answer

SOURCE = RowSum().seed_kernel("cpp").source
VALID = f"```cpp\n// again\n{SOURCE}```"


def test_every_prompt_is_asked_and_judged(tmp_path: Path, capsys) -> None:
    with fake_server() as fake:
        fake.answers = [lambda body: completion(VALID if body["seed"] % 2 else "No.")]
        out = tmp_path / "answers.jsonl"
        arguments = ["--url", fake.url, "--tasks", "row_sum", "--samples", "4", "--out", str(out), "evaluator=quick"]
        assert 0 == main(arguments)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {"plain", "default", "no_advice", "knowledge", "diff"} == {each["arm"] for each in records}
    assert {(VALID, "ok"), ("No.", None)} == {(each["text"], each["status"]) for each in records}
    assert 5 * 2 + 4 == len(capsys.readouterr().out.splitlines())


def test_the_plain_prompt_holds_the_source_and_a_wish(capsys) -> None:
    with fake_server() as fake:
        fake.answers = [completion("No.")]
        main(["--url", fake.url, "--tasks", "row_sum", "--samples", "1", "--arms", "plain", "evaluator=quick"])
        first = fake.bodies[0]["messages"]
    assert (1, True) == (len(first), SOURCE in first[0]["content"])


def test_wilsons_interval_of_a_half() -> None:
    low, high = interval(24, 48)
    assert (0.364, 0.636) == (round(low, 3), round(high, 3))


def test_the_default_is_what_the_configuration_has() -> None:
    with fake_server() as fake:
        fake.answers = [completion("No.")]
        limits = ["--samples", "1", "--arms", "default", "--temperature", "0.3", "evaluator=quick"]
        main(["--url", fake.url, "--tasks", "row_sum", *limits])
        body = fake.bodies[0]
    assert (0.3, True) == (body["temperature"], "let the compiler vectorise" in body["messages"][1]["content"])


def test_stored_answers_are_judged_again_without_a_model(tmp_path: Path, capsys) -> None:
    fields = {"task": "row_sum", "mode": "full", "finish_reason": "stop"}
    answers = [("plain", "No."), ("plain", VALID), ("default", VALID), ("default", VALID)]
    stored = tmp_path / "answers.jsonl"
    stored.write_text("".join(json.dumps({"arm": arm, "text": text, **fields}) + "\n" for arm, text in answers))
    assert 0 == main(["--answers", str(stored), "evaluator=quick"])
    said = capsys.readouterr().out
    assert (True, True) == ("1/2 valid" in said, "default / plain: 1.67 times" in said)


def test_an_unknown_prompt_is_one_line(capsys) -> None:
    with fake_server() as fake:
        assert 2 == main(["--url", fake.url, "--tasks", "row_sum", "--arms", "splendid", "evaluator=quick"])
    assert "splendid is none of plain, default" in capsys.readouterr().err


def test_a_ratio_has_an_interval_also_where_nothing_was_hit() -> None:
    times, low, high = ratio(20, 40, 10, 40)
    assert (1.95, 1.07, 3.57) == (round(times, 2), round(low, 2), round(high, 2))
    assert ratio(10, 40, 0, 40)[2] > ratio(10, 40, 0, 40)[0] > 1


def test_the_stored_answers_are_read_as_when_they_were_recorded() -> None:
    records = stored([RESULTS / "prompts_cpp_llama_cpp" / "answers.jsonl.gz"])
    for each in records:
        task = {"transpose": Transpose, "swiglu": SwiGlu}[each["task"]]()
        wanted = contract(task, "cpp", "cpp")
        reading = read_answer(each["text"], wanted, task.seed_kernel("cpp").source, each["mode"], each["finish_reason"])
        assert each["outcome"] == reading.outcome
    assert "default / plain: 2.33 times as many valid kernels (0.39 to 13.93)" in table(records)
