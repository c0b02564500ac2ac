"""Variation: parents in, a proposal out.

`Operator` is the seam: one method, `propose`. `Brief` is what every operator may know about the
problem, `Memory` what it may remember, `Proposal` what it returns. Operators of the model:
`LLMDraft`, `LLMMutation`, `LLMCrossover`, `LLMRepair`, `LLMReflection`, `LLMUniversal`, and the
control `LLMScratch`. `reading` turns answers into sources. Operators without a model:
`SyntacticMutation` and `SyntacticCrossover` on syntax trees, `ParameterMutation`,
`ParameterCrossover` and `ParameterSample` on declared `Tunables`, and the control `Identity`.
"""

from .identity import Identity
from .llm_crossover import LLMCrossover
from .llm_draft import LLMDraft
from .llm_mutation import LLMMutation
from .llm_reflection import LLMReflection
from .llm_repair import LLMRepair
from .llm_scratch import LLMScratch
from .llm_universal import LLMUniversal
from .operator import Brief, Memory, Operator, Parent, Proposal, Selective
from .parameter import ParameterCrossover, ParameterMutation
from .parameter_sample import ParameterSample
from .syntactic_crossover import SyntacticCrossover
from .syntactic_mutation import SyntacticMutation
from .tunables import Tunable, TunableError, Tunables

__all__ = [
    "Brief",
    "Memory",
    "Operator",
    "Parent",
    "Proposal",
    "Selective",
    "LLMDraft",
    "LLMMutation",
    "LLMCrossover",
    "LLMRepair",
    "LLMReflection",
    "LLMUniversal",
    "LLMScratch",
    "SyntacticMutation",
    "SyntacticCrossover",
    "ParameterMutation",
    "ParameterCrossover",
    "ParameterSample",
    "Identity",
    "Tunable",
    "Tunables",
    "TunableError",
]
