"""Number 1: a model against random edits (after GEVO, Liou 2020, and Brownlee 2023, SSBSE).

Source: GEVO (https://arxiv.org/abs/2004.08140) evolves edits of LLVM code by NSGA-II, 256 individuals, up to 300
generations, without a model; Brownlee compares a model's edits of Java statements with insertion, deletion and
replacement: up to 75 % more pass the tests, the best gain came from plain edits. Neither compares both on kernels
under one budget. GEVO retries a mutation until one passes, which hides evaluations; here every evaluation is charged.

Here, CPU scale: (8 + 8), 20 evaluations, 30 seeds, one kernel instead of six with 128 evaluations. The model is a
replay: 49 stored answers of Qwen2.5-Coder-1.5B to prompts of another run about the same task, drawn at random
whatever is asked. Such an arm has no feedback and repeats itself; it is no model's performance, and bounds none.

Here, GPU scale (scale=gpu): ten Triton kernels, 128 evaluations, 10 seeds, shares of the model 0, 25, 50, 75 and 100
%.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("llm_vs_random"))
