"""One slot on its way from plan to commit."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

from fitness import Evaluation, Kernel, Status
from operators import Brief, Proposal

from .individual import Individual, fitness_of
from .policy import Plan


@dataclass(slots=True)
class Slot:
    """What is known of a slot that is in flight.

    Attributes:
        index: Its number.
        plan: Operator and parents.
        brief: What the operator is told.
        committed: Slots that were committed when it was planned.
        proposal: None while the operator works.
        submitted: Whether the proposal was handed to the evaluator, or found not to be worth it.
        evaluation: None while the operator works, and for proposals that are not evaluated.
        error: Why there will be neither; belongs to model or machine.
        refused: Why the proposal is not worth an evaluation.
    """

    index: int
    plan: Plan
    brief: Brief
    committed: int
    proposal: Proposal | None = None
    submitted: bool = False
    evaluation: Future[Evaluation] | None = None
    error: BaseException | None = None
    refused: str = ""

    @property
    def settled(self) -> bool:
        """Whether the slot can be committed, or has failed for good."""
        if self.error is not None:
            return True
        # A thread may have set the proposal a moment ago: whether it is evaluated is not decided yet.
        return self.submitted and (self.evaluation is None or self.evaluation.done())


def slim(evaluation: Evaluation) -> Evaluation:
    """Returns an evaluation without single samples, which stay in the journal: memory must not grow with them."""
    measurements = tuple(replace(each, samples_us=(), reference_samples_us=()) for each in evaluation.measurements)
    return replace(evaluation, measurements=measurements) if measurements else evaluation


def individual_of(slot: Slot, proposal: Proposal, objectives: tuple[str, ...], generation: int) -> Individual:
    """Makes the individual of a settled slot.

    A proposal without a kernel becomes a rejected individual with an empty source, so that a policy
    sees every slot that it planned.
    """
    language = slot.brief.language.name
    kernel = proposal.kernel if proposal.kernel is not None else Kernel("", language)
    outcome = proposal.outcome if kernel.source or proposal.outcome != "parsed" else "no_code"
    if slot.evaluation is not None:
        evaluation = slim(slot.evaluation.result())
    else:
        evaluation = Evaluation(kernel.digest, Status.REJECTED, log=slot.refused or proposal.note)
    return Individual(
        kernel,
        evaluation,
        generation,
        slot.index,
        operator=slot.plan.operator,
        parents=proposal.parents,
        fitness=fitness_of(kernel, evaluation, objectives),
        outcome="refused" if slot.refused else outcome,
        note=slot.refused or proposal.note,
        tokens=proposal.tokens,
        requests=proposal.requests,
        arm=proposal.arm,
    )
