"""Searches: who breeds, with which operator, and who stays.

Without a population: `RandomSampling`, `SequentialConditioned`. One line: `OnePlusOne`, and without
selection `NeutralChain`. Trees: `Greedy`, `UCT`. Populations: `MuPlusLambda`, `MuCommaLambda`, `SteadyState`, `NSGA2`,
`WeightedParents`, `ClusterSoftmax`. Archives: `MapElites` with `Curiosity` or `Uniform` and the
descriptors `MemoryLevel`, `ParallelLevel`, `AlgorithmLevel`, `Metric`. Around others: `Islands`,
`Phases`, `Tuned`. Of tunables: `Surrogate`. Choice of operators: `Weights` by name, `Mix` by kind,
or the bandits `UCB1`, `ThompsonSampling` and `AdaptivePursuit`. Selections beside DEAP's: `select_certified`,
`select_by_rank`, `select_by_beta`.
"""

from ..choice import UCB1, AdaptivePursuit, ThompsonSampling, Weights
from ..mix import Mix
from .descriptors import AlgorithmLevel, MemoryLevel, Metric, ParallelLevel
from .funsearch import ClusterSoftmax
from .generational import MuCommaLambda, MuPlusLambda
from .greedy import Greedy
from .islands import Islands
from .map_elites import Curiosity, MapElites, Uniform
from .neutral_chain import NeutralChain
from .nsga2 import NSGA2
from .phases import Phases
from .sampling import RandomSampling, SequentialConditioned
from .selection import select_by_beta, select_by_rank, select_certified
from .shinka import WeightedParents
from .steady_state import OnePlusOne, SteadyState
from .surrogate import Surrogate
from .tree import UCT
from .tuned import Tuned

__all__ = [
    "RandomSampling",
    "SequentialConditioned",
    "OnePlusOne",
    "NeutralChain",
    "Greedy",
    "UCT",
    "MuPlusLambda",
    "MuCommaLambda",
    "SteadyState",
    "NSGA2",
    "WeightedParents",
    "Surrogate",
    "ClusterSoftmax",
    "MapElites",
    "Curiosity",
    "Uniform",
    "MemoryLevel",
    "ParallelLevel",
    "AlgorithmLevel",
    "Metric",
    "Islands",
    "Phases",
    "Tuned",
    "Weights",
    "Mix",
    "UCB1",
    "ThompsonSampling",
    "AdaptivePursuit",
    "select_certified",
    "select_by_rank",
    "select_by_beta",
]
