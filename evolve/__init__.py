"""Populations, selection and the journal: the search itself.

`Engine` runs a search; a `Policy` decides it. `Journal` keeps every answer of the outside world, and
`RecordedClient` and `RecordedEvaluations` put it in front of the two doors. `Individual` is a kernel
in a population, `Generation` one turn of the loop. Policies, selections and choices of operators are in
`evolve.policies`.
"""

from .budget import Budget, Goal
from .engine import Engine
from .errors import (
    EvolveError,
    JournalCorrupt,
    JournalError,
    JournalLocked,
    JournalMismatch,
    JournalMiss,
    JournalUnwritable,
    LineTooLong,
    RunDirectoryError,
    SearchError,
)
from .individual import Fitness, Generation, Individual
from .journal import Journal, read_journal
from .journal_file import NO_LOCKS
from .lines import LONGEST_LINE_BYTES, next_line, whole_lines
from .novelty import Novelty
from .policy import Plan, Policy
from .recording import Evaluations, RecordedClient, RecordedEmbedder, RecordedEvaluations
from .streams import deap_random, stream
from .strict_json import json_text
from .warm_start import Seed, from_folder, from_nearest, from_run, nearest_runs

__all__ = [
    "Engine",
    "Budget",
    "Goal",
    "Novelty",
    "Seed",
    "from_folder",
    "from_run",
    "from_nearest",
    "nearest_runs",
    "Individual",
    "Fitness",
    "Generation",
    "Plan",
    "Policy",
    "Journal",
    "read_journal",
    "whole_lines",
    "next_line",
    "json_text",
    "LONGEST_LINE_BYTES",
    "NO_LOCKS",
    "Evaluations",
    "RecordedClient",
    "RecordedEmbedder",
    "RecordedEvaluations",
    "stream",
    "deap_random",
    "EvolveError",
    "SearchError",
    "RunDirectoryError",
    "LineTooLong",
    "JournalError",
    "JournalMiss",
    "JournalMismatch",
    "JournalCorrupt",
    "JournalLocked",
    "JournalUnwritable",
]
