"""Slots between plan and commit: proposals in threads, evaluations in the executor, commits in order."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait

import numpy as np

from fitness import Evaluation, Kernel
from llm import LLMError
from operators import Operator

from .proposing import Threads
from .slot import Slot

Stream = Callable[[int, str], np.random.Generator]


class Flight:
    """The slots under way, oldest first.

    Operators without a model are called at once; with one they wait in threads, so that model and
    hardware are busy together. Evaluations start as soon as their proposal is there, out of order;
    slots leave in order.

    Args:
        operators: By name.
        streams: Makes the generator of a slot and a use.
        submit: Starts an evaluation.
        refuses: Says why a kernel is not worth an evaluation, given the slots committed when it was
            planned; an empty text lets it pass.
        proposers: Threads for operators; 0 calls them at once.
    """

    def __init__(
        self,
        operators: Mapping[str, Operator],
        streams: Stream,
        submit: Callable[[Kernel], Future[Evaluation]],
        refuses: Callable[[Kernel, int], str],
        proposers: int,
    ) -> None:
        self._operators = operators
        self._streams = streams
        self._submit_kernel = submit
        self._refuses = refuses
        self._threads = Threads(proposers) if proposers else None
        self._events: queue.SimpleQueue[Slot | None] = queue.SimpleQueue()
        self._slots: deque[Slot] = deque()
        self._unstarted: deque[Slot] = deque()
        self.failing = False

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, slot: Slot) -> None:
        """Takes in a slot that was planned.

        With threads it is started at once, so that the model is busy; without, when someone waits for it
        or for one before it.
        """
        self._slots.append(slot)
        if self._threads is None:
            self._unstarted.append(slot)
        else:
            self._threads.start(lambda: self._propose_and_tell(slot))

    def land(self) -> Slot:
        """Waits until the oldest slot can be committed, and takes it.

        Raises:
            LLMError: Its operator could not ask the model.
            FitnessError: The machine failed in its evaluation.
            JournalError: An answer could not be kept, or is missing in a strict replay.
        """
        head = self._slots[0]
        while True:
            while not self._events.empty():
                self._take(self._events.get())
            if head.settled:
                break
            if self._unstarted:
                # One at a time: where evaluations run at once, a slot is committed before the next is started.
                slot = self._unstarted.popleft()
                self._propose(slot)
                self._submit(slot)
            else:
                self._take(self._events.get())
        error = head.error or (head.evaluation.exception() if head.evaluation is not None else None)
        if error is not None:
            self._drain()
            raise error
        return self._slots.popleft()

    def abandon(self) -> None:
        """Forgets what is in flight; what still arrives is recorded and goes no further."""
        self._slots.clear()
        self._unstarted.clear()

    def close(self) -> None:
        """Drops what has not begun, and waits for nothing."""
        if self._threads is not None:
            self._threads.close(wait=False)

    def _propose(self, slot: Slot) -> None:
        """Lets the operator work. Whatever it raises is raised again when the slot's turn comes."""
        if slot.plan.proposal is not None:
            slot.proposal = slot.plan.proposal
            return
        operator = self._operators[slot.plan.operator]
        try:
            slot.proposal = operator.propose(slot.plan.parents, slot.brief, self._streams(slot.index, "vary"))
        except Exception as error:  # noqa: BLE001 - carried to `land`, in the thread that runs the search
            slot.error = error
            self.failing = True

    def _propose_and_tell(self, slot: Slot) -> None:
        """Runs in a thread, which must not end without a word, whatever the operator does."""
        try:
            self._propose(slot)
        except BaseException as error:  # noqa: BLE001 - carried to `land`, as above
            slot.error = error
            self.failing = True
        self._events.put(slot)

    def _submit(self, slot: Slot) -> None:
        """Hands a proposal to the evaluator, unless there is no kernel or it is refused."""
        slot.submitted = True
        kernel = slot.proposal.kernel if slot.proposal is not None else None
        if kernel is None or not kernel.source:
            return
        try:
            slot.refused = self._refuses(kernel, slot.committed)
        except LLMError as error:  # carried to `land`, where what is under way can still finish
            slot.error, self.failing = error, True
            return
        if slot.refused:
            return
        slot.evaluation = self._submit_kernel(kernel)
        if not slot.evaluation.done():
            slot.evaluation.add_done_callback(lambda _: self._events.put(None))

    def _take(self, slot: Slot | None) -> None:
        if slot is not None:
            self._submit(slot)

    def _drain(self) -> None:
        """Lets what is under way finish, so that it is recorded and need not be paid for again."""
        self.failing = True
        if self._threads is not None:
            self._threads.close(wait=True)
        wait([slot.evaluation for slot in self._slots if slot.evaluation is not None])
