from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from experiments.extract import main
from reading_samples import CHILD, NEW, OLD, PARENT, edit


@pytest.fixture
def files(tmp_path: Path):
    def write(reply: str | bytes, parent: str = PARENT) -> list[str]:
        (tmp_path / "reply.txt").write_bytes(reply if isinstance(reply, bytes) else reply.encode())
        (tmp_path / "parent.cpp").write_bytes(parent.encode())
        return [f"reply={tmp_path / 'reply.txt'}", f"parent={tmp_path / 'parent.cpp'}", "language=cpp", "task=softmax"]

    return write


def write_much(path: Path) -> None:
    path.write_bytes(b"x" * 4_000_001)


def told(capsys: pytest.CaptureFixture[str]) -> dict:
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


def test_a_whole_kernel(files, capsys) -> None:
    assert 0 == main([*files(f"```cpp\n{CHILD}```"), "mode=full"])
    answer = told(capsys)
    assert ("parsed", CHILD, "") == (answer["outcome"], answer["source"], answer["reason"])


def test_a_diff(files, capsys) -> None:
    assert 0 == main([*files(edit(OLD, NEW)), "mode=diff"])
    assert CHILD == told(capsys)["source"]


def test_a_refused_answer_tells_why_and_is_no_failure(files, capsys) -> None:
    assert 0 == main([*files(edit("nowhere", "x")), "mode=diff"])
    answer = told(capsys)
    assert ("diff_not_found", None) == (answer["outcome"], answer["source"])
    assert "'nowhere' is not in the parent" in answer["reason"]


def test_bytes_that_are_no_text(files, capsys) -> None:
    assert 0 == main(files(b"\xff\xfe\x00```cpp\n\x80"))
    assert None is told(capsys)["source"]


def test_a_cut_off_answer(files, capsys) -> None:
    assert 0 == main([*files(f"```cpp\n{CHILD[:-30]}"), "finish_reason=length"])
    assert "truncated" == told(capsys)["outcome"]


def test_a_python_hosted_language(tmp_path: Path, capsys) -> None:
    (tmp_path / "reply.txt").write_text("```python\nimport triton\n\ndef kernel_fn(x):\n    return x\n```")
    assert 0 == main([f"reply={tmp_path / 'reply.txt'}", "language=triton", "task=softmax"])
    assert "parsed" == told(capsys)["outcome"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["task=softmax"], "reply: missing"),
        (["reply=no/such/file"], "no/such/file does not exist"),
        (["reply=/", "mode=half"], "mode: must be one of full, diff, is 'half'"),
        (["reply=/", "mode=diff"], "parent: missing; mode=diff needs"),
        (["reply=/", "task=soft"], "soft"),
        (["reply"], "key=value"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, capsys) -> None:
    assert 2 == main(arguments)
    lines = capsys.readouterr()
    assert ("", 1, True) == (lines.out, len(lines.err.strip().splitlines()), message in lines.err)


def test_the_command_runs_by_itself(files, command) -> None:
    done = command("extract", *files(f"```cpp\n{CHILD}```"))
    assert (0, "parsed", "") == (done.returncode, json.loads(done.stdout)["outcome"], done.stderr)


@pytest.mark.parametrize(
    ("make", "message"), [(os.mkfifo, "is no plain file"), (write_much, "holds more than 4000000")]
)
def test_what_holds_no_answer_is_one_line(make, message, tmp_path: Path, capsys) -> None:
    make(tmp_path / "reply")
    assert 2 == main([f"reply={tmp_path / 'reply'}", "task=softmax"])
    assert message in capsys.readouterr().err
