from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evolve import Individual, Journal, Novelty, RecordedEmbedder
from evolve.individual import Fitness
from evolve.nearest import Nearest
from evolve.novelty import normalised
from evolve.policies import MuPlusLambda, SteadyState
from fitness import Evaluation, Kernel, Status
from llm import RequestError, RequestRejected, ScriptedEmbedder, ServerMismatch, ServerUnreachable
from toy_search import BITS, Pooled, ToyEvaluator, ToyOperator, digest, engine, kernel, run

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


# What is known of the built code.


def built(slot: int, artifact: str, latency_us: float | None = None) -> Individual:
    made = kernel(f"{slot:0{BITS}b}")
    timing = {"latency_us": latency_us, "reference_latency_us": 9.0, "speedup": 1.0, "interval": (1.0, 1.0)}
    evaluation = Evaluation(
        made.digest,
        Status.OK if latency_us else Status.WRONG_VALUE,
        artifact=artifact,
        **(timing if latency_us else {}),
    )
    return Individual(made, evaluation, 1, slot, fitness=Fitness((latency_us,)) if latency_us else Fitness())


def test_equal_code_is_penalised_even_if_the_older_kernel_failed() -> None:
    novelty = Novelty("artifact", "penalise", penalty=0.5)
    older, twin, other = built(1, "aa"), built(2, "aa", 8.0), built(3, "bb", 8.0)
    for each in (older, twin, other):
        novelty.judge(each)

    assert [None, 1, None] == [each.twin_of for each in (older, twin, other)]
    assert [12.0, 8.0] == [twin.cost, other.cost]


def test_what_was_not_built_is_no_twin() -> None:
    novelty = Novelty("artifact", "report")
    made = [built(1, ""), built(2, "")]
    for each in made:
        novelty.judge(each)

    assert [None, None] == [each.twin_of for each in made]


# What an embedding model says of sources.


def direction(text: str) -> tuple[float, ...]:
    """Equal bits, equal directions; every bit that differs turns the vector."""
    return (1.0, *(4.0 * (bit == "1") for bit in text.strip()))


def embedding(action: str = "refuse", threshold: float = 0.95, vector: object = direction) -> Novelty:
    return Novelty("embedding", action, threshold=threshold, embedder=ScriptedEmbedder(vector))  # type: ignore[arg-type]


def test_what_the_model_finds_alike_is_refused_before_the_evaluation(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    run(MuPlusLambda(mu=2, lambda_=2), tmp_path, 3, operators=SPACES, evaluator=evaluator, novelty=embedding())

    assert ["0" * BITS] == evaluator.asked
    assert {"has an embedding like slot -1's: cosine 1.0000"} == {slot["note"] for slot in slots(tmp_path)[1:]}


@pytest.mark.parametrize(("threshold", "refused"), [(0.6, True), (0.8, False)])
def test_the_threshold_decides(threshold: float, refused: bool) -> None:
    novelty = embedding(threshold=threshold, vector=lambda text: (1.0, float(len(text.strip("0 "))), 0.0))
    novelty.judge(built(0, ""))

    assert refused == bool(novelty.refuses(kernel("1"), committed=3))  # 45 degrees: a cosine of 0.7071


def test_all_earlier_kernels_count_and_none_that_was_committed_later() -> None:
    novelty = embedding()
    for slot in range(40):
        novelty.judge(built(slot, ""))

    asked = kernel(f"{33:0{BITS}b} ")
    assert "slot 33" in novelty.refuses(asked, committed=40)
    assert "slot 33" not in novelty.refuses(asked, committed=33)


def test_an_embedding_twin_is_reported(tmp_path: Path) -> None:
    run(MuPlusLambda(mu=2, lambda_=1), tmp_path, 3, operators=SPACES, novelty=embedding("report"))

    assert {-1} == {slot["twin_of"] for slot in slots(tmp_path)[1:] if slot["duplicate_of"] is None}


def test_a_text_that_the_model_refuses_is_let_through() -> None:
    def refuse(text: str) -> tuple[float, ...]:
        raise RequestRejected("too long")

    assert "" == embedding(vector=refuse).refuses(kernel("1"), committed=1)


def test_a_replay_asks_no_model_and_gives_the_same_record(tmp_path: Path) -> None:
    def silent(text: str) -> tuple[float, ...]:
        raise AssertionError("a replay asks no model")

    def turn(folder: Path, vector: object, strict: bool) -> str:
        with Journal(tmp_path / "journal.jsonl", strict=strict) as journal:
            embedder = RecordedEmbedder(ScriptedEmbedder(vector), journal)  # type: ignore[arg-type]
            novelty = Novelty("embedding", "refuse", threshold=0.8, embedder=embedder)
            list(engine(SteadyState(mu=3, lambda_=5), folder, journal, novelty=novelty).run(6))
        return digest(folder)

    first = turn(tmp_path / "first", direction, strict=False)

    assert first == turn(tmp_path / "again", silent, strict=True)
    assert "refused" in {slot["outcome"] for slot in slots(tmp_path / "first")}


def test_a_refused_text_is_recorded_and_asked_once(tmp_path: Path) -> None:
    def refuse(text: str) -> tuple[float, ...]:
        raise RequestRejected("too long")

    double = ScriptedEmbedder(refuse)
    with Journal(tmp_path / "journal.jsonl") as journal:
        embedder = RecordedEmbedder(double, journal)
        for _ in range(2):
            with pytest.raises(RequestError, match="too long"):
                embedder.embed("a\ud800")

    assert 1 == len(double.texts)


def test_a_server_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    def gone(text: str) -> tuple[float, ...]:
        if text.endswith(" "):
            raise ServerUnreachable("nobody there")
        return direction(text)

    with pytest.raises(ServerUnreachable, match="nobody there"):
        run(MuPlusLambda(mu=2, lambda_=1), tmp_path, 3, operators=SPACES, novelty=embedding(vector=gone))


def test_vectors_of_another_length_are_of_another_model() -> None:
    novelty = embedding(vector=lambda text: (1.0,) * (2 + text.count(" ")))
    novelty.judge(built(0, ""))

    with pytest.raises(ServerMismatch, match="one model all along"):
        novelty.refuses(kernel("1 "), committed=1)


def test_cosines_are_right_to_a_thousandth_and_exact_in_any_order() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((50, 1024)) + 2 * rng.standard_normal(1024)
    nearest, permuted, order = Nearest(), Nearest(), rng.permutation(1024)
    for slot, vector in enumerate(vectors[:-1]):
        nearest.add(slot, vector.tolist())
        permuted.add(slot, vector[order].tolist())
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = nearest.find(vectors[-1].tolist(), 49)

    assert found is not None
    assert pytest.approx(float((unit[:-1] @ unit[-1]).max()), abs=1e-3) == found[0]
    assert found == permuted.find(vectors[-1][order].tolist(), 49)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_length_of_a_vector_does_not_matter(scale: float) -> None:
    nearest = Nearest()
    nearest.add(0, (3.0 * scale, 4.0 * scale))

    assert (1.0, 0) == nearest.find((3.0, 4.0), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": "artifact"}, "use penalise or report"),
        ({"level": "embedding"}, "set embedder"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Novelty(**settings)  # type: ignore[arg-type] # that is the fault
