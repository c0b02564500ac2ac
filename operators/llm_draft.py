"""Drafts: a model writes a kernel from the task alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .author import Author
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal


class LLMDraft:
    """Asks for a kernel from scratch; used before there is feedback, or to start anew.

    Args:
        ingredients: Switches of `Ingredients`, e.g. ``{"elites": 2}``.
        sampling: Fields of `Sampling`, e.g. ``{"temperature": 0.6}``.
        instruction: Replaces the shipped words.
        folder: Further documents of a user's own, see `Library`.
    """

    name = "llm_draft"
    arity = 0
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
            "ingredients": ingredients,
            "sampling": sampling,
            "instruction": instruction,
            "folder": folder,
        }
        self._author = Author(self.name, "draft", Ingredients(), "full", settings)
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for a draft; ``parents`` is empty.

        Raises:
            LLMError: The server is the trouble.
        """
        return self._author.propose(parents, brief, rng)
