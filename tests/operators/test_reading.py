from __future__ import annotations

import pytest

from fitness.tasks import Matmul, Softmax
from operators.contract import contract
from operators.reading import Outcome, read_answer

CPP = contract(Softmax(), "cpp", "cpp")
TRITON = contract(Softmax(), "triton", "python")
CUDA = contract(Softmax(), "cuda", "cpp")

GOOD = """#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += std::exp(x[i * N + j]);
        }
        for (long j = 0; j < N; j++) {
            y[i * N + j] = std::exp(x[i * N + j]) / total;
        }
    }
}
"""
BETTER = GOOD.replace("/ total", "* (1.0f / total)")
PYTHON = """import torch
import triton


def kernel_fn(x):
    return torch.softmax(x, dim=-1)
"""


def fence(code: str, label: str = "cpp", mark: str = "```") -> str:
    return f"{mark}{label}\n{code}{mark}\n"


def outcome(text: str, **more) -> Outcome:
    return read_answer(text, more.pop("wanted", CPP), **more).outcome


def source(text: str, **more) -> str | None:
    return read_answer(text, more.pop("wanted", CPP), **more).source


@pytest.mark.parametrize(
    "text",
    [
        fence(GOOD),
        "Sure! Here it is:\n\n" + fence(GOOD) + "\nThis is faster because of vectorisation.",
        fence(GOOD, "c++"),
        fence(GOOD, ""),
        fence(GOOD, "C++ title=kernel.cpp"),
        fence(GOOD, "cpp", "~~~"),
        fence(GOOD, "cpp", "````"),
        GOOD,
        "Here is the kernel:\n" + GOOD + "\nIt uses two passes over the row.",
        GOOD + "```\n",
        "The task is this:\n\n" + GOOD + "```\n\nThe time is 100 µs.\n\n# What to do\n\nMake it",
        GOOD + "```\nThis version is much faster than the first one.",
        "```cpp\n" + GOOD,
        fence(GOOD).replace("\n", "\r\n"),
        fence("int main() { return 0; }\n") + fence(GOOD),
        fence(GOOD) + "Compile it with\n" + fence("g++ -O3 kernel.cpp\n", "bash"),
        "- the kernel:\n  " + fence(GOOD).replace("\n", "\n  "),
        fence(fence(GOOD), "markdown", "````"),
        "<think>first a wrong one\n" + fence(BETTER) + "</think>\n" + fence(GOOD),
        "a wrong one\n" + fence(BETTER) + "</think>\n" + fence(GOOD),
        "<think>no code</think>" + GOOD,
        "<Thinking>\n<think>nested</think> void kernel() {}\n</Thinking>\n" + fence(GOOD),
        fence(BETTER.replace("exp", "exp2")) + "Better still:\n" + fence(GOOD),
        "```cpp\n" + BETTER.split("float total")[0] + "```cpp\n" + GOOD + "```",
        fence(GOOD) + "```cpp\n" + BETTER.split("float total")[0],
        fence(GOOD, "c"),
        "Here it is: " + fence(GOOD),
        fence(GOOD).replace("}\n```", "}```"),
        "```cpp\n" + GOOD + "This kernel makes two passes over each row.\n",
        fence(GOOD, "python"),
    ],
)
def test_the_whole_kernel_is_read(text: str) -> None:
    assert GOOD.split() == (source(text) or "").split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Outcome.EMPTY),
        ("  \n\n", Outcome.EMPTY),
        ("<think>hm</think>\n", Outcome.EMPTY),
        ("I cannot help with that request, sorry.", Outcome.NO_CODE),
        ("<think>\n" + fence(GOOD), Outcome.UNFINISHED_THINKING),
        (fence(PYTHON, "python"), Outcome.WRONG_LANGUAGE),
        ("import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum()\n", Outcome.WRONG_LANGUAGE),
        (fence("fn kernel(x: &[f32]) -> Vec<f32> { x.to_vec() }\n", "rust"), Outcome.WRONG_LANGUAGE),
        (
            fence("__global__ void k(float* y) {}\n" + GOOD.replace("for (long i", "k<<<1, 1>>>(y);\n    for (long i")),
            Outcome.WRONG_LANGUAGE,
        ),
        (fence(GOOD[: GOOD.index("for (long j")]), Outcome.TRUNCATED),
        ("```cpp\n" + GOOD[:-30], Outcome.TRUNCATED),
        (fence("#include <cmath>\nstatic float f(float x) { return x; }\n"), Outcome.NO_ENTRY_POINT),
        (fence(GOOD.replace("kernel", "softmax")), Outcome.NO_ENTRY_POINT),
        (fence(GOOD.replace('extern "C" void', "static void")), Outcome.NO_ENTRY_POINT),
        (fence(GOOD.replace("long M, long N", "long N")), Outcome.SIGNATURE_CHANGED),
        (fence(GOOD.replace("long M, long N", "int M, int N")), Outcome.SIGNATURE_CHANGED),
        (fence(GOOD.replace("const float* x, float* y", "const double* x, double* y")), Outcome.SIGNATURE_CHANGED),
        (fence(GOOD.replace("const float* x, float* y", "float* y, const float* x")), Outcome.SIGNATURE_CHANGED),
        (fence(GOOD.replace("void kernel", "int kernel")), Outcome.SIGNATURE_CHANGED),
        (fence(GOOD.replace("total += std", "// ... rest of the code unchanged\n total += std")), Outcome.ELIDED),
        (
            fence("""extern "C" void kernel(const float* x, float* y, long M, long N) {
    // ... rest remains the same
}
"""),
            Outcome.ELIDED,
        ),
        (fence(GOOD.replace("float total = 0.0f;", "...")), Outcome.ELIDED),
        (fence(GOOD.replace("float total = 0.0f;", "/* existing code here */")), Outcome.ELIDED),
        (fence(GOOD.replace("float total = 0.0f;", "// your implementation goes here")), Outcome.ELIDED),
        (fence(GOOD.replace("i < M", "i ≤ M")), Outcome.ODD_CHARACTERS),
        (
            fence(GOOD.replace("float total", "float pad[] = {" + "0.0f, " * 20000 + "0.0f}; float total")),
            Outcome.TOO_LONG,
        ),
    ],
)
def test_each_failure_has_its_name(text: str, expected: Outcome) -> None:
    assert expected == outcome(text)


@pytest.mark.parametrize(
    "comment",
    [
        "// handle the remaining elements of the row",
        "// the rest of the row is done by a scalar loop",
        "// same layout as x",
        "// code for the tail: at most 7 elements",
        "/* Two passes: maximum, then sum. The remainder is at most N % 8. */",
        "// unroll by 4, 8, ..., 32",
        "// the original kernel reads x twice",
    ],
)
def test_honest_comments_are_no_elisions(comment: str) -> None:
    assert Outcome.PARSED == outcome(fence(GOOD.replace("float total", f"{comment}\n        float total")))


@pytest.mark.parametrize(
    "parameters",
    [
        "const float *__restrict__ x, float *__restrict__ y, long M, long N",
        "float const* x, float* y, const long M, const long N",
        "const float* input, float* output, long rows, long cols",
        "const float* x,\n    float* y,  // the output\n    long M, long N",
        "const float x[], float y[], int64_t M, int64_t N",
        "const float* x, float* y, size_t M, size_t N",
        "const float*, float*, long, long",
    ],
)
def test_spellings_of_the_same_signature(parameters: str) -> None:
    assert Outcome.PARSED == outcome(fence(GOOD.replace("const float* x, float* y, long M, long N", parameters)))


@pytest.mark.parametrize(
    ("code", "note"),
    [
        (GOOD.replace('extern "C" ', ""), 'added extern "C"'),
        (GOOD.replace('extern "C" ', "extern "), 'added extern "C"'),
        (GOOD.replace('"C"', "“C”"), "replaced typographic characters"),
        (GOOD.replace("    ", "\u00a0\u00a0\u00a0\u00a0"), "replaced typographic characters"),
        (GOOD.replace("<", "&lt;").replace('"', "&quot;"), "unescaped HTML"),
        ('#include "kernel.h"\n' + GOOD, 'dropped #include "kernel.h"'),
        ('#include "stdafx"\n' + GOOD, 'dropped #include "stdafx"'),
    ],
)
def test_what_has_one_meaning_is_mended_and_noted(code: str, note: str) -> None:
    reading = read_answer(fence(code), CPP)
    assert (GOOD, note) == (reading.source, reading.note)


@pytest.mark.parametrize(
    "wrapped",
    [
        GOOD.replace('extern "C" void', 'extern "C" {\nvoid') + "}\n",
        'extern "C" void kernel(const float*, float*, long, long);\n' + GOOD.replace('extern "C" ', ""),
    ],
)
def test_c_linkage_in_other_forms_is_left_alone(wrapped: str) -> None:
    assert wrapped == source(fence(wrapped))


def test_headings_become_comments_and_directives_stay() -> None:
    directives = "#pragma GCC unroll 4\n# define A 1\n#ifdef A\n#endif\n"
    reading = read_answer(fence("# Task: softmax\n" + directives + GOOD), CPP)
    assert ("// Task: softmax\n" + directives + GOOD, "made headings comments") == (reading.source, reading.note)


def test_a_later_version_without_headers_takes_those_of_the_earlier_one() -> None:
    reading = read_answer(fence(BETTER) + "\nOr shorter:\n" + fence(GOOD.replace("#include <cmath>\n\n", "")), CPP)
    assert (GOOD, "took over the headers of an earlier version") == (reading.source, reading.note)


def test_headers_of_the_system_may_stand_in_quotes() -> None:
    code = GOOD.replace("<cmath>", '"math.h"')
    assert code == source(fence(code))


def test_typographic_signs_in_comments_stay() -> None:
    code = GOOD.replace("float total", "// “exp” – twice…\n        float total")
    assert code == source(fence(code))


def test_the_last_of_several_versions_counts() -> None:
    assert BETTER == source(fence(GOOD) + "\nEven better:\n" + fence(BETTER))


def test_the_parent_quoted_at_the_end_does_not_count() -> None:
    assert BETTER == source(fence(BETTER) + "\nIt replaces:\n" + fence(GOOD), parent=GOOD)


def test_the_parent_given_back_is_unchanged() -> None:
    assert Outcome.UNCHANGED == outcome(fence(GOOD), parent=GOOD)


@pytest.mark.parametrize("finish_reason", ["length", "stop"])
def test_a_cut_off_kernel_is_truncated(finish_reason) -> None:
    for end in range(GOOD.index("{") + 1, len(GOOD) - 2, 7):
        assert Outcome.TRUNCATED == outcome("```cpp\n" + GOOD[:end], finish_reason=finish_reason)


TEST = "\nint main() {\n    float x[4], y[4];\n    kernel(x, y, 2, 2);\n    for (int i = 0; i <"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (GOOD + TEST, "dropped an unfinished end"),
        (BETTER + "\n" + GOOD.replace("#include <cmath>\n", ""), "kept the last of 2 definitions"),
        (BETTER[: BETTER.index("for (long j")] + "\n" + GOOD, "kept the one whole definition"),
    ],
)
def test_a_whole_kernel_is_saved_from_what_is_wrong_around_it(text, note) -> None:
    reading = read_answer("```cpp\n" + text, CPP, finish_reason="length")
    assert (GOOD.split(), note) == ((reading.source or "").split(), reading.note)


def test_versions_behind_conditions_are_left_alone() -> None:
    code = "#ifdef __AVX2__\n" + BETTER + "#else\n" + GOOD + "#endif\n"
    assert code == source(fence(code))


def test_python_without_its_last_lines_is_not_trusted() -> None:
    cut = "```python\n" + PYTHON.replace("return torch", "y = torch")
    assert Outcome.TRUNCATED == outcome(cut, wanted=TRITON, finish_reason="length")


def test_python_that_was_cut_off_behind_the_kernel_is_read() -> None:
    cut = "```python\n" + PYTHON + "\n\ndef test():\n    x = torch.ones((4,\n"
    reading = read_answer(cut, TRITON, finish_reason="length")
    assert (PYTHON.split(), "dropped an unfinished end") == ((reading.source or "").split(), reading.note)


def test_a_cut_off_answer_with_a_whole_kernel_is_read() -> None:
    assert GOOD == source(fence(GOOD) + "This kernel is fast bec", finish_reason="length")


def test_a_cut_off_answer_without_fences_is_read_when_words_follow_the_code() -> None:
    assert GOOD == source(GOOD + "This kernel is so fast bec", finish_reason="length")


def test_thoughts_that_used_all_tokens() -> None:
    assert Outcome.UNFINISHED_THINKING == outcome("<think>let me see", finish_reason="length")


def test_cuda_takes_its_stream() -> None:
    code = GOOD.replace("long N)", "long N, cudaStream_t stream)")
    assert (Outcome.PARSED, Outcome.SIGNATURE_CHANGED) == (
        outcome(fence(code), wanted=CUDA),
        outcome(fence(GOOD), wanted=CUDA),
    )


def test_other_tasks_have_other_signatures() -> None:
    wanted = contract(Matmul(), "cpp", "cpp")
    assert (
        'extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K)' == wanted.signature
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (fence(PYTHON, "python"), Outcome.PARSED),
        (fence(PYTHON, "triton"), Outcome.PARSED),
        (PYTHON, Outcome.PARSED),
        ("The kernel:\n" + PYTHON + "\nIt is a softmax over the last axis.", Outcome.PARSED),
        (fence(PYTHON.replace("(x)", "(x, block=128)", 1), "python"), Outcome.PARSED),
        (fence(PYTHON.replace("(x)", "(*inputs)", 1), "python"), Outcome.PARSED),
        (fence(PYTHON.replace("(x)", "(x, out)", 1), "python"), Outcome.SIGNATURE_CHANGED),
        (fence(PYTHON.replace("(x)", "()", 1), "python"), Outcome.SIGNATURE_CHANGED),
        (fence(PYTHON.replace("kernel_fn", "softmax"), "python"), Outcome.NO_ENTRY_POINT),
        (fence("class Model:\n    def kernel_fn(self, x):\n        return x\n", "python"), Outcome.NO_ENTRY_POINT),
        (fence(PYTHON.replace("return torch.softmax(x, dim=-1)", "..."), "python"), Outcome.ELIDED),
        (fence(PYTHON.replace("return torch", "# ... existing code ...\n    return torch"), "python"), Outcome.ELIDED),
        (fence(PYTHON[:-5], "python"), Outcome.TRUNCATED),
        (fence(GOOD), Outcome.WRONG_LANGUAGE),
        (fence(PYTHON.replace("import triton\n", "x = = 1\n"), "python"), Outcome.PARSED),
    ],
)
def test_python_hosted_kernels(text: str, expected: Outcome) -> None:
    assert expected == outcome(text, wanted=TRITON)
