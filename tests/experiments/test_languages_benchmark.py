"""The table of languages and targets."""

import json

import pytest

from experiments.benchmarks.languages import LANGUAGES, TARGETS, TASKS, Line, ahead, main, on_target, one_line, seeded
from fitness import languages, targets
from fitness.languages import Cpp, Cute, Hip, Numba
from fitness.targets import Cpu
from fitness.tasks import RowSum, Softmax


def test_one_language_is_built_checked_and_timed_on_this_machine(tmp_path):
    assert 0 == main(["--languages", "cpp", "--json", str(tmp_path / "table.json")])
    record = json.loads((tmp_path / "table.json").read_text())
    (line,) = record["lines"]

    assert "kernelwright.languages/1" == record["schema"]
    assert ("cpp", "cpu", 1, 1, 1, "") == tuple(
        line[key] for key in ("language", "target", "builds", "checked", "timed", "reason")
    )
    assert Cpu().describe()["processor"] == line["device"]


def test_a_missing_toolchain_is_a_line_with_the_reason():
    line = on_target(Cpp(compiler="/nowhere/g++"), Cpu(), [RowSum()], workers=1)

    assert (0, 0, 0) == (line.builds, line.checked, line.timed)
    assert "'/nowhere/g++' does not run" in line.reason


def test_a_wrong_seed_is_built_and_not_checked(tmp_path):
    (tmp_path / "row_sum.cpp").write_text(
        'extern "C" void kernel(const float* x, float* y, long M, long N) { for (long i = 0; i < M; ++i) y[i] = 0; }'
    )
    line = on_target(Cpp(), Cpu(), [RowSum(seeds=str(tmp_path)), RowSum()], workers=2)

    assert (2, 1, 1) == (line.builds, line.checked, line.timed)
    assert line.reason.startswith("row_sum: wrong_value: ")


def test_an_architecture_that_no_compiler_here_knows_is_a_line_with_the_reason():
    line = ahead(Hip(), "sm_90a", [RowSum()])

    assert Line("hip", "sm_90a", ("row_sum",), device=line.device, reason=line.reason) == line
    assert "not for 'sm_90a'" in line.reason


def test_every_language_and_target_of_ours_is_tried():
    assert {getattr(languages, name) for name in languages.__all__} - {languages.ExternalLanguage} == {
        type(each) for each in LANGUAGES
    }
    assert {getattr(targets, name) for name in targets.__all__} - {targets.External} == {type(each) for each in TARGETS}


def test_tasks_are_those_that_have_a_seed():
    assert len(TASKS) == len(seeded(Cpp(), [], every=True))
    assert 1 == len(seeded(Numba(), [], every=False))
    assert {"softmax", "row_sum"} == {task.name for task in seeded(Cute(), [], every=True)}
    assert [Softmax.name] == [task.name for task in seeded(Cpp(), ["softmax"], every=True)]


def test_reasons_are_one_line():
    assert "no message" == one_line("\n \n")
    assert "ValueError: no" == one_line("Traceback (most recent call last):\n  File x\nValueError: no\n")
    assert 160 == len(one_line("x" * 1000))


def test_an_unknown_name_is_one_line(capsys):
    with pytest.raises(SystemExit):
        main(["--languages", "fortran"])
    assert "fortran is none of cpp, numba, " in capsys.readouterr().err
