"""Recorded tuning spaces: what the reader keeps, what it refuses, and the exact baselines."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitness import TaskError
from fitness.spaces import (
    Space,
    best_of_random,
    cutoff_evaluations,
    random_search_fraction,
    random_search_ms,
    willemsen_score,
)

THIRD = 1.0 / 3.0


def cache() -> dict[str, Any]:
    """Two parameters and a constant; four configurations meet the restrictions, one of them fails."""
    rows = [
        (16, "row", 3.0 + THIRD),
        (32, "row", 2.0),
        (16, "column", "RuntimeFailedConfig"),
        (32, "column", 4.0),
    ]
    entries = {}
    for block, layout, time in rows:
        entry = {"block": block, "layout": layout, "fixed": 1, "time": time}
        if isinstance(time, float):
            entry["times"] = [time, time + 0.5]
        entries[f"{block},{layout},1"] = entry
    return {
        "device_name": "Board",
        "kernel_name": "toy",
        "problem_size": [8],
        "tune_params_keys": ["block", "layout", "fixed"],
        "tune_params": {"block": [16, 32], "layout": ["row", "column"], "fixed": [1]},
        "cache": entries,
    }


def write(path: Path, content: object) -> Path:
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["toy.json", "toy.json.gz"])
def test_reader_keeps_everything_unrounded(tmp_path: Path, name: str) -> None:
    space = Space.read(write(tmp_path / name, cache()))

    assert space.name == "toy"
    assert (space.kernel, space.device) == ("toy", "Board")
    assert space.parameters == {"block": (16, 32), "layout": ("row", "column"), "fixed": (1,)}
    assert len(space) == 4
    assert space.time_ms((16, "row", 1)) == 3.0 + THIRD
    assert list(space.samples_ms[space.position((16, "row", 1))]) == [3.0 + THIRD, 3.5 + THIRD]
    assert space.time_ms([16, "column", 1]) is None
    assert space.failures == {space.position((16, "column", 1)): "RuntimeFailedConfig"}
    assert space.samples_ms[space.position((16, "column", 1))] == ()
    assert space.optimum_ms == 2.0


def test_what_is_not_in_the_file_does_not_exist(tmp_path: Path) -> None:
    space = Space.read(write(tmp_path / "toy.json", cache()))

    assert (32, "row", 1) in space
    assert (48, "row", 1) not in space
    with pytest.raises(KeyError):
        space.time_ms((48, "row", 1))


@pytest.mark.parametrize("recorded", [1e20, None, "InvalidConfig", float("nan"), float("inf"), 0.0, -1.0, True])
def test_numbers_that_stand_for_failures(tmp_path: Path, recorded: object) -> None:
    content = cache()
    content["cache"]["32,row,1"]["time"] = recorded
    space = Space.read(write(tmp_path / "toy.json", content))

    assert space.time_ms((32, "row", 1)) is None
    assert space.failures[space.position((32, "row", 1))] == str(recorded)
    assert space.optimum_ms == 3.0 + THIRD


def test_faults_are_one_line_and_name_the_file(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(cache()).encode())
    damaged = {
        "cut.json": json.dumps(cache()).encode()[:-3],
        "cut.json.gz": whole[: len(whole) // 2],
        "flipped.json.gz": whole[:40] + bytes([whole[40] ^ 0xFF]) + whole[41:],
        "text.json": b"hello",
        "binary.json": b"\xff\xfe\x00\x01",
        "list.json": b"[1, 2]",
        "other.json": b'{"a": 1}',
        "keyless.json": json.dumps({**cache(), "cache": {"16": {"time": 1.0}}}).encode(),
        "flat.json": json.dumps({**cache(), "cache": {"16": 1.0}}).encode(),
        "list_cache.json": json.dumps({**cache(), "cache": []}).encode(),
        "empty.json": b"",
    }
    for name, raw in damaged.items():
        (tmp_path / name).write_bytes(raw)
    for name in [*damaged, "missing.json", "."]:
        with pytest.raises(TaskError) as caught:
            Space.read(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("flaw", ["value", "twice", "none_valid", "unhashable", "samples"])
def test_contradictions_in_the_file_are_refused(tmp_path: Path, flaw: str) -> None:
    content = cache()
    entries = content["cache"]
    if flaw == "value":
        entries["32,row,1"]["block"] = 31
    elif flaw == "twice":
        entries["again"] = entries["32,row,1"]
    elif flaw == "unhashable":
        content["tune_params"]["layout"].append([1])
        entries["32,row,1"]["layout"] = [1]
    elif flaw == "samples":
        entries["32,row,1"]["times"] = [1.0, "x"]
    else:
        for entry in entries.values():
            entry["time"] = "CompilationFailedConfig"
    with pytest.raises(TaskError):
        Space.read(write(tmp_path / "toy.json", content))


def test_best_of_random_agrees_with_all_draws() -> None:
    times = np.array([5.0, np.nan, 1.5, 2.5, np.nan, 2.5])
    for n in range(1, 7):
        draws = [times[list(draw)] for draw in itertools.combinations(range(6), n)]
        best = [float(np.nanmin(draw)) if np.isfinite(draw).any() else None for draw in draws]
        valid, probability = best_of_random(times, n)

        assert list(valid) == [1.5, 2.5, 2.5, 5.0]
        assert 1.0 - probability.sum() == pytest.approx(best.count(None) / len(best), abs=1e-12)
        in_ms = [5.0 if time is None else time for time in best]
        assert random_search_ms(times, n)[-1] == pytest.approx(np.mean(in_ms))
        fractions = [0.0 if time is None else 1.5 / time for time in best]
        assert random_search_fraction(times, n)[-1] == pytest.approx(np.mean(fractions))


def test_best_of_random_refuses_impossible_draws() -> None:
    with pytest.raises(ValueError, match="between 1 and 2, not 3"):
        best_of_random([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="between 1 and 2, not 0"):
        best_of_random([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="no time is valid"):
        best_of_random([np.nan, np.nan], 1)


def test_cutoff_is_the_first_evaluation_at_the_level() -> None:
    times = np.random.default_rng(3).lognormal(size=400)
    times[::7] = np.nan
    evaluations = cutoff_evaluations(times, 0.9)
    level = np.nanmedian(times) - 0.9 * (np.nanmedian(times) - np.nanmin(times))
    curve = random_search_ms(times, 400)

    assert curve[evaluations - 1] <= level < curve[evaluations - 2]
    with pytest.raises(ValueError, match="cutoff"):
        cutoff_evaluations(times, 1.0)


def test_willemsen_score_has_its_fixed_points() -> None:
    times = np.array([4.0, 2.0, 8.0, np.nan, 3.0])
    baseline = random_search_ms(times, 3)

    assert willemsen_score(np.full(3, 2.0), times) == pytest.approx([1.0, 1.0, 1.0])
    assert willemsen_score(baseline, times) == pytest.approx([0.0, 0.0, 0.0])
    assert willemsen_score([[np.nan, 8.0, 4.0]], times).shape == (1, 3)
    assert willemsen_score([np.nan, np.inf], times) == pytest.approx(willemsen_score([8.0, 8.0], times))
    assert (willemsen_score([8.0, 8.0], times) < 0).all()


def test_willemsen_score_where_nothing_is_left_to_gain() -> None:
    assert list(willemsen_score([2.0, 1.0], [1.0, 2.0])) == [pytest.approx(-1.0), 1.0]
    assert willemsen_score([2.0, 2.0], [1.0, 2.0])[1] == -np.inf


def test_means_alone_are_the_same_space_without_its_samples(tmp_path: Path) -> None:
    whole = Space.read(write(tmp_path / "toy.json", cache()))
    (tmp_path / "means").mkdir()
    path = tmp_path / "means" / "toy.json"
    path.write_text(whole.means_text())
    means = Space.read(path)

    assert whole.failures == means.failures
    assert (whole.name, whole.kernel, whole.device, whole.parameters) == (
        means.name,
        means.kernel,
        means.device,
        means.parameters,
    )
    np.testing.assert_array_equal(whole.levels, means.levels)
    np.testing.assert_array_equal(whole.times_ms, means.times_ms)
    assert not any(len(samples) for samples in means.samples_ms)
