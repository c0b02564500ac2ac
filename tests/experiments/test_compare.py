import re
from pathlib import Path

import pandas as pd
import pytest

from experiments.analysis.result import Result, analyse
from experiments.benchmarks.synthetic import Invented, write_run
from experiments.compare import main, write
from experiments.experiment import declare, from_plain

HOSTILE = "</style><script>alert('pwned')</script>&\"'"
FIGURES = ("best_so_far", "effects", "funnel", "profile")
TABLES = ("comparison", "comparison_arms", "comparison_operators", "comparison_runs", "comparison_tasks")
STRONG, WEAK = Invented(gain=0.4, evaluations=40), Invented(gain=0.05, evaluations=40)


def sweep(root: Path, seeds: int = 6, second: Invented = WEAK, **declared: object) -> Path:
    """Declares a comparison of a strong arm with another one, and writes the runs of both."""
    plain = {
        "question": f"Is it better? {HOSTILE}",
        "arms": {"strong": ["operators=strong"], "other": ["operators=other"]},
        "tasks": ["t", "u"],
        "seeds": seeds,
        "comparisons": [["strong", "other"]],
        **declared,
    }
    declare(from_plain(plain, "demo"), root)
    for arm, search in (("strong", STRONG), ("other", second)):
        for number, task in enumerate(("t", "u")):
            for seed in range(seeds):
                write_run(
                    root / arm / task / f"seed_{seed}",
                    search,
                    seed + 100 * number + 1000 * (arm == "other"),
                    {"operators": arm, "task": task},
                )
    return root


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = sweep(tmp_path_factory.mktemp("sweep"))
    write(analyse(root), root)
    return root


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def warned(result: Result) -> str:
    return " ".join(result.warnings)


def test_a_real_difference_is_told(compared: Path) -> None:
    assert "strong is better than other" in analyse(compared).text


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_figures_are_written(compared: Path, name: str, suffix: str, start: bytes) -> None:
    assert (compared / f"comparison_{name}{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_written(compared: Path, name: str) -> None:
    assert len(pd.read_csv(compared / f"{name}.csv")) > 0


def test_the_parquet_file_holds_the_runs_with_their_scores(compared: Path) -> None:
    runs = pd.read_parquet(compared / "comparison.parquet")

    assert analyse(compared).scored["area_evaluations"].tolist() == runs["area_evaluations"].tolist()


def test_the_page_needs_no_network(compared: Path) -> None:
    page = (compared / "comparison.html").read_text("utf-8")

    assert [] == [url for url in re.findall(r'(?:src|href)="([^"]+)"', page) if not url.startswith("data:")]


def test_one_of_a_thing_is_not_said_in_the_plural(compared: Path) -> None:
    page = (compared / "comparison.html").read_text("utf-8")

    assert "for 1 comparison; alpha" in page
    assert [] == re.findall(r"\b1 (?:runs|seeds|tasks|comparisons|proposals|blocks|evaluations)\b", page)


def test_what_comes_from_records_is_escaped(compared: Path) -> None:
    page = (compared / "comparison.html").read_text("utf-8")

    assert (0, True) == (page.count("<script"), "&lt;script&gt;" in page)


def test_tables_and_figures_are_the_same_every_time(compared: Path, tmp_path: Path) -> None:
    write(analyse(compared), tmp_path)
    names = [f"{name}.csv" for name in TABLES] + [
        f"comparison_{name}{end}" for name in FIGURES for end in (".png", ".pdf")
    ]

    assert {name: (compared / name).read_bytes() for name in names} == {
        name: (tmp_path / name).read_bytes() for name in names
    }


def test_the_command_prints_the_result(compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main([str(compared), "--out", str(tmp_path)])

    assert (0, True) == (status, "strong is better than other" in " ".join(capsys.readouterr().out.split()))


def test_noise_is_not_called_a_win(tmp_path: Path) -> None:
    result = analyse(sweep(tmp_path, second=STRONG))

    assert (False, True) == (result.has_win, "No difference was shown" in result.text)


def test_without_runs_one_line_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main([str(tmp_path)])

    assert (
        1,
        [f"error: {tmp_path}: holds no run; start one with python -m experiments.sweep or experiments.run -m"],
    ) == (
        status,
        lines(capsys),
    )


def test_a_broken_declaration_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sweep(tmp_path, seeds=2) / "experiment.yaml").write_text("arms: 3")
    status = main([str(tmp_path)])

    assert (2, 1) == (status, len(lines(capsys)))


def test_one_arm_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    write_run(tmp_path / "0", STRONG, 0, {"operators": "a", "task": "t"})
    result = analyse(tmp_path)

    assert (True, True) == ("nothing to compare" in result.text, write(result, tmp_path).exists())


def test_one_seed_is_flagged(tmp_path: Path) -> None:
    result = analyse(sweep(tmp_path, seeds=1))

    assert ("nothing can be significant" in warned(result), False) == (True, result.has_win)


def test_three_seeds_on_one_task_are_flagged(tmp_path: Path) -> None:
    result = analyse(sweep(tmp_path, seeds=3, tasks=["t"]))

    assert (True, "too few runs") == (
        "smallest possible p is 0.1: nothing can be significant" in warned(result),
        result.comparisons[0].verdict,
    )


def test_exploration_is_flagged(tmp_path: Path) -> None:
    (sweep(tmp_path) / "experiment.yaml").unlink()
    result = analyse(tmp_path)

    assert (True, False, True) == (
        result.text.startswith("EXPLORATORY"),
        result.has_win,
        "No experiment.yaml was stored" in warned(result),
    )


def test_mixed_tasks_are_flagged(tmp_path: Path) -> None:
    for arm, task in (("a", "t"), ("a", "u"), ("b", "u"), ("b", "v")):
        for seed in range(3):
            write_run(tmp_path / f"{arm}{task}{seed}", STRONG, seed, {"operators": arm, "task": task})
    result = analyse(tmp_path)

    assert (True, 1) == (
        "Not all arms ran on the same tasks; those that all have: u" in warned(result),
        result.comparisons[0].num_tasks,
    )


def test_different_budgets_are_flagged(tmp_path: Path) -> None:
    result = analyse(sweep(tmp_path, second=Invented(evaluations=80)))

    assert "strong 40 evaluations in the median, other 80" in warned(result)


def test_failed_runs_are_flagged_with_their_error(tmp_path: Path) -> None:
    run = sweep(tmp_path) / "other" / "t" / "seed_0"
    (run / "result.json").unlink()
    (run / "failed.json").write_text('{"error": "no compiler here"}')
    result = analyse(tmp_path)

    assert "1 run failed and not compared (1 of other); the first says: no compiler here." in warned(result)


def test_seeds_that_were_added_later_are_flagged(tmp_path: Path) -> None:
    sweep(sweep(tmp_path, seeds=4), seeds=6)

    assert "After the first run: seeds added: 4, 5" in warned(analyse(tmp_path))


def test_runs_without_any_time_are_flagged(tmp_path: Path) -> None:
    for path in sweep(tmp_path).rglob("generations.jsonl"):
        path.write_text(re.sub(r'"(speedup|latency_us|inherited_speedup)":[0-9.e+-]+', r'"\1":null', path.read_text()))
    result = analyse(tmp_path)

    assert (True, True, True) == (
        "timed no kernel and has no score" in warned(result),
        "nothing to compare" in result.text,
        write(result, tmp_path).exists(),
    )


def test_a_sweep_that_only_failed_is_reported(tmp_path: Path) -> None:
    for path in sweep(tmp_path, seeds=2).rglob("result.json"):
        path.unlink()
    result = analyse(tmp_path)

    assert ("8 runs unfinished" in warned(result), write(result, tmp_path).exists()) == (True, True)


def test_ten_arms_have_ten_different_looks() -> None:
    from experiments.analysis.figures import looks

    found = looks([f"arm{number}" for number in range(20)])

    assert 20 == len({(look.colour, look.line, look.marker) for look in found.values()})


def test_the_same_colour_never_has_the_same_line_among_ten_arms() -> None:
    from experiments.analysis.figures import looks

    found = list(looks([f"arm{number}" for number in range(10)]).values())

    assert 10 == len({(look.colour, look.line) for look in found})


@pytest.mark.parametrize(("kernel", "is_told"), [("f" * 32, False), ("e" * 32, True)])
def test_arms_that_start_from_other_kernels_are_told_and_such_as_measure_theirs_otherwise_are_not(
    tmp_path: Path, kernel: str, is_told: bool
) -> None:
    root = sweep(tmp_path)
    for path in root.glob("*/*/*/generations.jsonl"):
        text = re.sub(r'("slot":-1,[^}]*?"kernel":")[0-9a-f]{32}', rf"\g<1>{'f' * 32}", path.read_text())
        if path.parts[-4] == "other":
            text = text.replace('"inherited_speedup":1.0', '"inherited_speedup":1.5').replace("f" * 32, kernel)
        path.write_text(text)

    assert is_told == ("Arms do not start from equal kernels" in warned(analyse(root)))
