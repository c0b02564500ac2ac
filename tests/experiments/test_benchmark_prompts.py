from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from experiments.benchmarks import prompts
from experiments.benchmarks.prompt_essence import essence_of
from experiments.benchmarks.prompt_rates import best_arm, interval, ratio, table, valid
from experiments.benchmarks.prompts import main, stored
from experiments.faults import RunError
from experiments.jobs import jobs_of
from experiments.reproduce import RESULTS
from experiments.sweep_command import check_jobs, read_order
from fake_openai import completion, fake_server
from fitness import Kernel
from fitness.tasks import RowSum, SwiGlu, Transpose
from operators.contract import contract
from operators.reading import read_answer

SOURCE = RowSum().seed_kernel("cpp").source
TRANSPOSE = Transpose().seed_kernel("cpp").source
COPY = f"```cpp\n// again\n{SOURCE}```"
VALID = f"```cpp\n{SOURCE.replace('{', '{ M = M + 0;', 1)}```"
ARMS = ("plain", "default", "no_advice", "advice", "knowledge", "suggestion", "bare", "bare_advice", "diff")


def test_every_prompt_is_asked_and_judged(tmp_path: Path, capsys) -> None:
    with fake_server() as fake:
        fake.answers = [lambda body: completion(VALID if body["seed"] % 2 else "No.")]
        out = tmp_path / "answers.jsonl"
        arguments = ["--url", fake.url, "--tasks", "row_sum", "--samples", "4", "--out", str(out), "evaluator=quick"]
        assert 0 == main(arguments)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(ARMS) == {each["arm"] for each in records}
    assert {(VALID, "ok"), ("No.", None)} == {(each["text"], each["status"]) for each in records}
    assert len(ARMS) * 2 + len(ARMS) - 1 == len(capsys.readouterr().out.splitlines())


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
    answers = [("plain", "No."), ("plain", VALID), ("plain", COPY), ("default", VALID), ("default", VALID)]
    stored = tmp_path / "answers.jsonl"
    stored.write_text("".join(json.dumps({"arm": arm, "text": text, **fields}) + "\n" for arm, text in answers))
    assert 0 == main(["--answers", str(stored), "evaluator=quick"])
    said = capsys.readouterr().out
    assert (True, True) == ("1/3 valid" in said, "default / plain: 2.33 times" in said)
    assert (True, True) == ("copy of the parent 1" in said, "2/2 valid (34% to 100%), 1 different" in said)


def test_stored_answers_may_be_judged_in_place(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    answer = {"arm": "plain", "text": VALID, "task": "row_sum", "mode": "full", "finish_reason": "stop"}
    path.write_text(json.dumps(answer) + "\n")

    assert 0 == main(["--answers", str(path), "--out", str(path), "evaluator=quick"])
    assert ["ok"] == [json.loads(line)["status"] for line in path.read_text().splitlines()]


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


def test_what_is_said_of_the_default_prompt_on_triton_is_what_its_answers_were_judged() -> None:
    records = stored([RESULTS / "prompts_triton_h200" / "answers.jsonl.gz"])
    members = {arm: [each for each in records if each["arm"] == arm] for arm in ("plain", "default")}
    repeats = sum(
        bool(each["copy"] and each["status"] == "ok") or each["outcome"] == "unchanged" for each in members["plain"]
    )

    assert [128, 128] == [len(each) for each in members.values()]
    assert [6, 87, 59] == [valid(members["plain"]), valid(members["default"]), repeats]
    said = (RESULTS.parents[1] / "README.md").read_text()
    assert "87 of 128 answers are correct and new, against 6 with a plain prompt, whose other 59 correct" in said


def test_a_prompt_is_chosen_on_some_tasks_and_tried_on_others(tmp_path: Path, capsys) -> None:
    def answer(body: dict) -> object:
        asked = body["messages"][-1]["content"]
        wanted = "let the compiler vectorise" in asked and "# Good to know" not in asked and "# Task" in asked
        return completion(
            f"```cpp\n{TRANSPOSE if 'transpose' in asked else SOURCE}// {body['seed']}\nint more;\n```"
            if wanted
            else "No."
        )

    with fake_server() as fake:
        fake.answers = [answer]
        out = tmp_path / "answers.jsonl"
        tasks = ["--tune", "row_sum", "--tasks", "transpose", "--arms", "plain,no_advice,advice,knowledge"]
        assert 0 == main(
            ["--url", fake.url, *tasks, "--samples", "3", "--workers", "2", "--out", str(out), "evaluator=quick"]
        )
    records = stored([out])
    asked = {(each["stage"], each["task"], each["arm"]) for each in records}
    tuned = {("tuning", "row_sum", arm) for arm in ("plain", "no_advice", "advice", "knowledge")}
    assert tuned | {("test", "transpose", "plain"), ("test", "transpose", "advice")} == asked
    assert {"ok": 6, None: 9 + 3} == dict(Counter(each["status"] for each in records))
    assert "chosen: advice" in capsys.readouterr().out


def test_what_tuned_a_prompt_does_not_test_it(capsys) -> None:
    assert 2 == main(["--url", "http://127.0.0.1:9/v1", "--tune", "row_sum,softmax", "--tasks", "matmul,softmax"])
    assert "share softmax" in capsys.readouterr().err


def test_of_equal_prompts_the_one_with_more_different_kernels_is_best() -> None:
    def records(arm: str, *kernels: str) -> list[dict]:
        return [{"arm": arm, "task": "t", "status": "ok", "kernel": each, "copy": each == "seed"} for each in kernels]

    found = [*records("plain", "a", "b", "c"), *records("dull", "a", "a", "seed"), *records("rich", "a", "b", "seed")]
    assert "rich" == best_arm(found)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda source: source.replace('"""Sum', '"""The sum'), True),
        (lambda source: source[source.index("import") :], True),
        (
            lambda source: source + "\n# Example\nif __name__ == '__main__':\n    print(kernel_fn(torch.ones(2, 2)))\n",
            True,
        ),
        (lambda source: source.replace("total", "accumulator"), True),
        (lambda source: source.replace("BLOCK=128", "BLOCK=256"), False),
        (lambda source: source.replace("total += ", "total = total + "), False),
    ],
)
def test_the_parent_retold_is_a_copy(change, same) -> None:
    parent = RowSum().seed_kernel("triton")
    assert same == (essence_of(parent) == essence_of(Kernel(change(parent.source), "triton", parent.entry_point)))


def test_the_experiment_on_triton_can_be_run_with_a_server_anywhere() -> None:
    where = ["llm.base_url=http://127.0.0.1:1/v1", "llm.gpus=[0]", "target.devices=[1]"]
    order = read_order([f"experiment={Path(prompts.__file__).with_name('llm_triton.yaml')}", *where])
    jobs = jobs_of(order.experiment, order.sweep_dir)
    check_jobs(jobs)
    assert (24, "llm_triton") == (len(jobs), order.experiment.name)


def triton_answer(change: tuple[str, str]) -> str:
    source = RowSum().seed_kernel("triton").source.replace("total +=", "total = total +")
    assert change[0] in source
    record = {
        "arm": "plain",
        "task": "row_sum",
        "language": "triton",
        "mode": "full",
        "model": "m",
        "finish_reason": "stop",
    }
    return json.dumps({**record, "text": f"```python\n{source.replace(*change)}```", "outcome": "parsed"})


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_without_a_gpu_a_kernel_must_be_right_in_the_interpreter_and_compile(tmp_path: Path) -> None:
    stored, out = tmp_path / "answers.jsonl", tmp_path / "judged.jsonl"
    changes = [("total = total +", "total += 0.0 +"), ("tl.float32", "tl.float16"), ("other=0.0", "other=1.0")]
    stored.write_text("\n".join(map(triton_answer, changes)) + "\n")
    settings = ["--arch", "sm_90a", "language=triton", "target=interpret"]
    assert 0 == main(["--answers", str(stored), "--out", str(out), *settings])
    assert ["ok", "build_failed", "wrong_value"] == [
        json.loads(line)["status"] for line in out.read_text().splitlines()
    ]


def test_only_what_is_compiled_ahead_of_time_has_an_architecture(tmp_path: Path, capsys) -> None:
    stored = tmp_path / "answers.jsonl"
    record = {
        "arm": "plain",
        "task": "row_sum",
        "language": "cpp",
        "mode": "full",
        "model": "m",
        "finish_reason": "stop",
    }
    stored.write_text(json.dumps({**record, "text": VALID, "outcome": "parsed"}) + "\n")
    assert 0 != main(["--answers", str(stored), "--arch", "sm_90a", "evaluator=quick"])
    assert "cpp is not compiled ahead of time" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", b"\xff\n"), ("a.jsonl", b"{\n"), ("a.jsonl.gz", b"{}\n")])
def test_a_file_without_answers_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match=f"{name}: holds no answers"):
        stored([tmp_path / name])
