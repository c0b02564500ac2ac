"""Number 3: search policies of KernelEvolve (Liao 2025), with AIRA's values (Toledo 2025).

Source (https://arxiv.org/abs/2512.23236, https://arxiv.org/abs/2507.02554): greedy, MCTS (c = 0.25, 5 children) and
evolution (5 a generation, crossover 0.5) over a graph of kernels, one universal operator instead of draft, debug and
improve; 10 drafts, 50 or 300 steps. The paper does not tell which policy gave which result, and names no seeds.

Here, CPU scale: six arms, 30 evaluations, 5 seeds, stored answers of a model (see llm.ReplayedClient) that do not
depend on the prompt: policies can be seen at work, operators cannot be told apart.

Here, GPU scale (scale=gpu): ten Triton kernels instead of six ATen operators and conv1d, 300 steps, 10 seeds.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("search_policies"))
