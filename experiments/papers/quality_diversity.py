"""Number 9: quality-diversity and tuning of templates (KernelFoundry, https://arxiv.org/abs/2603.12440).

Source: MAP-Elites over 4 x 4 x 4 static descriptors, 8 candidates in each of 40 generations, then parameter sweeps,
best of 8; SYCL kernels of KernelBench by several models.

Here, CPU scale: (8 + 8), MAP-Elites, and MAP-Elites with tuning: a correct kernel with declared tunables
competes as the best of up to 8 settings. Every setting is charged, where the source tunes after the search and
charges nothing. Edits of the syntax tree instead of models, one kernel, 24 evaluations instead of 320, 30 seeds.

Here, GPU scale (scale=gpu): a model, ten Triton kernels, 320 evaluations, 10 seeds.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("quality_diversity"))
