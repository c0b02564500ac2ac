"""A kernel, an edit of it, and what the edit makes of it; shared by the tests of the reader."""

from __future__ import annotations

from fitness.tasks import Softmax
from operators.contract import contract

CPP = contract(Softmax(), "cpp", "cpp")
TRITON = contract(Softmax(), "triton", "python")

PARENT = """#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += std::exp(x[i * N + j]);  // sum
        }
        for (long j = 0; j < N; j++) {
            y[i * N + j] = std::exp(x[i * N + j]) / total;
        }
    }
}
"""
OLD = "            y[i * N + j] = std::exp(x[i * N + j]) / total;"
NEW = "            y[i * N + j] = std::exp(x[i * N + j]) * scale;"
CHILD = PARENT.replace(OLD, NEW)
LOOP = "for (long j = 0; j < N; j++) {"


def edit(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"
