"""Number 4: what a prompt should hold (EvoEngineer, https://arxiv.org/abs/2510.03760).

Source: I1 task and current kernel, I2 the best kernels so far, I3 insights; 45 trials a kernel, 91 kernels, three
models. Its table mixes models, so information and model cannot be told apart.

Here: the full 2 x 2 x 2 factorial of the task's text, history (two best kernels) and insight (notes of reflections)
on one parent that is always the best. A factor may be absent here that the source always has: the task's text. What is
tested are the three main effects, each over all runs, and the source's Full against its Free; interactions are not. CPU
scale: stored answers of a model that do not depend on the prompt, so that no arm can be better; 20 evaluations, 5
seeds.

Here, GPU scale (scale=gpu): 45 evaluations, ten Triton kernels, 5 seeds; run it once for every model, each into a
folder of its own, so that models and information are fully crossed.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("information_ablation"))
