"""Number 2: whether evolution is needed (Gideoni 2026; Zhang 2024).

Source (https://arxiv.org/abs/2602.16805, https://arxiv.org/abs/2407.10873): independent samples and a
sequential-conditioned sampler (10 generations of 20, three programs in the prompt) match evolutionary systems on
three domains; (1+1) often matches populations. Both with language models, 5 runs or more, budgets of 200 to 2,000
samples.

Here, CPU scale: the same five searches, 24 evaluations, one kernel, 30 seeds, with edits of the syntax tree in the
model's place. That is another question than the source's: independent edits of a naive kernel are one or a few steps
away from it, where a model's independent sample may be anything. Generations of the sampler are 10, not 20.

Here, GPU scale (scale=gpu): a model, 200 evaluations, ten Triton kernels, 10 seeds.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("is_evolution_needed"))
