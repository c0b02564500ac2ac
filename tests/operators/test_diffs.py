from __future__ import annotations

import pytest

from operators.reading import Outcome, Reading, read_answer
from reading_samples import CHILD, CPP, LOOP, NEW, OLD, PARENT, TRITON, edit


def read(text: str, parent: str = PARENT, **more) -> Reading:
    return read_answer(text, more.pop("wanted", CPP), parent, more.pop("mode", "diff"), **more)


@pytest.mark.parametrize(
    "text",
    [
        edit(OLD, NEW),
        "I scale instead of dividing.\n\n" + edit(OLD, NEW) + "\nThat saves divisions.",
        "```\n" + edit(OLD, NEW) + "```",
        "```cpp\n" + edit(OLD, NEW) + "```",
        "```diff\n" + edit(OLD, NEW) + "```",
        "kernel.cpp\n```cpp\n" + edit(OLD, NEW) + "```",
        edit(OLD, NEW).replace("<<<<<<< SEARCH", "<<<<<<< SEARCH kernel.cpp"),
        edit(OLD, NEW).replace("<<<<<<< SEARCH", "<<<<<<< ORIGINAL").replace(">>>>>>> REPLACE", ">>>>>>> UPDATED"),
        edit(OLD, NEW).replace("<<<<<<< SEARCH", "------- SEARCH").replace(">>>>>>> REPLACE", "+++++++ REPLACE"),
        edit(OLD, NEW).replace("<<<<<<<", "<<<<<<").replace("=======", "======").replace(">>>>>>>", ">>>>>>"),
        edit(OLD, NEW).replace("\n", "\r\n"),
        edit(f"```cpp\n{OLD}\n```", f"```cpp\n{NEW}\n```"),
        edit(OLD + "\n", NEW + "\n").replace("\n\n", "\n"),
        "<think>\n" + edit(OLD, "nonsense") + "</think>\n" + edit(OLD, NEW),
        "```diff\n--- a/kernel.cpp\n+++ b/kernel.cpp\n@@ -9,3 +9,3 @@\n"
        f"         {LOOP}\n-{OLD}\n+{NEW}\n         }}\n```",
    ],
)
def test_dialects_of_one_edit(text: str) -> None:
    assert CHILD == read(text).source


@pytest.mark.parametrize(
    "search",
    [
        OLD.strip(),
        OLD.replace("    ", "\t"),
        OLD + "   ",
        OLD.replace(" / ", "/"),
        "\n" + OLD + "\n",
    ],
)
def test_whitespace_may_drift_when_the_place_is_unique(search: str) -> None:
    source = read(edit(search, NEW.strip())).source or ""
    assert CHILD.split() == source.split()


def test_the_replacement_moves_to_the_parents_indentation() -> None:
    parent = "import torch\n\ndef kernel_fn(x):\n    if True:\n        y = x\n        return y\n"
    told = edit("    y = x\n    return y", "    y = x + 0\n    return y")
    assert parent.replace("y = x", "y = x + 0") == read(told, parent, wanted=TRITON).source


def test_several_edits_apply_one_after_the_other() -> None:
    told = edit("        float total = 0.0f;", "        float total = 0.0f, scale;") + edit(OLD, NEW)
    assert CHILD.replace("total = 0.0f;", "total = 0.0f, scale;") == read(told).source


def test_an_edit_inside_a_line() -> None:
    assert (
        PARENT.replace("float total = 0.0f", "double total = 0.0")
        == read(edit("float total = 0.0f", "double total = 0.0")).source
    )


def test_deleting_lines() -> None:
    told = "<<<<<<< SEARCH\n#include <cmath>\n=======\n>>>>>>> REPLACE\n"
    assert PARENT.replace("#include <cmath>\n", "") == read(told).source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (edit("        float sum = 0.0f;", ""), Outcome.DIFF_NOT_FOUND),
        (edit("            total += std::exp(x[i * N + j]);\n        }", "x"), Outcome.DIFF_NOT_FOUND),
        (edit(f"        {LOOP}", "x"), Outcome.DIFF_AMBIGUOUS),
        (edit(f"\t{LOOP}", "x"), Outcome.DIFF_AMBIGUOUS),
        (edit("total", "x"), Outcome.DIFF_AMBIGUOUS),
        (edit("", "static float f(float x) { return x; }"), Outcome.DIFF_MALFORMED),
        ("<<<<<<< SEARCH\n" + OLD + "\n" + NEW, Outcome.DIFF_MALFORMED),
        ("<<<<<<< SEARCH\n" + OLD + "\n=======\n" + NEW, Outcome.DIFF_MALFORMED),
        ("<<<<<<< SEARCH\n" + OLD + "\n" + edit(OLD, NEW), Outcome.DIFF_MALFORMED),
        ("Replace the division by a multiplication.", Outcome.DIFF_MALFORMED),
        ("```cpp\n" + NEW + "\n```", Outcome.DIFF_MALFORMED),
        (edit(OLD, "            // rest of the code unchanged"), Outcome.ELIDED),
        (edit("long M, long N", "long M, long N, long K"), Outcome.SIGNATURE_CHANGED),
        (edit(OLD, OLD), Outcome.UNCHANGED),
        (edit("        }\n    }\n}", "        }\n"), Outcome.TRUNCATED),
    ],
)
def test_each_failure_of_a_diff_has_its_name(text: str, expected: Outcome) -> None:
    assert expected == read(text).outcome


def test_a_cut_off_diff_is_truncated() -> None:
    assert Outcome.TRUNCATED == read("<<<<<<< SEARCH\n" + OLD, finish_reason="length").outcome


def test_one_bad_edit_of_two_applies_neither() -> None:
    reading = read(edit(OLD, NEW) + edit("not there", "x"))
    assert (Outcome.DIFF_NOT_FOUND, None, True) == (reading.outcome, reading.source, "edit 2 of 2" in reading.reason)


def test_the_nearest_line_is_told() -> None:
    assert "float total = 0.0f;" in read(edit("        float totals = 0.0;", "x")).reason


def test_a_whole_kernel_is_taken_where_a_diff_was_asked() -> None:
    reading = read("```cpp\n" + CHILD + "```")
    assert (CHILD, "a whole kernel instead of a diff") == (reading.source, reading.note)


def test_a_diff_is_taken_where_a_whole_kernel_was_asked() -> None:
    reading = read(edit(OLD, NEW), mode="full")
    assert (CHILD, "a diff instead of a whole kernel") == (reading.source, reading.note)


def test_a_parent_with_crlf_keeps_it() -> None:
    assert CHILD.replace("\n", "\r\n") == read(edit(OLD, NEW), PARENT.replace("\n", "\r\n")).source
