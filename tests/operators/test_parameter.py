from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitness import Kernel
from fitness.languages import Cpp
from operators import Brief, ParameterCrossover, ParameterMutation, TunableError, Tunables
from operators.constraints import Constraint, ConstraintError

CPP = """\
// tunable TILE_M = 32 in {8, 16, 32, 64}
#define TILE_M 32
// tunable TILE_N = 16 in {8, 16, 32, 64}
constexpr long TILE_N = 16;  // columns
// constraint TILE_M * TILE_N <= 1024
extern "C" void kernel() {}
"""
PYTHON = """\
# tunable BLOCK = 128 in {64, 128, 256}
BLOCK = 128
# tunable POLICY = "a" in {"a", "b"}
POLICY: str = "a"
"""


@dataclass(frozen=True)
class Founder:
    kernel: Kernel
    evaluation: object = None


BRIEF = Brief(None, None, Cpp())


def mutated(source: str, seed: int, **knobs):
    return ParameterMutation(**knobs).propose([Founder(Kernel(source, "cpp"))], BRIEF, np.random.default_rng(seed))


def crossed(first: str, second: str, seed: int):
    parents = [Founder(Kernel(first, "cpp")), Founder(Kernel(second, "cpp"))]
    return ParameterCrossover().propose(parents, BRIEF, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("source", "values"),
    [
        (CPP, {"TILE_M": 32, "TILE_N": 16}),
        (PYTHON, {"BLOCK": 128, "POLICY": '"a"'}),
        (CPP.replace("\n", "\r\n"), {"TILE_M": 32, "TILE_N": 16}),
        ("// tunable S = 0.5 in {0.25, 0.5}\nstatic const float S = 0.5;\n", {"S": 0.5}),
        ("// tunable T = float in {float, double}\n#define T float\n", {"T": "float"}),
        ("int main() {}", {}),
        ("", {}),
    ],
)
def test_declared_values_are_read(source, values):
    assert values == Tunables.read(source).values


def test_what_the_code_says_counts_and_the_comment_follows():
    tunables = Tunables.read(CPP.replace("#define TILE_M 32", "#define TILE_M 33"))

    assert 33 == tunables.values["TILE_M"]
    assert "TILE_M = 64 in" in tunables.with_values({"TILE_M": 64})


def test_writing_changes_comment_and_definition_and_nothing_else():
    expected = CPP.replace("TILE_N = 16", "TILE_N = 8")

    assert expected == Tunables.read(CPP).with_values({"TILE_N": 8})


def test_an_unknown_name_cannot_be_set():
    with pytest.raises(TunableError, match="TILE_Q is no tunable of this kernel; it has TILE_M, TILE_N"):
        Tunables.read(CPP).with_values({"TILE_Q": 8})


def test_neighbours_differ_by_one_place_and_meet_the_constraints():
    expected = [
        {"TILE_M": 16, "TILE_N": 16},
        {"TILE_M": 64, "TILE_N": 16},
        {"TILE_M": 32, "TILE_N": 8},
        {"TILE_M": 32, "TILE_N": 32},
    ]

    assert expected == Tunables.read(CPP).neighbours()


def test_settings_are_all_that_the_constraints_allow():
    assert 13 == sum(1 for _ in Tunables.read(CPP).settings())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("// tunable TILE 32 in {8}\n#define TILE 32\n", "line 1: .* is no declaration; write 'tunable NAME"),
        ("// tunable TILE = 32 in {}\n#define TILE 32\n", "line 1: tunable TILE has no values to choose from"),
        ("// tunable TILE = 32 in {8, +}\n#define TILE 32\n", r"line 1: '\+' is neither a number nor a word"),
        ("// tunable TILE = 32 in {8, 32}\nint x;\n", "line 1: no definition of TILE follows"),
        ("// tunable TILE = 32 in {8, 32}", "line 1: no definition of TILE follows"),
        (CPP + CPP, "line 7: tunable TILE_M is declared twice"),
        (CPP.replace("<= 1024", "<="), "line 5: constraint .* is no expression"),
        (CPP.replace("<= 1024", "<= TILE_K"), "TILE_K is no tunable"),
        (CPP.replace("<= 1024", "<= __import__('os')"), "line 5: constraint .* Call is not allowed"),
        ("// constraint\n", "line 1: a constraint has 1 to 400 characters"),
    ],
)
def test_a_malformed_declaration_is_named(source, message):
    with pytest.raises(TunableError, match=message):
        Tunables.read(source)


@pytest.mark.parametrize(
    "text", ["(lambda: 1)()", "a.b", "a[0]", "'x' * 9", "2 ** 9 ** 9", "a if b else c", "[a]", "a := 1"]
)
def test_only_arithmetic_is_a_constraint(text):
    with pytest.raises(ConstraintError):
        Constraint.read(text)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a * b <= 64", True),
        ("a % b == 0", True),
        ("a / 0 > 1", False),
        ("a > 8 || b > 8", False),
        ("a >= 8 && !(b == 8)", True),
        ("4 <= b < a", True),
        ("a != b and not a == b", True),
        ("-a // 3 < 0", True),
    ],
)
def test_constraints_are_computed(text, holds):
    assert holds == Constraint.read(text).holds({"a": 8, "b": 4})


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(st.text(), st.text("/# tunable=in{},18AB\n\r")), seed=st.integers(0, 99))
def test_any_text_is_mutated_or_answered_with_a_reason(source, seed):
    proposal = mutated(source, seed)

    assert (proposal.kernel is not None) == (proposal.outcome == "parsed")
    assert proposal.note


@pytest.mark.parametrize("seed", range(10))
def test_a_mutant_is_another_allowed_setting(seed):
    tunables = Tunables.read(mutated(CPP, seed).kernel.source)

    assert tunables.allows(tunables.values)
    assert {"TILE_M": 32, "TILE_N": 16} != tunables.values


def test_neighbouring_values_are_preferred():
    near = [mutated(CPP, seed, adjacent_share=1.0, more_changes=0.0).kernel for seed in range(20)]

    assert all(Tunables.read(kernel.source).values in Tunables.read(CPP).neighbours() for kernel in near)


def test_a_forbidden_value_is_mutated_away():
    source = CPP.replace("#define TILE_M 32", "#define TILE_M 33")

    assert all(Tunables.read(mutated(source, seed).kernel.source).values["TILE_M"] != 33 for seed in range(10))


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("int x;", "no_tunables"),
        ("// tunable A = 1 in {1}\n#define A 1\n", "no_edit"),
        ("// tunable A\n", "malformed_tunable"),
    ],
)
def test_a_mutation_that_cannot_be_says_why(source, outcome):
    assert (None, outcome) == (mutated(source, 0).kernel, mutated(source, 0).outcome)


def test_crossover_mixes_the_values_of_both_parents():
    first = Tunables.read(CPP).with_values({"TILE_M": 8, "TILE_N": 8})
    second = Tunables.read(CPP).with_values({"TILE_M": 16, "TILE_N": 64})
    found = {tuple(Tunables.read(crossed(first, second, seed).kernel.source).values.values()) for seed in range(20)}

    assert {(8, 64), (16, 8)} == found


def test_crossover_of_equal_settings_gives_no_kernel():
    assert (None, "no_edit") == (crossed(CPP, CPP, 0).kernel, crossed(CPP, CPP, 0).outcome)


@pytest.mark.parametrize("knobs", [{"more_changes": 1.0}, {"adjacent_share": 1.5}, {"adjacent_share": -0.5}])
def test_wrong_knobs_are_refused(knobs):
    with pytest.raises(ValueError, match="must be in"):
        ParameterMutation(**knobs)
