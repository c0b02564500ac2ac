from pathlib import Path

import numpy as np
import pytest

from experiments.analysis.skeletons import skeleton, unique_skeletons
from experiments.analysis.tables import load_sweep
from experiments.benchmarks.synthetic import Invented, write_run
from stored_run import make_run

LOOP = "for (long i = 0; i < n; ++i) y[i] = 2.0f * x[i];"


@pytest.mark.parametrize(
    "other",
    [
        LOOP.replace("i", "k"),
        LOOP.replace("2.0f", "4.5f"),
        LOOP.replace(" ", "  "),
        LOOP + " // faster",
    ],
)
def test_names_numbers_spaces_and_comments_do_not_matter(other: str) -> None:
    assert skeleton(LOOP, "cpp") == skeleton(other, "cpp")


@pytest.mark.parametrize("other", [LOOP.replace("++i", "i += 2"), LOOP.replace("*", "+"), "#pragma omp simd\n" + LOOP])
def test_operators_structure_and_pragmas_matter(other: str) -> None:
    assert skeleton(LOOP, "cpp") != skeleton(other, "cpp")


def test_pragmas_are_told_apart() -> None:
    assert skeleton("#pragma omp simd\n" + LOOP, "cpp") != skeleton("#pragma unroll\n" + LOOP, "cpp")


def test_numbers_in_directives_do_not_matter() -> None:
    assert skeleton("#define TILE 8\n" + LOOP, "cpp") == skeleton("#define TILE 16\n" + LOOP, "cpp")
    assert skeleton("#pragma unroll 4\n" + LOOP, "cpp") == skeleton("#pragma unroll 2\n" + LOOP, "cpp")


def test_python_is_read_as_python() -> None:
    assert skeleton("def f(x):\n    return x  # one", "triton") == skeleton("def g(y):\n    return y", "triton")


def test_kernels_of_a_run_that_differ_in_numbers_alone_are_one_skeleton(tmp_path: Path) -> None:
    make_run(tmp_path / "0")

    assert [1.0] == unique_skeletons(load_sweep(tmp_path)).tolist()


def test_runs_without_sources_have_no_count(tmp_path: Path) -> None:
    write_run(tmp_path / "0", Invented(evaluations=3), 0, {})

    assert np.isnan(unique_skeletons(load_sweep(tmp_path))).all()
