from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fitness import Status
from operator_samples import cpp_brief, failed, timed
from operators import LLMMutation
from operators.retrieval import Library, triggers

LIBRARY = Library()
COMMON = {str(status) for status in Status} | {
    "draft",
    "crossover",
    "memory_bound",
    "compute_bound",
    "single_threaded",
    "register_spills",
    "low_occupancy",
}
LANGUAGES = {"cpp", "cuda", "hip", "opencl", "triton", "cute", "flydsl", "numba"}


@pytest.mark.parametrize("document", LIBRARY.documents, ids=lambda document: document.name)
def test_a_document_is_short_and_can_be_called_for(document) -> None:
    lines = document.body.split("\n")
    assert (True, True, True) == (
        3 <= len(lines) <= 30,
        bool(document.triggers) and document.triggers <= COMMON,
        document.languages <= LANGUAGES,
    )


def test_a_compile_error_calls_for_what_its_message_means() -> None:
    parent = failed(Status.BUILD_FAILED, "kernel.cpp:7:12: error: 'INFINITY' was not declared in this scope")
    assert "cpp/errors" == LIBRARY.retrieve(cpp_brief(), [parent], 1)[0].name


def test_a_crash_calls_for_its_causes() -> None:
    assert "cpp/crashes" == LIBRARY.retrieve(cpp_brief(), [failed(Status.CRASHED, "signal 11")], 1)[0].name


def test_a_wrong_value_calls_for_the_usual_causes() -> None:
    names = [document.name for document in LIBRARY.retrieve(cpp_brief(), [failed(Status.WRONG_VALUE, "row 3")], 2)]
    assert "general/wrong_results" in names


def test_few_operations_a_byte_call_for_memory() -> None:
    assert "memory_bound" in triggers(cpp_brief("row_sum"), [timed()])


def test_many_operations_a_byte_call_for_arithmetic() -> None:
    assert "compute_bound" in triggers(cpp_brief("matmul"), [timed()])


@pytest.mark.parametrize(
    ("threads", "cpu_ratio", "expected"),
    [(4, 1.0, True), (4, 3.5, False), (1, 1.0, False), (4, None, False)],
    ids=["one of four", "several", "one of one", "not on a CPU"],
)
def test_what_leaves_threads_unused_is_single_threaded(threads, cpu_ratio, expected) -> None:
    parent = timed()
    measurements = tuple(replace(each, cpu_ratio=cpu_ratio) for each in parent.evaluation.measurements)
    parent = replace(parent, evaluation=replace(parent.evaluation, measurements=measurements))

    assert expected == ("single_threaded" in triggers(cpp_brief(hardware={"threads": str(threads)}), [parent]))


def test_a_matrix_product_finds_its_document() -> None:
    names = [document.name for document in LIBRARY.retrieve(cpp_brief("matmul"), [timed()], 3)]
    assert "cpp/matmul" in names


def test_documents_of_other_languages_stay_out() -> None:
    found = LIBRARY.retrieve(cpp_brief(), [timed()], 100)
    assert [] == [document.name for document in found if document.languages and "cpp" not in document.languages]


def test_retrieval_is_the_same_every_time() -> None:
    first, second = (LIBRARY.retrieve(cpp_brief(), [timed()], 5) for _ in range(2))
    assert first == second


def test_a_users_folder_is_added_and_replaces(tmp_path: Path) -> None:
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp" / "errors.md").write_text("# Ours\nwhen: build_failed\n\nCall Ada.\n")
    (tmp_path / "more.md").write_text("# More\nwhen: draft\n\nText.\n")
    own = {document.name: document.title for document in Library(str(tmp_path)).documents}
    assert ("Ours", "More", len(LIBRARY.documents) + 1) == (own["cpp/errors"], own["more"], len(own))


def test_a_document_without_a_title_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_text("text\n")
    with pytest.raises(ValueError, match=r"bad.md: a document begins with '# Title'"):
        Library(str(tmp_path))


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        Library("no/such/folder")


def test_a_prompt_holds_what_was_retrieved() -> None:
    prompt = LLMMutation(ingredients={"knowledge": 1})._author.prompt([timed()], cpp_brief("matmul"))
    assert "# Good to know: " in prompt[1].content


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_exponential_of_the_documents_is_as_exact_as_it_says(tmp_path: Path) -> None:
    (document,) = [document for document in LIBRARY.documents if document.name == "cpp/exp_polynomial"]
    code = "\n".join(re.findall(r"^    (.*)$", document.body, re.MULTILINE))
    main = (
        "#include <cmath>\n#include <cstdio>\n"
        + code
        + "\nint main() { double worst = 0; for (double x = -86; x < 88; x += 0.0037)"
        " { double e = std::exp((double)(float)x); worst = std::fmax(worst, std::fabs(exp_fast((float)x) / e - 1)); }"
        ' std::printf("%g", worst); }\n'
    )
    (tmp_path / "main.cpp").write_text(main)
    subprocess.run(["g++", "-O2", "-o", tmp_path / "main", tmp_path / "main.cpp"], check=True)
    assert float(subprocess.check_output([tmp_path / "main"])) < 2.5e-7
