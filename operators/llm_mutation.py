"""Mutation by a model: one parent, made faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .author import Author
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal
from .reading import Mode


class LLMMutation:
    """Shows a kernel with what is known of it, and asks for a faster one.

    Args:
        mode: ``"full"`` asks for the whole kernel, ``"diff"`` for SEARCH/REPLACE edits.
        context: What is inherited from the search: a key of `ingredients.CONTEXTS`, or empty.
        ingredients: Switches of `Ingredients`, e.g. ``{"elites": 2}``.
        sampling: Fields of `Sampling`, e.g. ``{"temperature": 0.6}``.
        instruction: Replaces the shipped words.
        folder: Further documents of a user's own, see `Library`.
    """

    name = "llm_mutation"
    arity = 1
    takes_failures = False

    def __init__(
        self,
        *,
        mode: Mode = "full",
        context: str = "",
        ingredients: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        instruction: str = "",
        folder: str | None = None,
    ) -> None:
        settings = {
            "context": context,
            "ingredients": ingredients,
            "sampling": sampling,
            "instruction": instruction,
            "folder": folder,
        }
        self._author = Author(self.name, "mutate", Ingredients(), mode, settings)
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for a changed kernel.

        Raises:
            LLMError: The server is the trouble.
        """
        return self._author.propose(parents, brief, rng)
