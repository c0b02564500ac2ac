from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import numpy as np

from evolve.flight import Flight
from evolve.policy import Plan
from evolve.slot import Slot
from evolve.streams import stream
from fitness import Evaluation, Kernel, Status
from operators import Proposal
from toy_search import ToyOperator, brief, flip


class WokenTooSoon(Flight):
    """A thread that is held up between its proposal and the word that it is there, while the search is woken."""

    def _propose_and_tell(self, slot: Slot) -> None:
        self._propose(slot)
        self._events.put(None)
        time.sleep(0.2)
        self._events.put(slot)


def judged(kernel: Kernel) -> Future[Evaluation]:
    future: Future[Evaluation] = Future()
    future.set_result(Evaluation(kernel.digest, Status.OK))
    return future


def streams(slot: int, name: str) -> np.random.Generator:
    return stream(0, slot, name)


def test_a_proposal_is_not_committed_before_it_is_evaluated() -> None:
    parent: Any = type("Parent", (), {"kernel": Kernel("0011", "toy")})
    flight = WokenTooSoon({"flip": ToyOperator(flip)}, streams, judged, lambda kernel, committed: "", 1)
    flight.add(Slot(0, Plan("flip", (parent,)), brief(), 0))
    landed = flight.land()
    flight.close()
    assert isinstance(landed.proposal, Proposal)
    assert landed.evaluation is not None
