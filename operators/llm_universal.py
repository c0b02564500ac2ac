"""The universal operator: one prompt, whose ingredients decide what the model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .author import Author
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal
from .reading import Mode


class LLMUniversal:
    """Draft, improvement, repair and combination in one operator, as in KernelEvolve.

    The same words are said whatever the parents are; parents, evaluations, memory and retrieved
    documents make the difference.

    Args:
        arity: How many parents, also 0.
        takes_failures: Whether its parent is one that failed.
        mode: ``"full"`` asks for the whole kernel, ``"diff"`` for SEARCH/REPLACE edits.
        context: What is inherited from the search: a key of `ingredients.CONTEXTS`.
        ingredients: Switches of `Ingredients`, e.g. ``{"elites": 2}``.
        sampling: Fields of `Sampling`, e.g. ``{"temperature": 0.6}``.
        instruction: Replaces the shipped words.
        folder: Further documents of a user's own, see `Library`.

    Raises:
        ValueError: ``arity`` is negative.

    References:
        KernelEvolve, arXiv 2512.23236.
    """

    name = "llm_universal"

    def __init__(
        self,
        *,
        arity: int = 1,
        takes_failures: bool = False,
        mode: Mode = "full",
        context: str = "both",
        ingredients: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        instruction: str = "",
        folder: str | None = None,
    ) -> None:
        if arity < 0:
            raise ValueError(f"arity must be 0 or more, is {arity}")
        settings = {
            "context": context,
            "ingredients": ingredients,
            "sampling": sampling,
            "instruction": instruction,
            "folder": folder,
        }
        self.arity = arity
        self.takes_failures = takes_failures
        default = Ingredients(profile=True, elites=1, notes=4, knowledge=2)
        self._author = Author(self.name, "universal", default, mode, settings)
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for the next version.

        Raises:
            LLMError: The server is the trouble.
        """
        return self._author.propose(parents, brief, rng)
