"""Run directories are read as they grow, and what is damaged is said instead of believed."""

import gzip
import os
import shutil

import pytest

from evolve import Journal
from experiments.browser import Collection, Recording
from experiments.browser.root import Root
from experiments.faults import RunError
from experiments.records import load_run
from stored_run import make_run


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("stored") / "run")


@pytest.fixture
def run_dir(stored, tmp_path):
    return shutil.copytree(stored, tmp_path / "runs" / "run")


def recording(run_dir):
    return Recording(Root(run_dir.parent), run_dir)


def state(run_dir):
    (summary,) = Collection(run_dir.parent).summaries()
    return summary.state, summary.problem


def test_it_reads_what_the_report_reads(run_dir):
    ours, theirs = recording(run_dir).run, load_run(run_dir)
    facts = [
        [(each.slot, each.digest, each.speedup, each.charged, each.repeated, each.parents) for each in run.candidates]
        for run in (ours, theirs)
    ]

    assert facts[1] == facts[0]
    assert theirs.best.evaluation.interval == ours.best.evaluation.interval
    assert (theirs.verification, theirs.calibration, theirs.counts) == (
        ours.verification,
        ours.calibration,
        ours.counts,
    )
    assert dict(theirs.sources) == dict(ours.sources)


def test_a_whole_verdict_has_its_samples(run_dir):
    read = recording(run_dir)

    assert 20 == len(read.evaluation(read.run.best_digest).measurements[0].samples_us)


@pytest.mark.parametrize("name", ["generations.jsonl", "journal.jsonl", "kernels/sources.jsonl"])
def test_a_torn_last_line_waits_until_it_is_whole(run_dir, name):
    path, content = run_dir / name, (run_dir / name).read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(content[: last + 10])
    read = recording(run_dir)
    before = read.version, len(read.run.candidates), len(read.run.sources), len(read.journal)
    with path.open("ab") as file:
        file.write(content[last + 10 :])
    read.refresh()

    assert () == read.problems
    assert before != (read.version, len(read.run.candidates), len(read.run.sources), len(read.journal))
    assert 33 == len(read.run.candidates)


def test_nothing_new_is_no_new_version(run_dir):
    read = recording(run_dir)
    version = read.version
    read.refresh()

    assert version == read.version


def test_a_file_that_was_replaced_is_read_from_its_beginning(run_dir):
    read = recording(run_dir)
    path = run_dir / "generations.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    (run_dir / "new").write_bytes(b"".join(lines[:2]))
    os.replace(run_dir / "new", path)
    read.refresh()

    assert 1 == read.run.generations
    assert 9 == len(read.run.candidates)


def test_a_compressed_journal_answers_too(run_dir):
    content = (run_dir / "journal.jsonl").read_bytes()
    (run_dir / "journal.jsonl").unlink()
    (run_dir / "journal.jsonl.gz").write_bytes(gzip.compress(content))
    read = recording(run_dir)

    assert read.evaluation(read.run.best_digest).measurements
    assert ("finished", "") == state(run_dir)


def test_a_damaged_line_is_told_and_the_rest_is_shown(run_dir):
    path = run_dir / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"garbage\n", *lines[4:]]))
    read = recording(run_dir)

    assert ("journal.jsonl: line 5 cannot be read and is left out",) == read.problems
    assert read.evaluation(read.run.best_digest) is not None


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("generations.jsonl", b"[1]\n", "generations.jsonl: a line cannot be read"),
        ("generations.jsonl", b"[" * 100_000 + b"\n", "nested too deep"),
        ("environment.json", b"{", "environment.json"),
        ("result.json", b"[]", "result.json: holds no mapping"),
        ("config.yaml", b"mu: [", "config.yaml"),
        ("journal.jsonl.gz", b"\x1f\x8b damaged", ""),
    ],
)
def test_a_broken_file_becomes_a_problem(run_dir, name, content, told):
    if name == "journal.jsonl.gz":
        (run_dir / "journal.jsonl").unlink()
    (run_dir / name).write_bytes(content)
    problems = recording(run_dir).problems

    assert told in " ".join(problems)
    assert problems


@pytest.mark.parametrize(
    ("name", "content"),
    [("journal.jsonl", b"\x00\n"), ("result.json", b"{"), ("generations.jsonl", b'"population":{\n')],
)
def test_the_list_says_what_is_broken(run_dir, name, content):
    (run_dir / name).write_bytes(content)

    assert "broken" == state(run_dir)[0]
    assert state(run_dir)[1]


def test_a_run_without_a_journal_and_an_empty_folder_are_listed(run_dir):
    (run_dir / "journal.jsonl").unlink()
    (run_dir.parent / "nothing").mkdir()

    assert [("nothing", "empty"), ("run", "broken")] == [
        (each.path, each.state) for each in Collection(run_dir.parent).summaries()
    ]


def test_a_run_that_was_stopped_is_unfinished_and_one_that_is_written_to_runs(tmp_path):
    make_run(tmp_path / "run", verify=False)
    collection = Collection(tmp_path)
    before = [each.state for each in collection.summaries()]
    with Journal(tmp_path / "run" / "journal.jsonl"):
        during = [each.state for each in collection.summaries()]

    assert (["unfinished"], ["running"]) == (before, during)


def test_a_summary_follows_its_files(run_dir):
    collection = Collection(run_dir.parent)
    before = collection.summaries()[0]
    (run_dir / "result.json").unlink()

    assert ("finished", "unfinished") == (before.state, collection.summaries()[0].state)


def test_a_link_out_of_the_root_is_not_followed(run_dir, tmp_path):
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2")
    (run_dir / "config.yaml").unlink()
    (run_dir / "config.yaml").symlink_to(secret)
    read = recording(run_dir)

    assert "" == read.run.config_text
    assert "leads out of" in read.problems[0]
    with pytest.raises(RunError, match="leads out of"):
        read.check_files()


def test_a_link_to_a_folder_is_named_and_not_entered(run_dir, tmp_path):
    make_run(tmp_path / "elsewhere")
    (run_dir.parent / "linked").symlink_to(tmp_path / "elsewhere")
    collection = Collection(run_dir.parent)

    assert ["run"] == [each.path for each in collection.summaries()]
    assert ["linked"] == collection.links


def test_a_named_pipe_does_not_stop_the_reader(run_dir):
    (run_dir / "config.yaml").unlink()
    os.mkfifo(run_dir / "config.yaml")

    assert "config.yaml is no plain file" in recording(run_dir).problems[0]


def test_references_that_would_fill_the_memory_are_refused(run_dir):
    pairs = zip("abcdefghijklmnopqrstuvw", "bcdefghijklmnopqrstuvwx", strict=True)
    bomb = "a: &a [x]\n" + "".join(f"{name}: &{name} [*{before}, *{before}]\n" for before, name in pairs)
    (run_dir / "config.yaml").write_text(bomb)

    assert ("config.yaml: uses references, which no run writes",) == recording(run_dir).problems


@pytest.mark.parametrize("path", ["../secret", "/etc", "", ".", "run/../run", "run\x00"])
def test_only_runs_that_were_found_are_opened(run_dir, path):
    with pytest.raises(RunError, match="there is no run"):
        Collection(run_dir.parent).recording(path)
