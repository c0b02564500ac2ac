"""Experiments of the literature, from question to figure: ``python -m experiments.papers.NAME [scale=gpu] …``.

Each is a YAML file, which declares arms, tasks, seeds, budget and comparisons, and a module, whose docstring tells
the source's protocol, ours, and where they differ; beside the common path (declare, sweep, compare) it holds only
what is particular to it. As they stand, they need no GPU and no model, and take at most twenty minutes on two cores;
``scale=gpu`` is the full size. What an experiment was expected to show stands in its YAML as a hypothesis.

- `ablation`: every variation operator against every other, under three budgets.
- 1 `llm_vs_random`, 2 `is_evolution_needed`, 3 `search_policies`, 4 `information_ablation`, 5 `feedback_ablation`
- 6 `neutral_chains`, 7 `tuning_the_tuner`, 8 `parent_selection`, 9 `quality_diversity`
- 10 `shape_specialisation`, 11 `evaluator_hardness`, 12 `warm_start`, 13 `trace_forensics`

Without a server, model arms play the stored answers of a real model whatever they are asked (`llm.ReplayedClient`).
Such an arm shows that the path works and how a search copes with answers of that quality; it is no model's
performance.
"""
