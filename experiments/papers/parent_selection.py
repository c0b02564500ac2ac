"""Number 8: choice of parents, novelty, bandit (ShinkaEvolve, Lange 2025, https://arxiv.org/abs/2509.19349).

Source: parents uniform, by hill-climbing or weighted by sigmoid(10 (F - median)) / (1 + offspring); novelty by
embeddings with cosine 0.95 and a judge; one model or a UCB1 bandit over several; circle packing, 150 evaluations.

Here, CPU scale: the same choices of parents, novelty by the text without names and comments, and a bandit over edit
operators in the place of one over models; one kernel, 40 evaluations, 5 seeds. Circle packing is no kernel and has no
place here; there is no judge model.

Here, GPU scale (scale=gpu): a model, eight Triton kernels, 150 evaluations, 10 seeds; embeddings from a server, and a
bandit over the arms of llm=ensemble.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("parent_selection"))
