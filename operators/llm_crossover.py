"""Crossover by a model: several parents, one kernel that combines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .author import Author
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal


class LLMCrossover:
    """Shows two or more kernels with their times, and asks for one that has the best of each.

    Args:
        arity: How many parents.
        ingredients: Switches of `Ingredients`, e.g. ``{"profile": True}``.
        sampling: Fields of `Sampling`, e.g. ``{"temperature": 0.6}``.
        instruction: Replaces the shipped words.
        folder: Further documents of a user's own, see `Library`.

    Raises:
        ValueError: ``arity`` is below 2.
    """

    name = "llm_crossover"
    takes_failures = False

    def __init__(
        self,
        *,
        arity: int = 2,
        ingredients: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        instruction: str = "",
        folder: str | None = None,
    ) -> None:
        if arity < 2:
            raise ValueError(f"a crossover needs an arity of 2 or more, is {arity}")
        settings = {"ingredients": ingredients, "sampling": sampling, "instruction": instruction, "folder": folder}
        self.arity = arity
        self._author = Author(self.name, "crossover", Ingredients(), "full", settings)
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for a combination.

        Raises:
            LLMError: The server is the trouble.
        """
        return self._author.propose(parents, brief, rng)
