"""Search of discrete spaces with a model of what was seen: `SurrogateSearch` over a `TuningSpace`.

`evolve.policies.Surrogate` is the policy that searches the tunables of a kernel with it.
"""

from .gaussian_process import GaussianProcess, Prior
from .search import SpaceExhausted, SurrogateSearch
from .tuning_space import TuningSpace

__all__ = ["SurrogateSearch", "SpaceExhausted", "TuningSpace", "GaussianProcess", "Prior"]
