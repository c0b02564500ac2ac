"""What the answer of a model was worth, told to whoever chooses among models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from llm import Client, Rewarded

from .individual import Individual


def as_told(client: Client | None, draw: Callable[[], np.random.Generator]) -> Client | None:
    """Returns the model's door for one slot: whoever chooses behind it has chosen, by the rewards told until now.

    Operators ask from threads, while later slots are committed and rewarded: without this, which model
    answers would depend on who is faster.
    """
    if client is None or not isinstance(
        client, Rewarded
    ):  # asking for a protocol takes longer than a slot without a model
        return client
    return client.snapshot(int(draw().integers(2**63)))


def reward_arm(client: Client | None, individual: Individual, parents: Sequence[Individual]) -> None:
    """Tells an ensemble of models which part of its best parent's cost a kernel saves; a known kernel saves nothing.

    Args:
        client: The slot's door, see `as_told`; one that learns nothing is left alone.
        individual: That was committed.
        parents: That its operator was given.
    """
    if client is None or not isinstance(client, Rewarded):
        return
    to_beat = min((parent.cost for parent in parents if parent.fitness.valid), default=math.inf)
    saved = 1.0 - individual.cost / to_beat if math.isfinite(to_beat) and to_beat > 0 else 0.0
    new = individual.duplicate_of is None and math.isfinite(saved)
    client.tell(individual.arm, max(0.0, saved) if new else 0.0, individual.tokens)
