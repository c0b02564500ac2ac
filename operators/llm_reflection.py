"""Reflection: the model first says what the attempts so far have taught, then writes the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .asking import Sampling, ask
from .author import Author, contract_of
from .ingredients import Ingredients
from .operator import Brief, Parent, Proposal
from .prompt import messages, text
from .reading.thinking import without_thinking

LONGEST_LESSON = 600
"""Characters of a lesson that are kept; it goes into every later prompt that wants notes."""


class LLMReflection:
    """Asks twice: for the lesson of a kernel's family, then, with that lesson, for a faster kernel.

    The lesson is in `Proposal.lesson`; later prompts with ``notes`` read it. Both requests are
    charged to the proposal.

    Args:
        context: Whose attempts are compared: a key of `ingredients.CONTEXTS`.
        ingredients: Switches of `Ingredients`, e.g. ``{"notes": 8}``.
        sampling: Fields of `Sampling` for the kernel, e.g. ``{"temperature": 0.6}``.
        lesson_tokens: Of the lesson.
        folder: Further documents of a user's own, see `Library`.
    """

    name = "llm_reflection"
    arity = 1
    takes_failures = False

    def __init__(
        self,
        *,
        context: str = "both",
        ingredients: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        lesson_tokens: int = 300,
        folder: str | None = None,
    ) -> None:
        settings = {"context": context, "ingredients": ingredients, "sampling": sampling, "folder": folder}
        self._author = Author(self.name, "mutate", Ingredients(notes=4), "full", settings)
        self._lesson = Sampling(**{**(sampling or {}), "max_tokens": lesson_tokens})
        self.memory = self._author.ingredients.memory

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks for a lesson and for a kernel that heeds it.

        Raises:
            LLMError: The server is the trouble.
        """
        wanted = contract_of(brief)
        prompt = messages(parents, brief, wanted, self._author.ingredients, instruction=text("reflect"))
        request = self._lesson.request(prompt, rng)
        completion = ask(request, brief, self.name)
        lesson = tidy(completion.text)
        notes = [*brief.memory.notes, *([lesson] if lesson else [])]
        told = replace(brief, memory=replace(brief.memory, notes=notes))
        proposal = self._author.propose(parents, told, rng)
        return replace(
            proposal,
            lesson=lesson,
            tokens=proposal.tokens + completion.tokens,
            requests=(request.digest, *proposal.requests),
        )


def tidy(answer: str) -> str:
    """Returns the lines of a lesson, without thoughts and code, each as a bullet."""
    rest, _ = without_thinking(answer)
    lines: list[str] = []
    in_code = False
    for line in rest.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif line.strip() and not in_code:
            lines.append("- " + line.strip().lstrip("-*• ").strip())
    kept = ""
    for line in lines:
        if len(kept) + len(line) + 1 > LONGEST_LESSON:
            break
        kept += line + "\n"
    return kept.rstrip()
