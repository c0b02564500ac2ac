from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve import (
    Budget,
    EvolveError,
    Goal,
    Individual,
    Journal,
    JournalMismatch,
    Plan,
    RunDirectoryError,
    SearchError,
    Seed,
)
from evolve.policies import MuPlusLambda, OnePlusOne, SteadyState
from fitness import MachineError, TaskError
from llm import ServerUnreachable
from operators import Operator, ParameterMutation, Proposal
from toy_search import (
    BITS,
    Pooled,
    ToyEvaluator,
    ToyOperator,
    cross,
    digest,
    draft,
    engine,
    flip,
    kernel,
    nothing,
    operators,
    run,
)

MUTATE: Mapping[str, Operator] = {"mutate": ToyOperator(flip, name="mutate")}


def policy() -> MuPlusLambda:
    return MuPlusLambda(mu=3, lambda_=4)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "generations.jsonl").read_text().splitlines()]


def slots(folder: Path) -> list[dict[str, Any]]:
    return [slot for record in records(folder) for slot in record["slots"]]


# The seeds


def test_a_wrong_seed_kernel_is_one_line_that_says_what_it_got(tmp_path: Path) -> None:
    with pytest.raises(TaskError) as caught:
        run(policy(), tmp_path, evaluator=ToyEvaluator(fails=lambda bits: True), generations=1)

    assert "the seed kernel of task toy is wrong_value: wrong" == str(caught.value)


def test_an_inherited_kernel_may_fail(tmp_path: Path) -> None:
    seeds = [kernel("0" * BITS), Seed(kernel("1" * BITS), "runs/old")]
    evaluator = ToyEvaluator(fails=lambda bits: "0" not in bits)
    generations, _ = run(policy(), tmp_path, 1, seed_kernels=seeds, evaluator=evaluator)

    assert [True, False] == [each.fitness.valid for each in generations[0].offspring]
    assert ["task", "runs/old"] == [slot["origin"] for slot in records(tmp_path)[0]["slots"]]


def test_what_was_inherited_is_told_apart_from_what_was_gained(tmp_path: Path) -> None:
    seeds = [kernel("0" * BITS), Seed(kernel("1" * 6 + "0" * 6), "runs/old")]
    run(policy(), tmp_path, 2, seed_kernels=seeds)

    assert {100.0 / 7.0} == {record["inherited_speedup"] for record in records(tmp_path)}


# Budgets and goals


def test_evaluations_end_a_run_exactly(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    generations, made = run(policy(), tmp_path, None, evaluator=evaluator, budget=Budget(evaluations=19))

    assert 19 == generations[-1].evaluations
    assert 19 == len(evaluator.asked)
    assert "evaluations" == made.stop_reason


def test_duels_are_charged_and_never_exceed_the_budget(tmp_path: Path) -> None:
    for evaluations in range(1, 40):
        folder = tmp_path / str(evaluations)
        evaluator = ToyEvaluator(spread=0.5)
        generations, _ = run(
            SteadyState(mu=3, lambda_=4, in_flight=3),
            folder,
            None,
            evaluator=evaluator,
            budget=Budget(evaluations=evaluations),
            duels=True,
        )

        assert evaluations == generations[-1].evaluations == len(evaluator.asked)
    assert records(folder)[-1]["duels"] > 0


def test_tokens_end_a_run_and_all_that_were_spent_are_counted(tmp_path: Path) -> None:
    generations, made = run(policy(), tmp_path, None, budget=Budget(tokens=BITS * 6))

    assert BITS * 8 == generations[-1].tokens
    assert "tokens" == made.stop_reason


@pytest.mark.parametrize("client", [None, object()])
@pytest.mark.parametrize("pooled", [False, True])
def test_seconds_end_a_run_in_the_middle_of_a_generation(tmp_path: Path, client: Any, pooled: bool) -> None:
    long = MuPlusLambda(mu=3, lambda_=1000)
    with Pooled(2) as executor:
        doors = {
            "evaluator": ToyEvaluator(jitter_s=0.02),
            "client": client,
            **({"executor": executor} if pooled else {}),
        }
        generations, made = run(long, tmp_path, None, budget=Budget(seconds=0.3), **doors)

    assert 0 < len(generations[-1].offspring) < 1000
    assert "seconds" == made.stop_reason


def test_a_run_that_time_ended_replays_and_resumes_to_the_same_place(tmp_path: Path) -> None:
    def search(**more: Any) -> None:
        run(SteadyState(mu=3, lambda_=4, in_flight=3), tmp_path, None, budget=Budget(seconds=0.2), verify=True, **more)

    with Pooled(2) as executor:
        search(evaluator=ToyEvaluator(jitter_s=0.02), executor=executor)
    expected = digest(tmp_path)
    search(strict=True)

    assert expected == digest(tmp_path)
    journal = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(line for line in journal if b'"verification"' not in line))
    search()

    assert expected == digest(tmp_path)


def test_a_target_ends_a_run(tmp_path: Path) -> None:
    generations, made = run(policy(), tmp_path, None, goal=Goal(speedup=20.0))

    assert generations[-1].best.evaluation.speedup >= 20.0
    assert "target" == made.stop_reason


def test_stagnation_ends_a_run(tmp_path: Path) -> None:
    evaluator = ToyEvaluator(latency_us=lambda bits: 5.0)
    generations, made = run(policy(), tmp_path, None, evaluator=evaluator, goal=Goal(stagnation=10))

    assert 10 <= generations[-1].evaluations <= 10 + 4
    assert "stagnation" == made.stop_reason


def test_a_space_with_nothing_left_ends_a_run(tmp_path: Path) -> None:
    still = {"still": ToyOperator(lambda parents, rng: parents[0])}
    generations, made = run(policy(), tmp_path, None, operators=still, budget=Budget(evaluations=5))

    assert 1 == generations[-1].evaluations
    assert "exhausted" == made.stop_reason


def test_operators_that_propose_nothing_end_a_run_soon(tmp_path: Path) -> None:
    mute = {"mute": ToyOperator(nothing, name="mute")}
    generations, made = run(policy(), tmp_path, None, operators=mute, budget=Budget(evaluations=5))

    assert 50 == generations[-1].index
    assert "exhausted" == made.stop_reason


def test_operators_that_object_to_every_seed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no operator can change a seed kernel \(tune: .*declares no tunables\)"):
        run(policy(), tmp_path, 1, operators={"tune": ParameterMutation()})


def test_one_operator_that_suits_the_seed_is_enough(tmp_path: Path) -> None:
    both = {"tune": ParameterMutation(), **MUTATE}
    generations, _ = run(policy(), tmp_path, 2, operators=both)

    assert 2 == generations[-1].index


def test_generations_end_a_run(tmp_path: Path) -> None:
    generations, made = run(policy(), tmp_path, 3)

    assert [0, 1, 2, 3] == [generation.index for generation in generations]
    assert "generations" == made.stop_reason


def test_a_run_that_nothing_ends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing ends this run"):
        run(policy(), tmp_path, None)


@pytest.mark.parametrize("limit", [{"evaluations": 0}, {"seconds": -1.0}, {"tokens": 0}])
def test_a_budget_must_be_positive(limit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Budget(**limit)


@pytest.mark.parametrize("goal", [{"speedup": 0.0}, {"stagnation": 0}])
def test_a_goal_must_be_positive(goal: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Goal(**goal)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"seed": -1}, "seed must be at least 0"),
        ({"proposers": 0}, "proposers must be at least 1"),
        ({"operators": {}}, "operators must not be empty"),
        ({"seed_kernels": []}, "seed_kernels must not be empty"),
        ({"objectives": ["speed"]}, "unknown objective 'speed'"),
        ({"objectives": []}, "at least one objective"),
    ],
)
def test_a_setting_out_of_range_is_one_line(tmp_path: Path, setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(policy(), tmp_path, 1, **setting)


def test_an_engine_runs_once(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        made = engine(policy(), tmp_path, journal)
        list(made.run(1))

        with pytest.raises(RuntimeError, match="runs once"):
            list(made.run(1))


# When slots are planned


class Spy(SteadyState):
    """Notes how many individuals it had been told at each plan."""

    def __init__(self, **sizes: int) -> None:
        super().__init__(**sizes)
        self.told = -1  # the seed is not a slot
        self.seen: list[tuple[int, int]] = []

    def plan(self, slot: int, operators: Mapping[str, Operator], rng: np.random.Generator) -> Plan:
        self.seen.append((slot, self.told))
        return super().plan(slot, operators, rng)

    def tell(self, individual: Individual, rng: np.random.Generator) -> None:
        self.told += 1
        super().tell(individual, rng)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_slot_is_planned_exactly_when_its_policy_says(tmp_path: Path, workers: int) -> None:
    spy = Spy(mu=3, lambda_=4, in_flight=3)
    with Pooled(workers) as executor:
        run(spy, tmp_path, 5, executor=executor, evaluator=ToyEvaluator(jitter_s=0.003), client=object())

    assert [(slot, max(0, slot - 2)) for slot in range(20)] == spy.seen


def test_a_policy_that_waits_for_ever_is_found_out(tmp_path: Path) -> None:
    class Waiting(SteadyState):
        def ready(self, slot: int) -> int:
            return slot + 1

    with pytest.raises(SearchError, match="waits for slot"):
        run(Waiting(mu=1, lambda_=1), tmp_path, 1)


def test_a_policy_that_comes_too_late_is_found_out(tmp_path: Path) -> None:
    class Late(SteadyState):
        def ready(self, slot: int) -> int:
            return 0 if slot == 3 else slot

    with pytest.raises(SearchError, match="must never decrease"):
        run(Late(mu=1, lambda_=1), tmp_path, 5)


def test_no_fitting_operator_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match=r"no operator can work with so few parents \(1\)"):
        run(policy(), tmp_path, 1, operators={"mate": ToyOperator(cross, arity=2)})


# What is recorded


def test_a_duplicate_is_free_and_names_its_original(tmp_path: Path) -> None:
    again = {"again": ToyOperator(lambda parents, rng: "1" * BITS)}
    evaluator = ToyEvaluator()
    generations, _ = run(policy(), tmp_path, 1, operators=again, evaluator=evaluator)

    assert [None, None, 0, 0, 0] == [slot["duplicate_of"] for slot in slots(tmp_path)]
    assert 2 == generations[-1].evaluations == len(evaluator.asked)


def test_a_proposal_without_a_kernel_is_recorded_and_not_evaluated(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    mute = {"mute": ToyOperator(nothing, name="mute")}
    generations, _ = run(policy(), tmp_path, 1, operators=mute, evaluator=evaluator)
    slot = slots(tmp_path)[1]

    assert (None, "no_code", None, "nothing came") == tuple(slot[k] for k in ("kernel", "outcome", "status", "note"))
    assert 1 == generations[-1].evaluations == len(evaluator.asked)


def test_an_empty_source_counts_as_no_kernel(tmp_path: Path) -> None:
    empty = {"empty": ToyOperator(lambda parents, rng: "", name="empty")}
    run(policy(), tmp_path, 1, operators=empty)

    assert "no_code" == slots(tmp_path)[1]["outcome"]


def test_the_funnel_says_how_far_each_operator_comes(tmp_path: Path) -> None:
    more = {"mutate": ToyOperator(flip, name="mutate"), "mute": ToyOperator(nothing, name="mute")}
    run(policy(), tmp_path, 10, operators=more, evaluator=ToyEvaluator(fails=lambda bits: bits[0] == "1"))
    funnel = records(tmp_path)[-1]["funnel"]

    assert ["mutate", "mute"] == list(funnel)
    assert 40 == funnel["mutate"]["proposed"] + funnel["mute"]["proposed"]
    assert 0 == funnel["mute"]["parsed"]
    mutate = funnel["mutate"]
    assert mutate["parsed"] >= mutate["built"] > mutate["correct"] > mutate["faster"] > 0


def test_every_distinct_source_is_kept_once(tmp_path: Path) -> None:
    generations, _ = run(policy(), tmp_path, 5)
    sources = [json.loads(line) for line in (tmp_path / "kernels" / "sources.jsonl").read_text().splitlines()]

    assert generations[-1].evaluations == len(sources) == len({source["kernel"] for source in sources})
    assert {kernel(source["source"]).digest for source in sources} == {source["kernel"] for source in sources}


def test_the_best_source_and_all_that_were_best_are_files(tmp_path: Path) -> None:
    generations, _ = run(policy(), tmp_path, 5)
    bests = {generation.best.digest for generation in generations}

    assert generations[-1].best.kernel.source == (tmp_path / "kernels" / "best.toy").read_text()
    assert bests <= {path.stem for path in (tmp_path / "kernels").glob("*.toy")}


def test_logbook_and_hall_of_fame_are_deaps(tmp_path: Path) -> None:
    generations, made = run(policy(), tmp_path, 5)

    assert [generation.index for generation in generations] == made.chronicle.logbook.select("generation")
    assert generations[-1].best.digest == made.chronicle.hall_of_fame[0].digest


def test_several_objectives_have_a_pareto_front(tmp_path: Path) -> None:
    _, made = run(policy(), tmp_path, 5, objectives=("latency_us", "max_rel_error"))
    front = [each.fitness.values for each in made.chronicle.front]

    assert len(front) > 1
    assert not any(all(x <= y for x, y in zip(a, b, strict=True)) and a != b for a in front for b in front)


def test_single_samples_stay_in_the_journal(tmp_path: Path) -> None:
    generations, _ = run(policy(), tmp_path, 1)

    assert all(not each.samples_us for one in generations[-1].offspring for each in one.evaluation.measurements)


def test_the_winner_is_verified_and_this_is_not_charged(tmp_path: Path) -> None:
    generations, made = run(policy(), tmp_path, 2, verify=True)

    assert made.verification is not None
    assert generations[-1].best.digest == made.verification.kernel
    assert generations[-1].evaluations == sum(slot["duplicate_of"] is None for slot in slots(tmp_path))


# The title of best


def test_a_gain_within_the_intervals_needs_a_duel(tmp_path: Path) -> None:
    class Doubtful(ToyEvaluator):
        def duel(self, *args: Any, **more: Any) -> Any:
            verdict = super().duel(*args, **more)
            return type(verdict)(verdict.challenger, verdict.elite, 1.0, (0.9, 1.1), 0.01)

    for evaluator, changes in ((ToyEvaluator(spread=0.5), True), (Doubtful(spread=0.5), False)):
        folder = tmp_path / str(changes)
        generations, _ = run(policy(), folder, 1, operators=MUTATE, evaluator=evaluator, duels=True)

        assert changes == (generations[-1].best.slot >= 0)
        assert records(folder)[-1]["duels"] > 0


def test_a_gain_beyond_the_intervals_needs_no_duel(tmp_path: Path) -> None:
    one = {"all": ToyOperator(lambda parents, rng: "1" * BITS)}
    generations, _ = run(policy(), tmp_path, 1, operators=one, evaluator=ToyEvaluator(spread=0.1), duels=True)

    assert 1.0 == generations[-1].best.cost
    assert 0 == records(tmp_path)[-1]["duels"]


def test_a_gain_below_the_noise_floor_is_none(tmp_path: Path) -> None:
    evaluator = ToyEvaluator(latency_us=lambda bits: 50.0 - 0.01 * bits.count("1"))
    generations, _ = run(policy(), tmp_path, 5, evaluator=evaluator, duels=True)

    assert -1 == generations[-1].best.slot
    assert 0 == records(tmp_path)[-1]["duels"]


# What operators remember


def test_an_operator_gets_the_memory_it_asks_for_and_no_other(tmp_path: Path) -> None:
    wanted = {
        "elites": ToyOperator(flip, memory=["elites"], name="elites"),
        "ancestors": ToyOperator(flip, memory=["ancestors", "siblings"], name="ancestors"),
        "plain": ToyOperator(flip, name="plain"),
    }
    run(OnePlusOne(lambda_=4), tmp_path, 10, operators=wanted)
    memories = {name: [brief.memory for brief in operator.briefs] for name, operator in wanted.items()}

    assert all(memory.elites and not memory.ancestors and not memory.siblings for memory in memories["elites"])
    assert any(memory.ancestors for memory in memories["ancestors"])
    assert any(memory.siblings for memory in memories["ancestors"])
    assert not any(memory.elites for memory in memories["ancestors"])
    assert not any(memory.elites or memory.ancestors or memory.siblings for memory in memories["plain"])


def test_ancestors_are_the_line_of_first_parents(tmp_path: Path) -> None:
    operator = ToyOperator(lambda parents, rng: parents[0].replace("0", "1", 1), memory=["ancestors"])
    run(OnePlusOne(lambda_=1), tmp_path, 5, operators={"set": operator})
    line = [parent.kernel.source.count("1") for parent in operator.briefs[-1].memory.ancestors]

    assert [3, 2, 1, 0] == line


def test_lessons_are_remembered(tmp_path: Path) -> None:
    class Reflecting(ToyOperator):
        def propose(self, parents: Sequence[Any], brief: Any, rng: np.random.Generator) -> Proposal:
            proposal = super().propose(parents, brief, rng)
            return Proposal(proposal.kernel, self.name, proposal.parents, lesson=f"lesson {len(self.briefs)}")

    operator = Reflecting(flip, memory=["notes"])
    run(OnePlusOne(lambda_=1), tmp_path, 3, operators={"reflect": operator})

    assert ("lesson 1", "lesson 2") == operator.briefs[-1].memory.notes


def test_an_independent_sample_remembers_nothing(tmp_path: Path) -> None:
    from evolve.policies import RandomSampling

    operator = ToyOperator(draft, arity=0, memory=["elites"])
    run(RandomSampling(lambda_=3), tmp_path, 3, operators={"draft": operator})

    assert not any(brief.memory.elites for brief in operator.briefs)


# Stopping and going on


class Failing(ToyOperator):
    """A mutation whose model goes away once it was asked so often."""

    def __init__(self, after: int) -> None:
        super().__init__(flip, name="mutate")
        self._after = after

    def propose(self, parents: Sequence[Any], brief: Any, rng: np.random.Generator) -> Proposal:
        if len(self.briefs) >= self._after:
            raise ServerUnreachable("nobody answers")
        return super().propose(parents, brief, rng)


@pytest.mark.parametrize("after", [0, 1, 5, 9])
@pytest.mark.parametrize("client", [None, object()])
def test_a_model_that_goes_away_stops_a_run_that_can_be_resumed(tmp_path: Path, after: int, client: Any) -> None:
    make = lambda: SteadyState(mu=3, lambda_=4, in_flight=3)  # noqa: E731 - two equal policies
    run(make(), tmp_path / "whole", 4, operators=MUTATE)
    folder = tmp_path / "stopped"
    evaluator = ToyEvaluator()
    with pytest.raises(ServerUnreachable):
        run(make(), folder, 4, operators={"mutate": Failing(after)}, client=client, evaluator=evaluator)
    asked = len(evaluator.asked)
    run(make(), folder, 4, operators=MUTATE, evaluator=evaluator)

    assert digest(tmp_path / "whole") == digest(folder)
    assert len(set(evaluator.asked)) == len(evaluator.asked), "an answer was paid for twice"
    assert asked >= 1


@pytest.mark.parametrize("error", [MachineError("the disk is on fire"), KeyboardInterrupt()])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_machine_or_a_user_that_stops_a_run_loses_nothing(tmp_path: Path, error: BaseException, pooled: bool) -> None:
    class Breaking(ToyEvaluator):
        def evaluate(self, *args: Any, **more: Any) -> Any:
            if len(self.asked) == 7:
                raise error
            return super().evaluate(*args, **more)

    evaluator = Breaking()
    with Pooled(2) as executor, pytest.raises(type(error)):
        run(policy(), tmp_path / "stopped", 5, evaluator=evaluator, **({"executor": executor} if pooled else {}))
    run(policy(), tmp_path / "stopped", 5)
    run(policy(), tmp_path / "whole", 5)

    assert digest(tmp_path / "whole") == digest(tmp_path / "stopped")


@pytest.mark.parametrize("error", [SystemExit(3), ZeroDivisionError("a fault of the operator")])
def test_an_operator_that_breaks_ends_the_run_with_its_own_error(tmp_path: Path, error: BaseException) -> None:
    def explode(parents: list[str], rng: np.random.Generator) -> str:
        raise error

    with pytest.raises(type(error)):
        run(policy(), tmp_path, 3, operators={"bomb": ToyOperator(explode)}, client=object())


def test_whoever_stops_listening_can_resume(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        running = engine(policy(), tmp_path, journal).run(5)
        next(running)
        next(running)
        running.close()
    run(policy(), tmp_path, 5)
    run(policy(), tmp_path / "whole", 5)

    assert digest(tmp_path / "whole") == digest(tmp_path)


def test_more_generations_go_on_where_a_run_ended(tmp_path: Path) -> None:
    evaluator = ToyEvaluator()
    run(policy(), tmp_path, 3, evaluator=evaluator, verify=True)
    run(policy(), tmp_path, 6, evaluator=evaluator, verify=True)
    run(policy(), tmp_path / "whole", 6)

    assert digest(tmp_path / "whole") == digest(tmp_path)


@pytest.mark.parametrize("in_flight", [1, 3])
def test_a_journal_of_other_code_is_refused(tmp_path: Path, in_flight: int) -> None:
    def make() -> SteadyState:
        return SteadyState(mu=3, lambda_=2, in_flight=in_flight)

    run(make(), tmp_path, 5, operators=MUTATE)
    changed = {"mutate": ToyOperator(lambda parents, rng: flip(parents, rng)[::-1], name="mutate")}
    with pytest.raises(JournalMismatch, match="code or configuration changed"):
        run(make(), tmp_path, 5, operators=changed)


def test_records_of_slots_in_flight_are_not_taken_for_other_code(tmp_path: Path) -> None:
    # Evaluations end out of order: of a killed run any subset of those in flight may be recorded.
    whole = tmp_path / "whole"
    make = lambda: SteadyState(mu=3, lambda_=2, in_flight=5)  # noqa: E731 - equal policies
    run(make(), whole, 6, operators=MUTATE)
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    evaluations = [i for i, line in enumerate(lines) if b'"evaluation"' in line]
    for position in range(1, len(evaluations) - 5):
        missing = evaluations[position]
        later = evaluations[position + 4]
        kept = [line for i, line in enumerate(lines[: later + 1]) if i != missing]
        folder = tmp_path / str(position)
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(b"".join(kept))
        run(make(), folder, 6, operators=MUTATE)

        assert digest(whole) == digest(folder)


def test_a_replay_elsewhere_writes_the_same_bytes(tmp_path: Path) -> None:
    run(policy(), tmp_path / "run", 5, verify=True)
    (tmp_path / "replay").mkdir()
    shutil.copy(tmp_path / "run" / "journal.jsonl", tmp_path / "replay")
    run(policy(), tmp_path / "replay", 5, verify=True, strict=True)

    assert digest(tmp_path / "run") == digest(tmp_path / "replay")


CHILD = """
import sys
from pathlib import Path
from toy_search import *
from evolve.policies import SteadyState
with Pooled(2) as executor:
    run(SteadyState(mu=3, lambda_=4, in_flight=3), Path(sys.argv[1]), 40, executor=executor,
        evaluator=ToyEvaluator(jitter_s=0.004, spread=0.3), duels=True, client=object())
"""


def test_a_run_survives_sigkill_at_any_moment(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent)])
    environment = {**os.environ, "PYTHONPATH": path}

    def start(folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], env=environment)

    folder, whole = tmp_path / "killed", tmp_path / "whole"
    assert 0 == start(whole).wait()
    seen = 0
    for attempt in range(4):
        with start(folder) as process:
            size = seen
            while process.poll() is None and size < seen + 4000 * (attempt + 1):
                time.sleep(0.002)
                size = (folder / "journal.jsonl").stat().st_size if (folder / "journal.jsonl").exists() else 0
            process.send_signal(signal.SIGKILL)
        seen = size
        shown = folder / "generations.jsonl"
        expected = (whole / "generations.jsonl").read_bytes()

        assert not shown.exists() or expected.startswith(shown.read_bytes())
    assert 0 == start(folder).wait()
    for name in ("generations.jsonl", "kernels/sources.jsonl", "kernels/best.toy"):
        assert (whole / name).read_bytes() == (folder / name).read_bytes()


def test_a_killed_replay_leaves_the_whole_record_in_place(tmp_path: Path) -> None:
    run(policy(), tmp_path, 5)
    expected = digest(tmp_path)
    with Journal(tmp_path / "journal.jsonl") as journal:
        running = engine(policy(), tmp_path, journal).run(5)
        next(running)
        next(running)
        running.close()

    assert expected == digest(tmp_path)


# Faults of the folder


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Journal(tmp_path / "journal.jsonl") as journal, pytest.raises(RunDirectoryError, match="cannot be written"):
        list(engine(policy(), tmp_path / "file", journal).run(1))


FULL = """
import resource, signal, sys
from pathlib import Path
from toy_search import *
import evolve
from evolve.policies import MuPlusLambda
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
try:
    run(MuPlusLambda(mu=3, lambda_=4), Path(sys.argv[1]), 60)
except evolve.EvolveError as error:
    print(type(error).__name__, error)
"""


def test_a_disk_that_fills_stops_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])}
    command = [sys.executable, "-c", FULL, str(tmp_path / "full")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    run(MuPlusLambda(mu=3, lambda_=4), tmp_path / "full", 60)
    run(MuPlusLambda(mu=3, lambda_=4), tmp_path / "whole", 60)

    assert 1 == len(done.stdout.splitlines())
    assert "to resume" in done.stdout
    assert digest(tmp_path / "whole") == digest(tmp_path / "full")


def test_every_fault_of_the_package_is_one_tree() -> None:
    import evolve.errors as module

    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]

    assert all(issubclass(each, EvolveError) for each in classes)
    assert all(each.__name__ in (module.__doc__ or "") for each in classes)
    assert operators()
