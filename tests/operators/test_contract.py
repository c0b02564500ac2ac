"""What prompts say of a kernel's outside is what the shipped seed kernels have."""

from __future__ import annotations

import pytest

from fitness import TaskError, tasks
from fitness.languages import Cpp
from operator_samples import cpp_brief
from operators.contract import contract
from operators.prompt import outside
from operators.reading import Outcome, read_answer

MEMBERS = [getattr(tasks, name) for name in tasks.__all__]
TASKS = [member for member in MEMBERS if isinstance(getattr(member, "name", None), str)]
C_LIKE, HOSTED = ("cpp", "cuda", "hip", "opencl"), ("triton", "cute", "flydsl", "numba")
LANGUAGES = {**dict.fromkeys(C_LIKE, "cpp"), **dict.fromkeys(HOSTED, "python")}


def _seeds() -> list[tuple[str, str]]:
    found = []
    for task in TASKS:
        for language in LANGUAGES:
            try:
                task().seed_kernel(language)
            except TaskError:
                continue
            found.append((task.name, language))
    return found


SEEDS = _seeds()


@pytest.mark.parametrize(("name", "language"), SEEDS)
def test_a_seed_kernel_keeps_the_contract(name, language) -> None:
    (task,) = [task() for task in TASKS if task.name == name]
    seed = task.seed_kernel(language)
    wanted = contract(task, language, LANGUAGES[language])
    reading = read_answer(f"```{wanted.fence}\n{seed.source}\n```", wanted)
    assert (Outcome.PARSED, "", seed.entry_point) == (
        reading.outcome,
        reading.reason + reading.note,
        wanted.entry_point,
    )


def test_all_tasks_have_a_seed_in_cpp() -> None:
    assert {task.name for task in TASKS} == {name for name, language in SEEDS if language == "cpp"}


def test_the_grammar_is_the_languages_own() -> None:
    assert LANGUAGES["cpp"] == Cpp().grammar


def test_a_python_contract_names_arrays_and_result() -> None:
    brief = cpp_brief("matmul")
    text = outside(contract(brief.task, "triton", "python"), brief)
    assert ("def kernel_fn(a, b):" in text, "c (float32, [M, N])" in text) == (True, True)


def test_an_unknown_language_is_told_to_keep_what_it_sees() -> None:
    brief = cpp_brief()
    assert "Keep the interface" in outside(contract(brief.task, "mtia_cpp", "cpp"), brief)


def test_an_opencl_contract_names_the_launch_and_the_arguments_of_every_kernel() -> None:
    brief = cpp_brief("matmul")
    text = outside(contract(brief.task, "opencl", "cpp"), brief)
    arguments = "const __global float* a, const __global float* b, __global float* c, long M, long N, long K"
    assert ("#pragma launch NAME" in text, f"__kernel void NAME({arguments})" in text) == (True, True)


def test_a_numba_contract_names_the_types_of_its_arguments() -> None:
    brief = cpp_brief("row_sum")
    text = outside(contract(brief.task, "numba", "python"), brief)
    head = '@cfunc("void(CPointer(float32), CPointer(float32), int64, int64)")\ndef kernel_fn(x, y, M, N):'
    assert head in text


@pytest.mark.parametrize(
    ("language", "answer", "outcome"),
    [
        ("opencl", "__kernel void f(__global float* y) { y[0] = 0; }", Outcome.NO_ENTRY_POINT),
        ("opencl", "#pragma launch f global(1)\n__kernel void f(__global float* y) { y[0] = 0;", Outcome.TRUNCATED),
        ("opencl", "def kernel_fn(x):\n    return x\n", Outcome.WRONG_LANGUAGE),
        ("numba", "def kernel_fn(x):\n    return x\n", Outcome.SIGNATURE_CHANGED),
        ("numba", "def other(x, y, M, N):\n    pass\n", Outcome.NO_ENTRY_POINT),
    ],
)
def test_an_answer_that_breaks_the_contract_is_told_apart(language, answer, outcome) -> None:
    wanted = contract(cpp_brief("row_sum").task, language, LANGUAGES[language])
    assert outcome == read_answer(f"```{wanted.fence}\n{answer}\n```", wanted).outcome
