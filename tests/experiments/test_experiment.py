from pathlib import Path

import pytest

from experiments.experiment import FILE_NAME, Experiment, declare, from_plain, load_experiment, read_seeds
from experiments.faults import ConfigError

PLAIN = {
    "arms": {"plain": ["operators=syntactic"], "other": ["operators=parameter"]},
    "tasks": ["softmax", "matmul"],
    "seeds": 3,
    "budget": {"evaluations": 16, "seconds": None},
    "comparisons": [["other", "plain"]],
}


def experiment(**changes: object) -> Experiment:
    return from_plain({**PLAIN, **changes}, "demo")


def test_a_list_of_tasks_stands_for_their_overrides() -> None:
    assert {"softmax": ("task=softmax",), "matmul": ("task=matmul",)} == experiment().tasks


def test_a_number_of_seeds_stands_for_the_first_ones() -> None:
    assert (0, 1, 2) == experiment().seeds


@pytest.mark.parametrize(("text", "seeds"), [("2", (0, 1)), ("4,7", (4, 7)), ("[5]", (5,))])
def test_seeds_are_read_from_text(text: str, seeds: tuple[int, ...]) -> None:
    assert seeds == read_seeds(text)


def test_all_pairs_are_declared_by_one_word() -> None:
    assert (("plain", "other"),) == experiment(comparisons="all").comparisons


def test_limits_that_are_null_are_none() -> None:
    assert {"evaluations": 16} == experiment().budget


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "sped"}, "did you mean speedup"),
        ({"comparisons": [["plain", "oter"]]}, "did you mean other"),
        ({"comparisons": [["plain", "plain"]]}, "different arms"),
        ({"comparisons": [["plain", "other"], ["other", "plain"]]}, "given twice"),
        ({"seeds": []}, "seeds: missing"),
        ({"seeds": [1, 1]}, "different"),
        ({"arms": {"a/b": []}}, "cannot name a directory"),
        ({"arms": {"a": "operators=x"}}, "list of texts"),
        ({"arm": {}}, "did you mean arms"),
        ({"alpha": 0}, "alpha"),
        ({"budget": {"evaluation": 3}}, "did you mean evaluations"),
    ],
)
def test_mistakes_are_told_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        experiment(**changes)

    assert 1 == len(str(raised.value).splitlines())


def test_what_is_stored_reads_back_equal(tmp_path: Path) -> None:
    declared = declare(experiment(question='Is "a: b" {x} better?'), tmp_path)

    assert declared == load_experiment(tmp_path / FILE_NAME)


def test_a_file_that_is_no_yaml_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("arms: [", "utf-8")

    with pytest.raises(ConfigError, match="is no YAML") as raised:
        load_experiment(path)

    assert 1 == len(str(raised.value).splitlines())


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_experiment(tmp_path / "none.yaml")


def begun(sweep_dir: Path) -> Path:
    """Stores the experiment and a trace of its first run."""
    declare(experiment(), sweep_dir)
    run_dir = sweep_dir / "plain" / "softmax" / "seed_0"
    run_dir.mkdir(parents=True)
    (run_dir / "journal.jsonl").touch()
    return sweep_dir


def test_before_the_first_run_everything_may_change(tmp_path: Path) -> None:
    declare(experiment(), tmp_path)
    declared = declare(experiment(metric="speedup"), tmp_path)

    assert ("speedup", ()) == (declared.metric, tuple(declared.amendments))


@pytest.mark.parametrize("change", [{"metric": "speedup"}, {"alpha": 0.1}, {"budget": {"evaluations": 32}}])
def test_after_the_first_run_the_rules_are_fixed(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"use another hydra\.sweep\.dir"):
        declare(experiment(**change), begun(tmp_path))


def test_after_the_first_run_an_arm_keeps_its_meaning(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="another name"):
        declare(experiment(arms={**PLAIN["arms"], "plain": ["mu=4"]}), begun(tmp_path))


def test_after_the_first_run_no_comparison_is_taken_back(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be taken back"):
        declare(experiment(comparisons=[]), begun(tmp_path))


def test_seeds_added_later_are_noted(tmp_path: Path) -> None:
    declared = declare(experiment(seeds=5), begun(tmp_path))

    assert ((0, 1, 2, 3, 4), ("seeds added: 3, 4",)) == (tuple(declared.seeds), tuple(declared.amendments))


def test_asking_for_the_same_again_changes_nothing(tmp_path: Path) -> None:
    declare(experiment(seeds=5), begun(tmp_path))
    again = declare(experiment(seeds=5), tmp_path)

    assert ("seeds added: 3, 4",) == tuple(again.amendments)
