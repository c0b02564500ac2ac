"""Number 5: what feedback is worth (KernelBench, Ouyang 2025, https://arxiv.org/abs/2502.10517, table 1).

Source: ten calls, spent on ten samples or on ten turns that see the last kernel (G), also errors and times (G+E),
also a profile (G+E+P); fast_1 over the tasks of a level. Refinement won five of six cells.

Here: the same four arms as greedy search of one line; a turn goes on from the best kernel, or repairs the last
failure, where the source always goes on from the last one. CPU scale: stored answers that do not depend on the
prompt, one task, 5 seeds. A profile is what our evaluator knows: time by workload, achieved rates, static metrics.

Here, GPU scale (scale=gpu): ten Triton kernels, 10 evaluations, 10 seeds; fast_p stands in the table of arms.
"""

from __future__ import annotations

import sys

from .question import answer

if __name__ == "__main__":
    sys.exit(answer("feedback_ablation"))
