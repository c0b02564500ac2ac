from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evolve import Individual, Novelty
from evolve.novelty import normalised
from evolve.policies import MuPlusLambda, SteadyState
from fitness import Evaluation, Kernel, Status
from toy_search import BITS, Pooled, ToyEvaluator, ToyOperator, digest, kernel, run

CPP = """
// adds
extern "C" void kernel(const float* x, float* y, long M, long N) {
    float total = 0.0f;   /* running */
    for (long i = 0; i < M; ++i) { total += x[i] * 2.0f; y[i] = sinf(total); }
}
"""


def cpp(source: str) -> str:
    return normalised(Kernel(source, "cpp"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// adds", "// adds up"),
        ("/* running */", ""),
        ("total", "accumulator"),
        ("\n    for", "  for"),
        (" M", " rows"),
    ],
)
def test_names_comments_and_layout_make_no_difference(old: str, new: str) -> None:
    assert old in CPP
    assert cpp(CPP) == cpp(CPP.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sinf", "cosf"),
        ("2.0f", "3.0f"),
        ("total += x", "total -= x"),
        ("float total", "double total"),
        ("i < M", "i < N"),
        ("    for", "#pragma omp simd\n    for"),
        ("x[i]", "y[i]"),
    ],
)
def test_what_is_computed_makes_a_difference(old: str, new: str) -> None:
    assert cpp(CPP) != cpp(CPP.replace(old, new))


def test_names_of_the_platform_are_not_renamed() -> None:
    one = "__global__ void k(float* y) { int i = threadIdx.x; y[i] = 1.0f; }"

    assert cpp(one) != cpp(one.replace("threadIdx", "blockIdx"))
    assert cpp(one) == cpp(one.replace("int i", "int j").replace("[i]", "[j]"))


def test_members_keep_their_names() -> None:
    one = "void k(float4* y) { float x = 1; y[0].x = x; y[0].z = x; }"

    assert cpp(one) != cpp(one.replace("y[0].x", "y[0].w"))


def test_a_comment_sign_in_a_string_is_no_comment() -> None:
    assert cpp('void k() { puts("// a"); }') != cpp('void k() { puts("// b"); }')


PYTHON = """
def kernel_fn(x):
    # doubles
    total = x + x
    return total
"""


@pytest.mark.parametrize(("old", "new"), [("# doubles", "# adds"), ("total", "result"), ("x + x", "(x + x)")])
def test_python_is_compared_by_its_tree(old: str, new: str) -> None:
    assert normalised(Kernel(PYTHON, "triton")) == normalised(Kernel(PYTHON.replace(old, new), "triton"))


@pytest.mark.parametrize(("old", "new"), [("x + x", "x * x"), ("kernel_fn", "kernel")])
def test_python_that_computes_something_else_differs(old: str, new: str) -> None:
    assert normalised(Kernel(PYTHON, "triton")) != normalised(Kernel(PYTHON.replace(old, new), "triton"))


def test_language_and_entry_point_count() -> None:
    assert normalised(Kernel(CPP, "cpp")) != normalised(Kernel(CPP, "cuda"))
    assert normalised(Kernel(CPP, "cpp")) != normalised(Kernel(CPP, "cpp", "other"))


# In a run: an operator that adds spaces proposes what is new by layout only.

SPACES = {"space": ToyOperator(lambda parents, rng: parents[0] + " ", name="space")}


def slots(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "generations.jsonl").read_text().splitlines()
    return [slot for line in lines for slot in json.loads(line)["slots"]]


def test_a_twin_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    novelty = Novelty("source", "refuse")
    generations, _ = run(
        MuPlusLambda(mu=2, lambda_=2), tmp_path, 3, operators=SPACES, evaluator=evaluator, novelty=novelty
    )

    assert ["0" * BITS] == evaluator.asked
    assert 1 == generations[-1].evaluations
    assert {"refused"} == {slot["outcome"] for slot in slots(tmp_path)[1:]}


def test_a_twin_is_reported(tmp_path: Path) -> None:
    run(MuPlusLambda(mu=2, lambda_=1), tmp_path, 3, operators=SPACES, novelty=Novelty("source", "report"))

    assert {-1} == {slot["twin_of"] for slot in slots(tmp_path)[1:] if slot["duplicate_of"] is None}


def test_a_twin_by_behaviour_is_penalised(tmp_path: Path) -> None:
    novelty = Novelty("behaviour", "penalise", penalty=0.5)
    swap = {
        "swap": ToyOperator(
            lambda parents, rng: "1" + "0" * (BITS - 1) if rng.random() < 0.5 else "0" * (BITS - 1) + "1"
        )
    }
    generations, _ = run(MuPlusLambda(mu=9, lambda_=8), tmp_path, 1, operators=swap, novelty=novelty)
    twins = [each for each in generations[-1].survivors if each.twin_of is not None]

    assert 1 == len(twins)
    assert pytest.approx(1.5 * twins[0].evaluation.latency_us) == twins[0].cost


def test_what_is_refused_does_not_depend_on_workers(tmp_path: Path) -> None:
    def spaced(parents: list[str], rng: np.random.Generator) -> str:
        return f"{int(rng.integers(8)):012b}" + " " * int(rng.integers(2))

    for workers in (1, 2, 8):
        with Pooled(workers) as executor:
            run(
                SteadyState(mu=4, lambda_=5, in_flight=6),
                tmp_path / str(workers),
                12,
                operators={"spaced": ToyOperator(spaced)},
                evaluator=ToyEvaluator(jitter_s=0.004),
                executor=executor,
                proposers=workers,
                client=object(),
                novelty=Novelty("source", "refuse"),
            )

    assert 1 == len({digest(tmp_path / str(workers)) for workers in (1, 2, 8)})
    assert "refused" in {slot["outcome"] for slot in slots(tmp_path / "8")}


def test_only_what_was_committed_at_planning_counts() -> None:
    def committed(bits: str, slot: int) -> Individual:
        made = kernel(bits)
        return Individual(made, Evaluation(made.digest, Status.WRONG_VALUE), 1, slot)

    novelty = Novelty("source", "refuse")
    novelty.judge(committed("01", 2))
    before = novelty.refuses(kernel("01 "), committed=4)
    novelty.judge(committed("01 ", 5))

    assert "slot 2" in before
    assert before == novelty.refuses(kernel("01 "), committed=4)
    assert not novelty.refuses(kernel("01 "), committed=6)
    assert not novelty.refuses(kernel("01"), committed=2)


def test_behaviour_is_known_too_late_to_refuse() -> None:
    with pytest.raises(ValueError, match="use penalise or report"):
        Novelty("behaviour", "refuse")


@pytest.mark.parametrize("numbers", [{"penalty": -0.1}, {"penalty": float("nan")}, {"resolution": 0.0}])
def test_numbers_out_of_range_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="penalty of at least 0 and a resolution above 0"):
        Novelty("behaviour", "report", **numbers)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown novelty"):
        Novelty("taste")  # type: ignore[arg-type] # that is the fault


def test_kernels_of_the_toy_differ() -> None:
    assert normalised(kernel("01")) != normalised(kernel("10"))
