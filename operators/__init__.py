"""Variation: parents in, a proposal out.

`Operator` is the seam: one method, `propose`. `Brief` is what every operator may know about the
problem, `Memory` what it may remember, `Proposal` what it returns. Operators of the model:
`LLMDraft`, `LLMMutation`, `LLMCrossover`, `LLMRepair`, `LLMReflection`, `LLMUniversal`, and the
control `LLMScratch`. `reading` turns answers into sources.
"""

from .llm_crossover import LLMCrossover
from .llm_draft import LLMDraft
from .llm_mutation import LLMMutation
from .llm_reflection import LLMReflection
from .llm_repair import LLMRepair
from .llm_scratch import LLMScratch
from .llm_universal import LLMUniversal
from .operator import Brief, Memory, Operator, Parent, Proposal

__all__ = [
    "Brief",
    "Memory",
    "Operator",
    "Parent",
    "Proposal",
    "LLMDraft",
    "LLMMutation",
    "LLMCrossover",
    "LLMRepair",
    "LLMReflection",
    "LLMUniversal",
    "LLMScratch",
]
