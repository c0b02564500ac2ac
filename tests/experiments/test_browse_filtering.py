import pytest

from experiments.browser.filtering import complaints, differing, matching, terms, with_term, without_key, written
from experiments.browser.summary import Summary

RUNS = [
    Summary(
        "sweep/a",
        "finished",
        values={"task": "softmax", "mu": "8", "best": "2.5", "state": "finished"},
        title="Softmax in C++",
    ),
    Summary("sweep/b", "failed", values={"task": "row_sum", "mu": "4.0", "state": "failed"}),
    Summary("other", "finished", values={"task": "soft_arg", "mu": "8", "best": "11", "state": "finished"}),
]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("", ["sweep/a", "sweep/b", "other"]),
        ("task=softmax", ["sweep/a"]),
        ("task=soft*", ["sweep/a", "other"]),
        ("task=softmax,row_sum", ["sweep/a", "sweep/b"]),
        ("task!=softmax", ["sweep/b", "other"]),
        ("best>3", ["other"]),
        ("best>=2.5 state=finished", ["sweep/a", "other"]),
        ("mu=4", ["sweep/b"]),
        ("sweep", ["sweep/a", "sweep/b"]),
        ("SOFTMAX c++", ["sweep/a"]),
        ("nothing=1", []),
        ("'unclosed", []),
    ],
)
def test_a_query_chooses(query, paths):
    assert paths == [run.path for run in matching(RUNS, query)]


def test_a_key_that_no_run_has_is_told_with_the_nearest():
    assert ["no run has a key 'tsk'; did you mean task?"] == complaints(RUNS, "tsk=softmax mu=8")


def test_what_differs_is_offered_with_counts():
    assert {"state": [("finished", 2), ("failed", 1)], "mu": [("8", 2), ("4.0", 1)]}.items() <= differing(RUNS).items()


def test_a_choice_replaces_the_one_before_and_can_be_taken_back():
    chosen = with_term("mu=8 word", "mu", "a b")

    assert ("word mu='a b'", "word") == (chosen, without_key(chosen, "mu"))


def test_a_written_query_reads_back():
    query = "two 'words here' task=soft* note='a b' best>=2"

    assert terms(query) == terms(written(terms(query)))
