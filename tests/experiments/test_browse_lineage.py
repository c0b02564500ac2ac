from pathlib import Path

from experiments.browser import lineage_tree
from experiments.browser.lineage_tree import ancestors, tree
from experiments.records import load_run
from experiments.runs import Candidate, Run
from fitness import Evaluation, Status
from stored_run import make_run


def shown(branches):
    return [each for branch in branches for each in (branch, *shown(branch.children))]


def test_every_correct_kernel_stands_below_its_first_parent(tmp_path):
    run = load_run(make_run(tmp_path))
    branches = tree(run)
    correct = {each.digest for each in run.evaluated if each.evaluation.ok}

    assert correct == {each.candidate.digest for each in shown(branches)}
    assert all(
        child.candidate.parents[0] == each.candidate.digest for each in shown(branches) for child in each.children
    )


def test_the_line_to_the_best_is_marked(tmp_path):
    run = load_run(make_run(tmp_path))

    assert ancestors(run, run.best_digest) == [each.candidate.digest for each in shown(tree(run)) if each.leads_to_best]


def test_what_does_not_fit_is_counted(tmp_path, monkeypatch):
    run = load_run(make_run(tmp_path, generations=8))
    everything = len(shown(tree(run)))
    monkeypatch.setattr(lineage_tree, "MOST_BRANCHES", 5)
    small = shown(tree(run))

    assert 5 == len(small)
    assert everything == 5 + sum(each.hidden for each in small)


def test_a_failure_that_was_repaired_is_shown():
    failed = Evaluation("b", Status.WRONG_VALUE)
    good = Evaluation("c", Status.OK)
    made = [("a", (), good), ("b", ("a",), failed), ("c", ("b",), good), ("d", ("a",), failed)]
    run = run_of(
        Candidate(slot, 0, "mutate", parents, digest, "parsed", "", 0, evaluation, slot, repeated=False)
        for slot, (digest, parents, evaluation) in enumerate(made)
    )

    assert ["a", "b", "c"] == [each.candidate.digest for each in shown(tree(run))]


def run_of(candidates):
    return Run(Path(), {}, "", {}, tuple(candidates), {}, "c", 1, 0.0)


def test_failures_are_counted_or_shown(tmp_path):
    run = load_run(make_run(tmp_path))
    failed = [each for each in run.candidates if each.parents and not (each.evaluation and each.evaluation.ok)]

    assert len(failed) == sum(each.failed for each in shown(tree(run)))
    assert len(shown(tree(run))) < len(shown(tree(run, with_failed=True)))
