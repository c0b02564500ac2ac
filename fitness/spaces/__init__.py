"""Recorded tuning spaces: every configuration of a kernel, measured once, so that a search can be studied by look-up.

The files are Kernel Tuner's cache files (``.json`` or ``.json.gz``), as published by the FAIR Benchmark Hub for
Auto-Tuning. `Space` is what a file holds; `RecordedSpace`, `RecordedTarget`, `RecordedLanguage` and `RecordedEvaluator`
stand in for task, target, language and evaluator, so that everything that searches kernels searches these. `scores`
has what a search may be compared with.
"""

from .recorded import RecordedEvaluator, RecordedLanguage, RecordedSpace, RecordedTarget
from .scores import best_of_random, cutoff_evaluations, random_search_fraction, random_search_ms, willemsen_score
from .space import Space

__all__ = [
    "Space",
    "RecordedSpace",
    "RecordedTarget",
    "RecordedLanguage",
    "RecordedEvaluator",
    "best_of_random",
    "cutoff_evaluations",
    "random_search_fraction",
    "random_search_ms",
    "willemsen_score",
]
