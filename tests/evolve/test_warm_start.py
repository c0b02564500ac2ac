from __future__ import annotations

from pathlib import Path

import pytest

from evolve import EvolveError, Seed, from_folder, from_run, nearest_runs
from evolve.policies import MuPlusLambda
from toy_search import BITS, kernel, run


def test_a_folder_of_kernels_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name, text in (("b.cpp", "two"), ("a.cpp", "one"), ("note.txt", "no")):
        (tmp_path / name).write_text(text)
    seeds = from_folder(tmp_path, "cpp", ".cpp")

    assert ["one", "two"] == [seed.kernel.source for seed in seeds]
    assert ["a.cpp", "b.cpp"] == [seed.origin for seed in seeds]


def test_an_empty_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EvolveError, match=r"no \*.cpp file"):
        from_folder(tmp_path, "cpp", ".cpp")


def test_the_fastest_kernels_of_a_run_are_inherited(tmp_path: Path) -> None:
    generations, _ = run(MuPlusLambda(mu=3, lambda_=4), tmp_path / "old", 5)
    seeds = from_run(tmp_path / "old", 2)

    assert 2 == len(seeds)
    assert generations[-1].best.kernel == seeds[0].kernel
    assert seeds[0].origin.startswith("old/")


def test_a_warm_start_begins_where_the_old_run_ended(tmp_path: Path) -> None:
    old, _ = run(MuPlusLambda(mu=3, lambda_=4), tmp_path / "old", 5)
    seeds = [Seed(kernel("0" * BITS)), *from_run(tmp_path / "old")]
    new, _ = run(MuPlusLambda(mu=3, lambda_=4), tmp_path / "new", 1, seed_kernels=seeds)

    assert old[-1].best.cost == new[0].best.cost


@pytest.mark.parametrize("damage", ["", "not json\n", '{"slots": []}\n'])
def test_a_folder_without_a_run_is_one_line(tmp_path: Path, damage: str) -> None:
    (tmp_path / "generations.jsonl").write_text(damage)
    with pytest.raises(EvolveError, match="start"):
        from_run(tmp_path)


def test_a_missing_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EvolveError, match="cannot be read"):
        from_run(tmp_path / "nothing")


def test_the_nearest_run_is_of_the_same_task(tmp_path: Path) -> None:
    wanted = {"task": {"name": "softmax"}, "language": {"name": "cpp"}, "target": {"name": "cpu"}}
    others = {
        "a_other_task": {**wanted, "task": {"name": "matmul"}},
        "b_other_target": {**wanted, "target": {"name": "h200"}},
        "c_other_language": {**wanted, "language": {"name": "triton"}},
        "d_equal": wanted,
    }
    for name, configuration in others.items():
        run(MuPlusLambda(mu=1, lambda_=1), tmp_path / name, 1, configuration=configuration)

    assert ["d_equal", "b_other_target", "a_other_task"] == [path.name for path in nearest_runs(tmp_path, wanted)]


def test_no_run_in_the_language_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EvolveError, match="no run in this language"):
        nearest_runs(tmp_path, {"language": {"name": "cpp"}})
