"""Variation: parents in, a proposal out.

`Operator` is the seam: one method, `propose`. `Brief` is what every operator may know about the
problem, `Memory` what it may remember, `Proposal` what it returns.
"""

from .operator import Brief, Memory, Operator, Parent, Proposal

__all__ = ["Brief", "Memory", "Operator", "Parent", "Proposal"]
