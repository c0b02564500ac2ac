"""What every operator owes the engine. A new operator is one line in `OPERATORS`."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pytest

import operators
from fitness.languages import Cpp
from fitness.targets import Cpu
from fitness.tasks import RowSum
from llm import ScriptedClient
from operator_samples import timed
from operators import Brief, Memory, Proposal

OPERATORS = [
    operators.Identity(),
    operators.SyntacticMutation(),
    operators.SyntacticCrossover(),
    operators.ParameterMutation(),
    operators.ParameterCrossover(),
    operators.ParameterSample(),
    operators.LLMDraft(),
    operators.LLMMutation(),
    operators.LLMCrossover(),
    operators.LLMRepair(),
    operators.LLMReflection(),
    operators.LLMUniversal(),
    operators.LLMScratch(),
]
EACH = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)


class TunableRowSum(RowSum):
    """Its seed declares tunables, which `ParameterSample` draws from."""

    def seed_kernel(self, language):
        return self.variant_kernel(language, "tunable")


TUNABLE = RowSum().variant_kernel("cpp", "tunable").source
PARENTS = [
    timed(source=TUNABLE.replace("LANES 1", f"LANES {lanes}").replace("ROWS 1", f"ROWS {lanes}"), task="row_sum")
    for lanes in (1, 2, 4)
]
HOPELESS = [timed(source=source, task="row_sum") for source in ("}} no kernel {{\n", "", "int x;\n")]


def propose(operator, parents, seed=0) -> Proposal:
    brief = Brief(TunableRowSum(), Cpu(), Cpp(), ScriptedClient([f"```cpp\n{TUNABLE}// once more\n```"]))
    return operator.propose(parents[: operator.arity], brief, np.random.default_rng(seed))


def test_every_operator_is_here() -> None:
    shipped = {each for each in vars(operators).values() if isinstance(each, type) and hasattr(each, "propose")}

    assert shipped - {operators.Operator} == {type(each) for each in OPERATORS}


@EACH
def test_it_reads_no_more_of_the_memory_than_there_is(operator) -> None:
    assert set() == operator.memory - {each.name for each in fields(Memory)}


@EACH
def test_a_kernel_comes_out_and_names_its_maker_and_its_parents(operator) -> None:
    made = [propose(operator, PARENTS, seed) for seed in range(5)]
    given = tuple(parent.kernel.digest for parent in PARENTS[: operator.arity])

    assert any(each.kernel is not None for each in made)
    assert {operator.name} == {each.operator for each in made}
    assert {given} == {each.parents for each in made}


@EACH
def test_the_same_stream_proposes_the_same_and_no_other_stream_is_drawn_from(operator) -> None:
    np.random.seed(1)  # noqa: NPY002  the global generator is what must not be used
    random.seed(1)
    before = (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    made = [propose(operator, PARENTS, seed=3) for _ in range(2)]

    assert made[0] == made[1]
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


@EACH
@pytest.mark.parametrize("parents", [PARENTS, HOPELESS], ids=["good", "hopeless"])
def test_whether_there_is_a_kernel_is_what_the_outcome_says(operator, parents) -> None:
    made = [propose(operator, parents, seed) for seed in range(5)]

    assert [each.kernel is not None for each in made] == ["parsed" == each.outcome for each in made]
