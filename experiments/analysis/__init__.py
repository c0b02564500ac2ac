"""From a sweep directory to what may be said about its arms.

- `run_columns`: one run directory as columns.
- `tables`: a sweep as a table of runs and a table of slots, with a Parquet cache.
- `arms`: which arm, task and seed a run belongs to.
- `scores`: one number a run for each metric.
- `comparison`: the declared tests and their verdicts.
- `skeletons`: kernels that differ in more than names and numbers.
- `summary`: tables of arms, tasks and operators.
- `findings`: the result in words, and what speaks against it.
- `display`: the tables as text.
- `figures`: best-so-far, profile, effects, funnel.
- `result`: all of it, analysed once.
"""
