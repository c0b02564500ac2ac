import gzip
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from evolve import Generation, Individual
from evolve.run_files import generation_record
from experiments.analysis.run_columns import COLUMNS, read_clockings
from experiments.analysis.tables import CACHE, load_sweep
from experiments.benchmarks.synthetic import Invented, write_run
from experiments.experiment import declare, from_plain
from experiments.faults import RunError
from experiments.records import load_run
from fitness import Evaluation, Kernel, Status
from stored_run import make_run

SMALL = Invented(evaluations=12, generation_size=4)
HALF_PACKED = gzip.compress(b"{}\n" * 100)[:15]


def sweep(root: Path, seeds: int = 2, search: Invented = SMALL) -> Path:
    """Declares two arms on one task and writes their runs."""
    plain = {"arms": {"a": ["operators=a"], "b": ["operators=b"]}, "tasks": ["t"], "seeds": seeds}
    declare(from_plain(plain, "demo"), root)
    for arm in ("a", "b"):
        for seed in range(seeds):
            write_run(root / arm / "t" / f"seed_{seed}", search, seed, {"operators": arm, "task": "t"})
    return root


def test_invented_records_have_the_keys_of_real_ones(tmp_path: Path) -> None:
    kernel = Kernel("x", "cpp")
    seed = Individual(kernel, Evaluation(kernel.digest, Status.OK), 0, -1)
    real = generation_record(Generation(0, (seed,), (seed,), seed, 1, 0, 0.0), 0, 1.0)
    write_run(tmp_path, SMALL, 0, {})
    invented = json.loads((tmp_path / "generations.jsonl").read_text().splitlines()[0])

    assert (real.keys(), real["slots"][0].keys()) == (invented.keys(), invented["slots"][0].keys())


def test_every_slot_is_a_row(tmp_path: Path) -> None:
    loaded = load_sweep(sweep(tmp_path))

    assert (4 * 12, ["run", *COLUMNS]) == (len(loaded.evaluations), list(loaded.evaluations.columns))


def test_runs_know_arm_task_and_seed_from_their_folder(tmp_path: Path) -> None:
    runs = load_sweep(sweep(tmp_path)).runs

    assert [("a", "t", 0), ("a", "t", 1), ("b", "t", 0), ("b", "t", 1)] == list(
        zip(runs["arm"], runs["task"], runs["seed"], strict=True)
    )


def test_names_that_are_no_utf8_are_read_without_a_cache(tmp_path: Path) -> None:
    root = sweep(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))

    assert [4 * 12, 4 * 12] == [len(load_sweep(root).evaluations) for _ in range(2)]


def test_a_run_in_a_folder_whose_name_is_no_utf8_is_told(tmp_path: Path) -> None:
    write_run(Path(os.fsdecode(os.fsencode(tmp_path) + b"/run\xfe")), SMALL, 0, {})

    with pytest.raises(RunError, match=r"rename the folder 'run.*whose name is not UTF-8"):
        load_sweep(tmp_path)


def test_best_is_the_running_maximum_of_the_certified_best(tmp_path: Path) -> None:
    best = load_sweep(sweep(tmp_path)).evaluations.query("run == 0")["best"].to_numpy()

    assert (True, 1.0) == (bool(np.all(np.diff(best) >= 0)), best[0])


def test_wall_time_comes_from_the_journal(tmp_path: Path) -> None:
    elapsed_s = load_sweep(sweep(tmp_path)).evaluations.query("run == 0")["elapsed_s"].to_numpy()

    assert pytest.approx(0.2 + 0.2 * np.arange(12)) == elapsed_s


def test_costs_leave_out_the_queue_and_what_a_log_says(tmp_path: Path) -> None:
    costs = load_sweep(sweep(tmp_path)).evaluations["cost_s"]

    assert pytest.approx(np.full(48, 0.2)) == costs.to_numpy()


def test_model_time_is_shared_out_by_tokens(tmp_path: Path) -> None:
    search = Invented(evaluations=5, tokens=100, seconds=1.0)
    costs = load_sweep(sweep(tmp_path, search=search)).evaluations.query("run == 0")["cost_s"]

    assert pytest.approx([1.0, 1.5, 1.5, 1.5, 1.5]) == costs.to_numpy()


def test_the_winner_comes_with_its_verified_speedup(tmp_path: Path) -> None:
    path = sweep(tmp_path) / "a" / "t" / "seed_0" / "journal.jsonl"
    *lines, line = path.read_text().splitlines(keepends=True)
    last = json.loads(line)
    last["value"]["interval"] = [1.25, 1.5]
    path.write_text("".join([*lines, json.dumps(last, separators=(",", ":")) + "\n"]))
    runs = load_sweep(tmp_path).runs

    assert ("verification", last["value"]["speedup"]) == (last["kind"], runs["verified"][0])
    assert 1.25 == runs["verified_low"][0]


def test_a_compressed_journal_is_read_as_well(tmp_path: Path) -> None:
    plain = sweep(tmp_path) / "a" / "t" / "seed_0" / "journal.jsonl"
    packed = plain.with_name("journal.jsonl.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert read_clockings(plain) == read_clockings(packed)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = sweep(tmp_path) / "a" / "t" / "seed_0" / "generations.jsonl"
    path.write_bytes(path.read_bytes()[:-10])

    assert (9, 12) == tuple(load_sweep(tmp_path).runs["num_rows"][:2])


@pytest.mark.parametrize(
    ("spoil", "state"),
    [
        (lambda run: (run / "result.json").unlink(), "unfinished"),
        (shutil.rmtree, "missing"),
        (lambda run: (run / "generations.jsonl").write_text("not json\n"), "unreadable"),
        (lambda run: (run / "generations.jsonl").write_text('{"slots": []}\n'), "unreadable"),
        (lambda run: (run / "journal.jsonl").write_text("{}\nnonsense\n"), "unreadable"),
        (lambda run: (run / "result.json").write_text("[1]"), "unreadable"),
        (lambda run: (run / "journal.jsonl").rename(run / "journal.jsonl.gz").write_bytes(HALF_PACKED), "unreadable"),
    ],
)
def test_no_run_is_dropped_in_silence(tmp_path: Path, spoil: object, state: str) -> None:
    run = sweep(tmp_path) / "a" / "t" / "seed_1"
    spoil(run)  # type: ignore[operator]
    runs = load_sweep(tmp_path).runs

    assert [state] == runs.query("arm == 'a' and seed == 1")["state"].tolist()


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    run = sweep(tmp_path) / "b" / "t" / "seed_0"
    (run / "result.json").unlink()
    (run / "failed.json").write_text('{"error": "no compiler"}')
    row = load_sweep(tmp_path).runs.query("arm == 'b' and seed == 0").iloc[0]

    assert ("failed", "no compiler") == (row["state"], row["error"])


def test_the_cache_gives_the_same_tables(tmp_path: Path) -> None:
    fresh = load_sweep(sweep(tmp_path))
    cached = load_sweep(tmp_path)

    assert (True, True) == (fresh.runs.equals(cached.runs), fresh.evaluations.equals(cached.evaluations))


def test_an_unchanged_run_is_not_read_again(tmp_path: Path) -> None:
    load_sweep(sweep(tmp_path))
    path = tmp_path / "a" / "t" / "seed_0" / "generations.jsonl"
    stat, text = path.stat(), path.read_text()
    path.write_text("x" * (len(text) - 1) + "\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert "finished" == load_sweep(tmp_path).runs["state"][0]


def test_a_changed_run_is_read_again_and_the_others_are_kept(tmp_path: Path) -> None:
    before = load_sweep(sweep(tmp_path))
    longer = Invented(evaluations=20, generation_size=4)
    write_run(tmp_path / "a" / "t" / "seed_1", longer, 9, {"operators": "a", "task": "t"})
    after = load_sweep(tmp_path)
    kept = before.evaluations.query("run == 3").reset_index(drop=True)

    assert ([12, 20, 12, 12], True) == (
        after.runs["num_rows"].tolist(),
        kept.equals(after.evaluations.query("run == 3").reset_index(drop=True)),
    )


def test_seeds_added_later_are_read_beside_the_cache(tmp_path: Path) -> None:
    load_sweep(sweep(tmp_path, seeds=2))
    loaded = load_sweep(sweep(tmp_path, seeds=3))

    assert [0, 1, 2, 0, 1, 2] == loaded.runs["seed"].tolist()


def test_a_broken_cache_is_ignored(tmp_path: Path) -> None:
    load_sweep(sweep(tmp_path))
    for path in (tmp_path / CACHE).iterdir():
        path.write_bytes(b"broken")

    assert 48 == len(load_sweep(tmp_path).evaluations)


def test_a_run_of_a_plain_multirun_is_placed_by_its_configuration(tmp_path: Path) -> None:
    plain = {"arms": {"a": ["operators=a"], "b": ["operators=b"]}, "tasks": ["t"], "seeds": 1}
    declare(from_plain(plain, "demo"), tmp_path)
    write_run(tmp_path / "0", SMALL, 0, {"operators": "b", "task": "t"})
    runs = load_sweep(tmp_path).runs.set_index("path")

    assert ("b", "t", 0, True) == tuple(runs.loc["0", ["arm", "task", "seed", "declared"]])


def test_a_run_that_nobody_declared_is_marked(tmp_path: Path) -> None:
    write_run(sweep(tmp_path) / "stray", SMALL, 77, {"operators": "c", "task": "t"})
    runs = load_sweep(tmp_path)

    assert (1, 4) == (int((~runs.runs["declared"]).sum()), len(runs.declared_part().runs))


def test_leaving_out_undeclared_runs_keeps_slots_and_runs_together(tmp_path: Path) -> None:
    write_run(sweep(tmp_path) / "aa_stray", Invented(evaluations=5), 77, {"operators": "c", "task": "t"})
    part = load_sweep(tmp_path).declared_part()

    assert [12] * 4 == part.evaluations.groupby("run").size().tolist()


def test_without_a_declaration_arms_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    for number, (operators, task) in enumerate([("a", "t"), ("a", "u"), ("b", "t"), ("b", "u")]):
        write_run(tmp_path / str(number), SMALL, 5, {"operators": operators, "task": task, "language": "cpp"})
    runs = load_sweep(tmp_path).runs

    assert ["operators=a", "operators=a", "operators=b", "operators=b"] == runs["arm"].tolist()


def test_a_run_that_was_refused_tells_no_arms_apart(tmp_path: Path) -> None:
    for number, operators in enumerate(["a", "b"]):
        write_run(tmp_path / str(number), SMALL, 5, {"operators": operators, "task": "t", "language": "cpp"})
    (tmp_path / "refused").mkdir()
    (tmp_path / "refused" / "failed.json").write_text('{"error": "no compiler"}')
    runs = load_sweep(tmp_path).runs

    assert ["operators=a", "operators=b", "operators=-"] == runs["arm"].tolist()


def test_a_folder_without_runs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run; start one"):
        load_sweep(tmp_path)


def test_a_folder_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such folder"):
        load_sweep(tmp_path / "none")


def test_a_run_of_the_real_engine_reads_as_the_reader_of_single_runs_has_it(tmp_path: Path) -> None:
    single = load_run(make_run(tmp_path / "0"))
    slots = load_sweep(tmp_path).evaluations
    statuses = [each.evaluation.status if each.evaluation is not None else "none" for each in single.candidates]

    assert ([each.slot for each in single.candidates], [each.speedup for each in single.candidates]) == (
        slots["slot"].tolist(),
        [None if np.isnan(speedup) else speedup for speedup in slots["speedup"]],
    )
    assert [str(status) for status in statuses] == slots["status"].astype(str).tolist()


def test_the_summary_of_a_real_run_agrees_with_the_reader_of_single_runs(tmp_path: Path) -> None:
    single = load_run(make_run(tmp_path / "0"))
    row = load_sweep(tmp_path).runs.iloc[0]

    assert single.best is not None
    assert single.verification is not None
    assert ("finished", single.evaluations, single.best.speedup, single.verification.speedup, 12.5) == (
        row["state"],
        row["evaluations"],
        row["best"],
        row["verified"],
        row["elapsed_s"],
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [('{"queue":9.0,"build":0.5,"check":1e-1}', 0.6), ("{}", 0.0), ('{"queue":9.0}', 0.0), ('{"build":-0.0}', 0.0)],
)
def test_cost_is_what_stands_last_in_an_answer_without_the_queue(tmp_path: Path, seconds: str, expected: float) -> None:
    """A log may say what looks like it; there its quotes are escaped."""
    log = json.dumps('"seconds":{"build":7.0}')
    answer = f'{{"kind":"evaluation","key":"ab/c","at_s":1.5,"value":{{"seconds":{{"x":1}},"seconds":{seconds},"log":{log}}}}}\n'
    path = tmp_path / "journal.jsonl"
    path.write_text('{"schema":"s","configuration":{}}\n' + answer)

    assert pytest.approx(expected) == read_clockings(path).cost_s["ab"]


def test_an_answer_whose_cost_is_none_makes_its_run_unreadable(tmp_path: Path) -> None:
    path = sweep(tmp_path) / "a" / "t" / "seed_0" / "journal.jsonl"
    text = path.read_text()
    path.write_text(re.sub(r'"seconds":\{"build":[^,}]*', '"seconds":{"build":"long"', text, count=1))

    assert "unreadable" == load_sweep(tmp_path).runs["state"][0]
