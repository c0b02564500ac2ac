"""Asking the model and reading its answer: what all model operators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fitness import Kernel
from llm import Client, Completion, Message, Request, RequestError

from .contract import Contract
from .operator import Brief, Parent, Proposal
from .reading import Mode, Outcome, Reading, read_answer


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn.

    Attributes:
        temperature: 0 for the likeliest answer.
        top_p: Probability mass that is drawn from.
        max_tokens: Of the answer.
        model: Which model of the client; empty for its own.
        extra: Further fields of the request, e.g. ``{"structured_outputs": {"grammar": …}}``.

    Raises:
        ValueError: A number is out of its range.
    """

    temperature: float = 0.8
    top_p: float = 0.95
    max_tokens: int = 2048
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1 or self.max_tokens < 1:
            raise ValueError(
                "sampling: temperature must lie in 0 … 2, top_p in 0 … 1 and max_tokens be at least 1, "
                f"are {self.temperature}, {self.top_p} and {self.max_tokens}"
            )

    def request(self, messages: tuple[Message, ...], rng: np.random.Generator) -> Request:
        """Makes a request whose seed comes from the run's streams."""
        return Request(
            messages,
            model=self.model,
            seed=int(rng.integers(2**31)),
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            extra=self.extra,
        )


def model_of(brief: Brief, operator: str) -> Client:
    """Returns the run's model.

    Raises:
        ValueError: The run has none.
    """
    if brief.client is None:
        raise ValueError(f"the operator {operator} needs a model: choose llm=server or llm=vllm")
    return brief.client


def ask(request: Request, brief: Brief, operator: str) -> Completion:
    """Asks the run's model; a request that failed for good becomes a completion that says so.

    Raises:
        LLMError: The server is the trouble.
    """
    try:
        return model_of(brief, operator).complete(request)
    except RequestError as error:
        return Completion.failed(error)


def read(completion: Completion, wanted: Contract, parent: str | None, mode: Mode) -> Reading:
    """Reads a completion, failed ones included."""
    failures = {"timeout": Outcome.REQUEST_TIMEOUT, "rejected": Outcome.REQUEST_REJECTED}
    if completion.finish_reason in failures:
        return Reading(failures[completion.finish_reason], reason="; ".join(completion.retries))
    return read_answer(completion.text, wanted, parent, mode, completion.finish_reason)


def proposal(
    operator: str,
    parents: Sequence[Parent],
    reading: Reading,
    wanted: Contract,
    asked: tuple[Request, Completion],
) -> Proposal:
    """Makes the operator's result of a reading."""
    request, completion = asked
    kernel = Kernel(reading.source, wanted.language, wanted.entry_point) if reading.source is not None else None
    return Proposal(
        kernel,
        operator,
        tuple(parent.kernel.digest for parent in parents),
        outcome=str(reading.outcome),
        note=reading.note if kernel is not None else reading.reason,
        tokens=completion.tokens,
        requests=(request.digest,),
        arm=completion.arm,
    )
