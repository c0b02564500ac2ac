"""The control of model mutation: the same call, and nothing of the parent in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .author import Author
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal


class LLMScratch:
    """Takes a parent and does not show it: what remains is drawing independent samples.

    Whatever `LLMMutation` gains over this operator, it gains from the parent and what is known of it.

    Args:
        ingredients: Switches of `Ingredients`, e.g. ``{"elites": 2}``.
        sampling: Fields of `Sampling`, e.g. ``{"temperature": 0.6}``.
        instruction: Replaces the shipped words.
        folder: Further documents of a user's own, see `Library`.
    """

    name = "llm_scratch"
    arity = 1
    takes_failures = False

    def __init__(
        self,
        *,
        ingredients: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        instruction: str = "",
        folder: str | None = None,
    ) -> None:
        settings = {
            "context": "clean",
            "ingredients": ingredients,
            "sampling": sampling,
            "instruction": instruction,
            "folder": folder,
        }
        self._author = Author(self.name, "scratch", Ingredients(), "full", settings)
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for a kernel as if there were no parent.

        Raises:
            LLMError: The server is the trouble.
        """
        return self._author.propose(parents, brief, rng)
