"""The ablation: every variation operator under equal conditions, under three budgets.

No published study compares a model's mutation with random edits under an equal budget on the same kernels; the
nearest are Brownlee 2023 (SSBSE) on Java and Gurkan 2026 (https://arxiv.org/abs/2606.05408) on neutral chains. Arms:
identity (the noise floor), the model from scratch, edits of the syntax tree, declared parameters, the model's
mutation, its crossover, both, and hybrids in which the model makes 25, 50 or 75 % of the proposals. Selection,
population, seed kernels and evaluator are the same. A run ends at whichever budget is spent first, and best-so-far is
compared over evaluations, seconds and tokens.

Here, CPU scale: one task, and a replay of stored answers in the model's place, which do not depend on the prompt:
scratch, mutation and crossover are then equal by construction, and no difference between them may be found. 10 seeds.

Here, GPU scale (scale=gpu): four tasks with declared tunables in C++, and a model on a server (llm.base_url,
llm.model).

An arm or a task of your own is one line in a copy of ablation.yaml; see CONTRIBUTING.md.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("ablation"))
