"""What a stored result says of the code that made it, and that it can be unpacked again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from experiments import environment, store
from experiments.faults import RunError
from stored_run import make_run


def sweep(folder: Path, **facts: object) -> Path:
    """Two finished runs, and what their environments say beside the usual."""
    for seed in (0, 1):
        run_dir = make_run(folder / "a" / "t" / f"seed_{seed}", generations=1)
        path = run_dir / "environment.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "code": "c0de", **facts}))
    (folder / "experiment.yaml").write_text("arms: {a: []}\ntasks: [t]\nseeds: 2\n")
    return folder


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in the place of this one's."""
    folder = tmp_path / "checkout"
    (folder / "evolve").mkdir(parents=True)
    (folder / "evolve" / "a.py").write_text("a = 1\n")
    (folder / ".gitignore").write_text("__pycache__\n")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        git(folder, *command)
    monkeypatch.setattr(environment, "HOME", folder)
    environment.code_digest.cache_clear()
    yield folder
    environment.code_digest.cache_clear()


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_revision_is_told_for_what_it_is(checkout: Path) -> None:
    known = environment.git_revision()
    (checkout / "evolve" / "a.py").write_text("a = 2\n")
    changed = environment.git_revision()
    git(checkout, "commit", "-qam", "on a branch that is rewritten")
    lost = environment.git_revision()
    git(checkout, "commit", "-q", "--amend", "-m", "rewritten")

    assert "is in the history" in environment.revision_standing(known)
    assert "was changed since" in environment.revision_standing(changed)
    assert "is not in the history" in environment.revision_standing(lost)
    assert "none: " in environment.revision_standing(None)


def test_the_digest_is_that_of_the_code_whatever_became_of_the_commit(checkout: Path) -> None:
    def digest() -> str:
        environment.code_digest.cache_clear()
        return environment.code_digest()

    before = digest()
    (checkout / "evolve" / "__pycache__").mkdir()
    (checkout / "evolve" / "__pycache__" / "a.pyc").write_bytes(b"compiled")
    (checkout / "experiments" / "results").mkdir(parents=True)
    (checkout / "experiments" / "results" / "table.csv").write_text("1\n")
    (checkout / "hydra_plugins" / "of_others").mkdir(parents=True)
    (checkout / "hydra_plugins" / "of_others" / "launcher.py").write_text("b = 1\n")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "another commit")
    same = digest()
    (checkout / "evolve" / "a.py").rename(checkout / "evolve" / "b.py")

    assert before == same
    assert before != digest()


def test_a_stored_result_tells_where_its_code_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sweep(tmp_path / "mine", git_revision="f" * 40)
    assert 0 == store.main([str(folder), "--results", str(tmp_path / "results")])
    facts = json.loads((tmp_path / "results" / "mine" / "machine.json").read_text())

    assert ("f" * 40, "c0de") == (facts["git_revision"], facts["code"])
    assert "is not in the history of the checkout" in facts["git_revision_is"]
    assert "is not in the history of the checkout" in capsys.readouterr().out


def test_code_that_differs_between_runs_or_attempts_is_told(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "mine")
    path = folder / "a" / "t" / "seed_1" / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "later_attempts": [{"code": "other"}]}))

    assert ["code"] == store.machine(folder)["differs_between_runs"]


def test_a_sweep_whose_runs_tell_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run tells its environment"):
        store.machine(tmp_path)


def test_what_is_stored_is_unpacked_as_it_was(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "mine")
    store.main([str(folder), "--results", str(tmp_path / "results")])
    store.unpack(tmp_path / "results" / "mine", tmp_path / "again")
    kept = [path.relative_to(folder) for path in store.recorded_files(folder)]

    assert any(path.name == "journal.jsonl" for path in kept)
    assert {(folder / path).read_bytes() for path in kept} == {
        (tmp_path / "again" / path).read_bytes() for path in kept
    }
