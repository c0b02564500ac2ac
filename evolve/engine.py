"""The loop: plan, propose, evaluate, commit in slot order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fitness import Evaluation, Kernel, TaskError
from operators import Brief, Operator, Proposal

from .arguments import check_least, check_suited
from .books import Books
from .budget import Budget, Goal, Ledger
from .champion import Champion
from .chronicle import Chronicle
from .crediting import as_told, reward_arm
from .errors import SearchError
from .flight import Flight
from .funnel import Funnel
from .individual import Generation, Individual, check_objectives, fitness_of
from .journal import Journal
from .leftovers import Leftovers
from .lineage import Lineage
from .novelty import Novelty
from .policy import Briefed, Policy
from .recording import Evaluations
from .run_files import RunFiles, generation_record
from .slot import Slot, individual_of, slim
from .streams import stream
from .warm_start import Seed

_DUEL_RESERVE = 4
"""At most so many evaluations are kept back for duels at the end of a budget."""


class Engine:
    """Evolves kernels; generational and lagged searches are one loop, told apart by `Policy.ready`.

    The trajectory depends on seed, configuration and the journal's answers, and on neither time nor
    the number of workers. It runs once; to resume, make another on the same journal.

    Args:
        seed_kernels: Generation 0. Those of origin ``"task"`` must be correct.
        operators: By the names that plans use.
        policy: Decides who breeds and who stays.
        brief: What operators may know; its ``memory`` is filled for each slot.
        evaluations: The evaluator's door.
        journal: Where both doors keep their answers.
        seed: Of all randomness.
        budget: What may be spent.
        goal: What ends the run early.
        objectives: See `evolve.individual.objective_value`; all are minimised.
        duels: Whether the title of best is fought for when intervals overlap; each costs one evaluation.
        verify: Whether the winner is judged anew at the end; this is not charged.
        novelty: Refuses or penalises what is not new beyond the exact digest, which is always tested.
        directory: Where derived files are written; None for none.
        proposers: Model calls in flight at most; of no influence on the trajectory.
        elites: Size of the hall of fame, which operators may be shown.

    Attributes:
        chronicle: DEAP's hall of fame, Pareto front and logbook.
        ledger: What was spent.
        stop_reason: Why the run ended: ``"generations"``, ``"evaluations"``, ``"seconds"``, ``"tokens"``,
            ``"target"``, ``"stagnation"`` or ``"exhausted"``; empty before that.
        verification: The last judgement of the winner, if there was one.

    Raises:
        ValueError: An argument is out of range.
    """

    def __init__(
        self,
        *,
        seed_kernels: Sequence[Kernel | Seed],
        operators: Mapping[str, Operator],
        policy: Policy,
        brief: Brief,
        evaluations: Evaluations,
        journal: Journal,
        seed: int = 0,
        budget: Budget | None = None,
        goal: Goal | None = None,
        objectives: Sequence[str] = ("latency_us",),
        duels: bool = False,
        verify: bool = False,
        novelty: Novelty | None = None,
        directory: Path | str | None = None,
        proposers: int = 8,
        elites: int = 10,
    ) -> None:
        check_least(seed=(seed, 0), proposers=(proposers, 1), elites=(elites, 1))
        self._seeds = [each if isinstance(each, Seed) else Seed(each) for each in seed_kernels]
        check_suited([each.kernel for each in self._seeds], operators)
        self._operators = dict(operators)
        self._policy = policy
        self._brief = brief
        self._evaluations = evaluations
        if isinstance(policy, Briefed):
            policy.begin(brief)
        self._journal = journal
        self._stream = partial(stream, seed)
        self._goal = goal or Goal()
        self._objectives = check_objectives(objectives)
        self._duels = duels
        self._verify = verify
        self._novelty = novelty
        budget = budget or Budget()
        self.ledger = Ledger(budget, min(_DUEL_RESERVE, (budget.evaluations or 0) // 16) if duels else 0)
        self.chronicle = Chronicle(elites, len(self._objectives))
        self.stop_reason = ""
        self.verification: Evaluation | None = None
        self._directory = Path(directory) if directory is not None else None
        self._files: RunFiles | None = None
        self._leftovers = Leftovers(journal)
        # A client means waiting for a network; without one, operators are pure and threads would only cost time.
        waits = proposers if brief.client is not None else 0
        self._flight = Flight(self._operators, self._stream, evaluations.submit, self._refuses, waits)
        self._planned = self._committed = 0
        self._held = self._started = False
        self._inherited: float | None = None

    def run(self, generations: int | None = None) -> Iterator[Generation]:
        """Yields generation 0, the seeds, and then one generation after another.

        Args:
            generations: At most so many beside the seeds; None for as many as the budget allows.

        Raises:
            TaskError: A seed kernel of the task is not correct.
            LLMError: The model cannot be asked; whatever was finished is recorded.
            FitnessError: The machine is broken; the same holds.
            JournalError: The journal cannot be written, or belongs to other code.
            RunDirectoryError: ``directory`` cannot be written.
            SearchError: The policy cannot go on.
            RuntimeError: It ran before.
            ValueError: Neither ``generations`` nor a budget nor a goal ends the run.
        """
        if self._started:
            raise RuntimeError("an engine runs once; make another on the same journal to resume")
        if generations is None and self.ledger.budget == Budget() and self._goal == Goal():
            raise ValueError("nothing ends this run: give generations, a budget or a goal")
        self._started = True
        last_slot = math.inf if generations is None else generations * self._policy.generation_size
        try:
            if self._directory is not None:
                self._files = RunFiles(self._directory, self._brief.language.suffix)
            yield self._found()
            while (generation := self._next(last_slot)) is not None:
                yield generation
            self._end()
        finally:
            self._flight.close()
            if self._files is not None:
                self._files.close()

    def _found(self) -> Generation:
        """Evaluates the seed kernels and makes them generation 0."""
        noise_floor = self._evaluations.calibration().noise_floor
        self._books = Books(
            ledger=self.ledger,
            champion=Champion(
                self._evaluations if self._duels else None, noise_floor, self._objectives[0] == "latency_us"
            ),
            funnel=Funnel(noise_floor),
            chronicle=self.chronicle,
            lineage=Lineage(part for operator in self._operators.values() for part in operator.memory),
            novelty=self._novelty,
            files=self._files,
        )
        seeds = self._seeds[: self.ledger.budget.evaluations]
        futures = [self._evaluations.submit(seed.kernel) for seed in seeds]
        founders = []
        for position, (seed, future) in enumerate(zip(seeds, futures, strict=True)):
            evaluation = slim(future.result())
            self._check_seed(seed, evaluation)
            fitness = fitness_of(seed.kernel, evaluation, self._objectives)
            slot = position - len(seeds)
            founders.append(Individual(seed.kernel, evaluation, 0, slot, fitness=fitness, origin=seed.origin))
            self._enter(founders[-1], (), "")
        if not any(founder.fitness.valid for founder in founders):
            wanted = ", ".join(self._objectives)
            raise TaskError(f"no seed kernel has a value for {wanted}: choose other objectives or another target")
        self._inherited = max((each.evaluation.speedup for each in founders if each.evaluation.speedup), default=None)
        return self._report(founders)

    def _check_seed(self, seed: Seed, evaluation: Evaluation) -> None:
        if seed.origin == "task" and not evaluation.ok:
            log = " ".join(evaluation.log.split())[:300] or "no log"
            raise TaskError(f"the seed kernel of task {self._brief.task.name} is {evaluation.status}: {log}")

    def _next(self, last_slot: float) -> Generation | None:
        """Runs until a generation is whole, or the run ends; None when there is nothing left to report."""
        offspring: list[Individual] = []
        while True:
            self._plan(last_slot)
            if not self._flight:
                return self._report(offspring) if offspring else None
            offspring.append(self._commit(self._flight.land()))
            if self._committed % self._policy.generation_size == 0:
                return self._report(offspring)

    def _plan(self, last_slot: float) -> None:
        """Plans every slot that is due."""
        while not self._stops(last_slot):
            ready = self._policy.ready(self._planned)
            if ready > self._committed:
                if not self._flight:
                    raise SearchError(f"the policy waits for slot {ready - 1} before it plans slot {self._planned}")
                return
            # A slot that had to wait for the budget is the only one that may be planned late.
            if ready < self._committed and not self._held:
                raise SearchError(f"the policy's ready({self._planned}) is {ready}: it must never decrease")
            self._start(self._planned)

    def _stops(self, last_slot: float) -> bool:
        """Whether no further slot is planned now; says why if the run is about to end."""
        if self._flight.failing or self.stop_reason:
            return True
        if self._planned >= last_slot:
            reason = "generations"
        elif not self.ledger.may_plan(len(self._flight)):
            self._held = True
            reason = "evaluations"
        else:
            return False
        if not self._flight:
            self.stop_reason = reason
        return True

    def _start(self, index: int) -> None:
        """Plans a slot and sends it on its way."""
        plan = self._policy.plan(index, self._operators, self._stream(index, "plan"))
        wanted = self._operators[plan.operator].memory if plan.remembers and plan.proposal is None else ()
        memory = self._books.lineage.memory(wanted, plan.parents, self.chronicle.hall_of_fame.items)
        brief = replace(
            self._brief, memory=memory, client=as_told(self._brief.client, partial(self._stream, index, "arm"))
        )
        self._flight.add(Slot(index, plan, brief, self._committed))
        self._planned += 1

    def _commit(self, slot: Slot) -> Individual:
        """Makes a settled slot part of the run."""
        proposal = slot.proposal or Proposal(None, slot.plan.operator, ())
        generation = slot.index // self._policy.generation_size + 1
        individual = individual_of(slot, proposal, self._objectives, generation)
        self._committed += 1
        self._enter(individual, slot.plan.parents, proposal.lesson)
        reward_arm(slot.brief.client, individual, slot.plan.parents)
        if self.ledger.budget.seconds is not None:
            self._look_at_clock(f"slot-{slot.index}")
        return individual

    def _enter(self, individual: Individual, parents: Sequence[Individual], lesson: str) -> None:
        self._books.enter(individual, parents, lesson, len(self._flight))
        self._policy.tell(individual, self._stream(individual.slot, "tell"))
        self.stop_reason = self.stop_reason or self._books.why_stop(self._goal)

    def _report(self, offspring: Sequence[Individual]) -> Generation:
        """Closes a generation: clock, record, logbook, journal."""
        index = offspring[-1].generation
        self._look_at_clock(str(index))
        best = self._books.champion.best
        if best is None:
            raise SearchError("there is no best kernel although a seed kernel was correct")
        generation = Generation(
            index,
            tuple(offspring),
            tuple(self._policy.survivors),
            best,
            self.ledger.evaluations,
            self.ledger.tokens,
            self.ledger.elapsed_s,
            self._books.funnel.snapshot(),
        )
        self.chronicle.log(generation, self.ledger.duels)
        if self._files is not None:
            self._files.add_generation(generation_record(generation, self.ledger.duels, self._inherited))
        self._journal.sync()
        self._leftovers.check(self._planned, self._committed)
        return generation

    def _look_at_clock(self, key: str) -> None:
        """Asks the journal for the time, and gives up what is in flight when it is up."""
        clock = self._journal.once("clock", key, lambda: {"elapsed_s": self._journal.elapsed_s()})
        self.ledger.elapsed_s = clock["elapsed_s"]
        self.stop_reason = self.stop_reason or self.ledger.exhausted()
        if self.stop_reason == "seconds":
            self._flight.abandon()

    def _end(self) -> None:
        """Judges the winner anew and closes the files of a whole run."""
        if self.stop_reason != "seconds":  # what was in flight when time was up may be recorded, and is not asked for
            self._leftovers.refuse()
        best = self._books.champion.best
        if self._verify and best is not None:
            self.verification = self._evaluations.verify(best.kernel)
        if self._files is not None:
            self._files.finish()
        self._journal.sync()

    def _refuses(self, kernel: Kernel, committed: int) -> str:
        return self._novelty.refuses(kernel, committed) if self._novelty is not None else ""
