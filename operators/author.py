"""Writes a prompt, asks, and reads: the trade that all model operators ply, each with its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import numpy as np

from llm import Message

from .asking import Sampling, ask, proposal, read
from .contract import Contract, contract
from .describing import verdict
from .ingredients import Ingredients, ingredients
from .operator import Brief, Parent, Proposal
from .prompt import advice, filled, messages, text
from .reading import Mode
from .retrieval import Library
from .suggesting import suggestion


def contract_of(brief: Brief) -> Contract:
    """Returns the outside of the kernels of a run."""
    return contract(brief.task, brief.language.name, brief.language.grammar)


class Author:
    """Settings of one model operator, and what it does with them.

    Args:
        operator: Its name in records.
        words: Name of its instruction among the prompt texts.
        default: Its ingredients unless told otherwise.
        mode: Which form of answer is asked for.
        settings: ``context``, ``ingredients``, ``sampling``, ``instruction``, ``folder``, as the
            operators' constructors have them.

    Raises:
        ValueError: A setting is unknown or out of range.
    """

    def __init__(
        self,
        operator: str,
        words: str,
        default: Ingredients,
        mode: Mode = "full",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        given = dict(settings or {})
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be one of {', '.join(get_args(Mode))}, is {mode!r}")
        self.operator = operator
        self.mode: Mode = mode
        self.ingredients = ingredients(default, given.get("context", ""), given.get("ingredients"))
        try:
            self.sampling = Sampling(**(given.get("sampling") or {}))
        except TypeError as error:
            raise ValueError(f"sampling of {operator}: {error}") from error
        self._instruction = given.get("instruction") or text(words)
        self._folder = given.get("folder")

    @cached_property
    def library(self) -> Library | None:
        """The documents, read at the first use; None when no prompt wants any."""
        return Library(self._folder) if self.ingredients.knowledge else None

    def prompt(self, parents: Sequence[Parent], brief: Brief, change: str = "") -> tuple[Message, ...]:
        """Writes the messages for these parents.

        A parent whose answer could not be read has no source: then the reason is told instead.

        Args:
            parents: In the order of use.
            brief: The problem.
            change: What is to be done in place of the instruction, if anything.
        """
        wanted = contract_of(brief)
        shown = [parent for parent in parents if parent.kernel.source.strip()]
        # A diff needs something to refer to; without it the whole kernel is asked for.
        diff = self.mode == "diff" and bool(shown) and self.ingredients.source
        form = filled("answer_diff") if diff else filled("answer_full", fence=wanted.fence)
        if change:
            told = filled("suggest", suggestion=change)
        else:
            told = self._told(parents) if shown or not parents else _unread(parents[0], self.ingredients.log)
        parts = [told, advice(wanted.language) if self.ingredients.advice else "", form]
        instruction = "\n\n".join(part for part in parts if part)
        return messages(shown, brief, wanted, self.ingredients, instruction=instruction, library=self.library)

    def _told(self, parents: Sequence[Parent]) -> str:
        failed = [parent for parent in parents if not parent.evaluation.ok]
        return self._instruction.replace("$verdict", verdict(failed[0].evaluation) if failed else "it is too slow")

    def _change(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> str:
        """Draws what a kernel that works should be changed in; nothing is drawn unless it is an ingredient."""
        alone = parents[0] if len(parents) == 1 and parents[0].evaluation.ok else None
        if alone is None or not (self.ingredients.suggestion and self.ingredients.source):
            return ""
        return suggestion(alone.kernel.source, brief.language.name, rng)

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks once and reads the answer.

        Raises:
            LLMError: The server is the trouble.
        """
        request = self.sampling.request(self.prompt(parents, brief, self._change(parents, brief, rng)), rng)
        completion = ask(request, brief, self.operator)
        parent = parents[0].kernel.source if parents else None
        wanted = contract_of(brief)
        reading = read(completion, wanted, parent, self.mode)
        return proposal(self.operator, parents, reading, wanted, (request, completion))


def _unread(parent: Parent, tell_why: bool) -> str:
    reason = " ".join(parent.evaluation.log.split()) if tell_why else ""
    return filled("unread", reason=reason.rstrip(".") or "it held no kernel")
