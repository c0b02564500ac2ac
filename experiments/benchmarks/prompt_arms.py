"""The prompts that `experiments.benchmarks.prompts` compares: what anybody would write, and operators of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from omegaconf import DictConfig

from fitness import Evaluation, Kernel
from llm import Client, Completion, Message, Request
from operators import Brief, LLMMutation, Proposal
from operators.asking import Sampling, proposal, read
from operators.author import contract_of
from operators.reading import Mode

from .. import faults
from ..build import make

PLAIN = "Make this {title} kernel faster. Keep its interface. Answer with the complete code in one code block."
BARE = {"task": False, "hardware": False, "time": False}
"""Nothing but interface, kernel and what to do."""


@dataclass(frozen=True)
class Seed:
    """The kernel that is to be made faster, as a parent."""

    kernel: Kernel
    evaluation: Evaluation


class Listening:
    """A client that remembers what was said last, for one thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.request: Request | None = None
        self.completion: Completion | None = None

    def complete(self, request: Request) -> Completion:
        """Answers one request."""
        self.request = request
        self.completion = self._client.complete(request)
        return self.completion


class Plain:
    """The prompt that anybody would write: the source and a wish."""

    def __init__(self, sampling: Mapping[str, Any]) -> None:
        self._sampling = Sampling(**sampling)

    def propose(self, parents: Sequence[Seed], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks once."""
        wanted = contract_of(brief)
        source = parents[0].kernel.source
        wish = f"{PLAIN.format(title=wanted.title)}\n\n```{wanted.fence}\n{source}```"
        request = self._sampling.request((Message("user", wish),), rng)
        assert brief.client is not None
        completion = brief.client.complete(request)
        return proposal("plain", parents, read(completion, wanted, source, "full"), wanted, (request, completion))


def arms(config: DictConfig, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the prompts that are compared; all draw their answers alike.

    ``default`` is the configuration's mutation. The others differ from it in one or two ingredients: general words
    instead of one concrete change, the language's advice or none, documents, nothing but the kernel, edits.
    """

    def mutation(mode: Mode = "full", **ingredients: bool | int) -> LLMMutation:
        return LLMMutation(mode=mode, sampling=sampling, ingredients=ingredients)

    return {
        "plain": Plain(sampling),
        "default": make(config, "operators.mutate"),
        "no_advice": mutation(),
        "advice": mutation(advice=True),
        "knowledge": mutation(advice=True, knowledge=2),
        "suggestion": mutation(suggestion=True),
        "bare": mutation("full", suggestion=True, **BARE),
        "bare_advice": mutation("full", suggestion=True, advice=True, **BARE),
        "diff": mutation("diff", suggestion=True, **BARE),
    }


def chosen(names: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the prompts of these names, in their order.

    Raises:
        ConfigError: There is none of a name.
    """
    wanted = names.split(",") if names else list(known)
    if missing := [name for name in wanted if name not in known]:
        raise faults.ConfigError(f"--arms: {missing[0]} is none of {', '.join(known)}")
    return {name: known[name] for name in wanted}
