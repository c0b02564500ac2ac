"""What single kinds of edits make of small pieces of C++."""

import textwrap

import numpy as np
import pytest

from operators.syntax import applied, parse
from operators.syntax.edits import KINDS

HEAD = 'extern "C" void kernel(const float* x, const float* w, float* y, long M, long N) {\n'


def kernel(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body).strip(), "  ") + "\n}\n"


def edited(kind: str, body: str, seed: int = 0) -> str | None:
    """The body after one edit, without white space at the ends of lines; None where there is none."""
    tree = parse(kernel(body), "cpp")
    edit = KINDS["cpp"][kind](tree, np.random.default_rng(seed))
    source = applied(edit, tree, "kernel") if edit is not None else None
    if source is None:
        return None
    return textwrap.dedent(source.removeprefix(HEAD).rstrip().removesuffix("}")).strip()


def expected(text: str) -> str:
    return textwrap.dedent(text).strip()


def outcomes(kind: str, body: str, draws: int = 20) -> set[str | None]:
    return {edited(kind, body, seed) for seed in range(draws)}


PERFECT = """
    for (long i = 0; i < M; ++i) {
      for (long j = 0; j < N; ++j) {
        y[i * N + j] = x[j * M + i];
      }
    }
"""


def test_interchange_swaps_only_the_heads():
    assert (
        PERFECT.replace("long i = 0; i < M; ++i", "#")
        .replace("long j = 0; j < N; ++j", "long i = 0; i < M; ++i")
        .replace("#", "long j = 0; j < N; ++j")
        .strip()
        == textwrap.indent(edited("interchange", PERFECT), "    ").strip()
    )


def test_interchange_gives_a_first_value_a_loop_of_its_own():
    body = """
        for (long i = 0; i < M; ++i) {
          float sum = 0.0f;
          for (long j = 0; j < N; ++j) sum += x[i * N + j];
          y[i] = sum * 2.0f;
        }
    """

    assert expected("""
        for (long i = 0; i < M; ++i) {
          y[i] = 0.0f;
        }
        for (long j = 0; j < N; ++j) {
          for (long i = 0; i < M; ++i) {
            y[i] += x[i * N + j];
          }
        }
        for (long i = 0; i < M; ++i) {
          y[i] = y[i] * 2.0f;
        }
    """) == edited("interchange", body)


@pytest.mark.parametrize(
    "body",
    [
        "for (long i = 0; i < M; ++i) for (long j = 0; j < i; ++j) y[i * N + j] = x[j];",  # a triangle
        "for (long i = 1; i < M; ++i) for (long j = 1; j < N; ++j) y[i * N + j] = y[(i - 1) * N + j + 1];",
        "for (long i = 0; i < M; ++i) for (long j = 0; j < N; ++j) y[i + j] = x[i];",
        "for (long i = 0; i < M; ++i) for (long j = 0; j < N; ++j) { if (x[j] > 0) break; y[i * N + j] = x[i]; }",
        "for (long i = 0; i < M; ++i) for (long j = 0; j < N; ++j) y[i * N + j] = f(x);",
        "float s = 0; for (long i = 0; i < M; ++i) for (long j = 0; j < N; ++j) { s = s * 2 + x[j]; }",
    ],
)
def test_interchange_leaves_alone_what_it_could_change(body):
    assert {None} == outcomes("interchange", body, 4)


def test_a_recurrence_along_one_loop_may_be_interchanged():
    body = "for (long j = 1; j < N; ++j) for (long i = 0; i < M; ++i) y[i * N + j] = y[i * N + j - 1] + x[i];"

    assert edited("interchange", body).startswith("for (long i = 0; i < M; ++i) for (long j = 1;")


def test_tiling_bounds_its_blocks():
    found = outcomes("tile", PERFECT)

    assert any("i_block + 32 < M ? i_block + 32 : M" in each for each in found)


def test_tiles_are_not_tiled_again():
    tiled = {each for each in outcomes("tile", PERFECT) if each.count("_block =") == 2}

    assert tiled
    assert {None} == {result for each in tiled for result in outcomes("tile", each, 3)}


def test_a_first_value_before_the_loop_goes_into_the_scalar():
    body = "y[0] = 1.0f;\nfor (long j = 0; j < N; ++j) {\n  y[0] += x[j];\n}"

    assert expected("""
        float y_held = 1.0f;
        for (long j = 0; j < N; ++j) {
          y_held += x[j];
        }
        y[0] = y_held;
    """) == edited("hold_in_scalar", body)


def test_partial_results_have_a_rest():
    body = "float s = 0;\nfor (long j = 0; j < N; ++j) s += x[j];\ny[0] = s;"
    found = outcomes("partial_results", body)

    assert (
        expected("""
        float s = 0;
        float part[4];
        for (int lane = 0; lane < 4; ++lane) {
          part[lane] = 0;
        }
        const long j_main = (N) / 4 * 4;
        for (long j = 0; j < j_main; j += 4) {
          for (int lane = 0; lane < 4; ++lane) {
            part[lane] += x[(j + lane)];
          }
        }
        for (long j = j_main; j < N; ++j) {
          s += x[j];
        }
        for (int lane = 0; lane < 4; ++lane) {
          s += part[lane];
        }
        y[0] = s;
    """)
        in found
    )


@pytest.mark.parametrize("kind", ["partial_results", "accumulator_block", "jam", "unroll"])
def test_unsigned_loops_that_begin_elsewhere_are_not_stepped(kind):
    inner = "float s = 0; for (long k = 0; k < M; ++k) s += x[j * M + k]; y[j] = s;"
    body = f"for (unsigned long j = 1; j < N; ++j) {{ {inner} }}"

    assert all(each is None or "j_main" not in each for each in outcomes(kind, body, 6))


@pytest.mark.parametrize(
    ("update", "clause"),
    [
        ("s += x[j];", " reduction(+:s)"),
        ("s = s + x[j];", " reduction(+:s)"),
        ("if (x[j] > s) s = x[j];", " reduction(max:s)"),
        ("if (s > x[j]) { s = x[j]; }", " reduction(min:s)"),
        ("s = std::max(s, x[j]);", " reduction(max:s)"),
        ("s = fminf(x[j], s);", " reduction(min:s)"),
        ("y[j] = x[j] + s;", ""),
    ],
)
def test_the_simd_pragma_names_the_reduction(update, clause):
    assert f"#pragma omp simd{clause}\n" in edited("simd", f"float s = 0;\nfor (long j = 0; j < N; ++j) {update}")


@pytest.mark.parametrize("update", ["s = s * 2 + x[j];", "y[0] += x[j];", "y[j] = y[j - 1];", "if (x[j] > 1) return;"])
def test_no_simd_pragma_where_iterations_depend_on_each_other(update):
    assert {None} == outcomes("simd", f"float s = 0;\nfor (long j = 1; j < N; ++j) {update}", 3)


def test_a_pragma_before_a_body_without_braces_gets_braces():
    found = edited("simd", "for (long i = 0; i < M; ++i)\n  for (long j = 0; j < N; ++j) y[i * N + j] = x[j];")

    assert "{\n" in found


def test_a_divisor_that_stays_is_inverted_once():
    body = "const float s = w[0];\nfor (long j = 0; j < N; ++j) {\n  y[j] = x[j] / s;\n}"

    assert expected("""
        const float s = w[0];
        const auto inverse = 1 / (s);
        for (long j = 0; j < N; ++j) {
          y[j] = x[j] * inverse;
        }
    """) == edited("reciprocal", body)


def test_an_integer_divisor_is_left_alone():
    assert {None} == outcomes("reciprocal", "for (long j = 0; j < N; ++j) y[j / M] = x[j];", 3)


def test_fixed_expressions_are_computed_once_wherever_they_stand():
    body = "for (long j = 0; j < N; ++j) {\n  y[M * N + j] = x[M * N + j];\n}"

    assert edited("hoist", body).count("fixed + j") == 2


def test_a_guard_becomes_a_bound():
    body = "for (long j = 0; j < N; ++j) {\n  if (j - 3 >= 0 && M > 2) {\n    y[j] = x[j - 3];\n  }\n}"
    found = edited("guard_to_bounds", body)

    assert "if (first < 3) first = 3;" in found
    assert "if (M > 2)" in found


def test_precision_is_lowered_everywhere_or_at_one_place():
    found = outcomes("single_precision", "double s = 1.0;\ny[0] = exp(s);")

    assert {
        "float s = 1.0f;\ny[0] = expf(s);",
        "float s = 1.0;\ny[0] = exp(s);",
        "double s = 1.0f;\ny[0] = exp(s);",
    } <= found


def test_a_search_is_done_by_counting_or_bisection():
    found = outcomes("search", "long b = 0;\nwhile (b < N && w[b] < x[0]) b++;\ny[0] = b;")

    assert {True, False} == {"middle" in each for each in found}


def test_restrict_is_set_and_dropped():
    heads = {
        applied(KINDS["cpp"]["restrict"](tree, np.random.default_rng(seed)), tree, "kernel").splitlines()[0]
        for tree in [parse(kernel("y[0] = 1;"), "cpp")]
        for seed in range(20)
    }

    assert any(head.count("__restrict__") == 3 for head in heads)


def test_fission_is_undone_by_fusion():
    body = "for (long j = 0; j < N; ++j) {\n  y[j] = x[j];\n  y[j] += w[j];\n}"
    apart = edited("fission", body)

    assert 2 == apart.count("for (")
    assert body == edited("fusion", apart)


@pytest.mark.parametrize("kind", ["fission", "fusion"])
def test_loops_that_need_each_other_stay_as_they_are(kind):
    head = "for (long j = 0; j < N; ++j)"
    body = f"float s = 0;\n{head} {{ s += x[j]; y[j] = s; }}\n{head} {{ y[j] /= s; }}"

    assert {None} == outcomes(kind, body, 4)


def test_jamming_gives_every_copy_its_own_variables():
    body = """
        for (long i = 0; i < M; ++i) {
          float s = 0;
          for (long j = 0; j < N; ++j) {
            s += x[i * N + j];
          }
          y[i] = s;
        }
    """
    found = outcomes("jam", body)

    assert any("s_1 += x[(i + 1) * N + j];" in each and "s_3" not in each for each in found)


def test_attributes_go_before_the_type():
    tree = parse(kernel("y[0] = 1;"), "cpp")
    source = applied(KINDS["cpp"]["attribute"](tree, np.random.default_rng(0)), tree, "kernel")

    assert source.startswith('extern "C" __attribute__((optimize(')


def test_vector_functions_are_declared_once():
    body = "for (long j = 0; j < N; ++j) y[j] = std::exp(x[j]);"
    tree = parse("#include <cmath>\n" + kernel(body), "cpp")
    source = applied(KINDS["cpp"]["vector_functions"](tree, np.random.default_rng(0)), tree, "kernel")

    assert (1, 1) == (source.count("float expf(float) noexcept;"), source.count("#pragma omp simd"))
    assert KINDS["cpp"]["vector_functions"](parse(source, "cpp"), np.random.default_rng(0)) is None


@pytest.mark.parametrize(
    "body",
    [
        "for (long i = 0; i < M; ++i) { for (long j = 0; j < N; ++j) { y[j] = x[j]; y += 1; } }",
        "float* p = y; p = p + 1; for (long i = 0; i < M; ++i) for (long j = 0; j < N; ++j) p[i * N + j] = x[j];",
        "long n = N; const long k = n; n = 0; for (long i = 0; i < M; ++i) for (long j = 0; j < 4; ++j) y[k] = x[j];",
    ],
)
def test_pointers_and_constants_that_moved_are_not_reasoned_about(body):
    assert {None} == outcomes("interchange", body, 3)


def test_a_local_pointer_is_followed_to_its_array():
    body = "for (long i = 0; i < M; ++i) {\n  float* row = y + i * N;\n  for (long j = 0; j < N; ++j) row[j] = x[j];\n}"

    assert all("row_1[j] = x[j];" in each for each in outcomes("jam", body, 3))


def test_a_loop_has_one_pragma_at_most():
    body = "#pragma GCC ivdep\nfor (long j = 0; j < N; ++j) y[j] = x[j];"

    assert "#pragma omp simd\nfor (long j = 0; j < N; ++j) y[j] = x[j];" == edited("simd", body)
    assert {0, 1} == {each.count("#pragma") for each in outcomes("pragma", body) if each is not None}


@pytest.mark.parametrize(
    "body",
    [
        "for (long j = 0; j < N; ++j) y[j] = x[j];",
        "float s = x[0];\nfor (long j = 0; j < N; ++j) { float t = s; y[j] = t; }",
    ],
)
@pytest.mark.parametrize("kind", ["delete", "duplicate", "swap", "move", "overwrite"])
def test_statements_only_go_where_their_variables_are(kind, body):
    for source in outcomes(kind, body) - {None}:
        lines = source.splitlines()
        known = {"x", "y", "N"}
        for line in lines:
            known |= {name for name in "jst" if f"long {name} " in line or f"float {name} " in line}
            used = {name for name in "jst" if f"[{name}]" in line or f"= {name};" in line}

            assert set() == used - known
