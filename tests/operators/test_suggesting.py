from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fitness
from fitness import Evaluation, Status
from fitness.languages import Triton
from fitness.targets import Interpret
from fitness.tasks import Softmax
from llm import ScriptedClient
from operator_samples import Sample, cpp_brief, timed
from operators import Brief, LLMMutation
from operators.suggesting import changes, fitting, suggestion

SEEDS = sorted((Path(fitness.__file__).parent / "tasks" / "seeds").glob("*_triton.py"))
SOFTMAX = Softmax().seed_kernel("triton")


def triton_brief(client: ScriptedClient) -> Brief:
    return Brief(Softmax(), Interpret(), Triton(), client)


def asked(seed: int, status: Status = Status.OK, **ingredients: bool) -> ScriptedClient:
    client = ScriptedClient(["no code"])
    parent = Sample(SOFTMAX, Evaluation(SOFTMAX.digest, status))
    LLMMutation(ingredients=ingredients).propose([parent], triton_brief(client), np.random.default_rng(seed))
    return client


def words(client: ScriptedClient) -> str:
    return client.requests[0].messages[1].content


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)
def test_several_changes_fit_every_shipped_kernel(seed: Path) -> None:
    found = fitting(seed.read_text(), "triton")
    assert (True, True) == (len(set(found)) == len(found), len(found) >= 6)


def test_every_change_fits_some_kernel_and_says_so_with_its_numbers() -> None:
    sources = [path.read_text() for path in SEEDS]
    for pattern, text in changes("triton"):
        places = [place for source in sources if (place := pattern.search(source))]
        assert places, pattern.pattern
        assert all("\\" not in place.expand(text) for place in places)


def test_a_change_that_is_made_is_not_suggested_again() -> None:
    made = SOFTMAX.source.replace("BLOCK=128", "BLOCK=512")
    before, after = (fitting(source, "triton") for source in (SOFTMAX.source, made))
    assert (True, False) == tuple(any("BLOCK=512 in place" in each for each in found) for found in (before, after))


def test_requests_differ_in_what_they_suggest() -> None:
    told = {words(asked(seed, suggestion=True)).split("with this one change:")[1] for seed in range(20)}
    assert 5 < len(told)


@pytest.mark.parametrize(
    ("status", "ingredients"),
    [
        (Status.OK, {}),
        (Status.WRONG_VALUE, {"suggestion": True}),
        (Status.OK, {"suggestion": True, "source": False}),
    ],
)
def test_the_instruction_stands_where_nothing_is_suggested(status: Status, ingredients: dict) -> None:
    client = asked(3, status, **ingredients)
    seed = int(np.random.default_rng(3).integers(2**31))
    assert (False, seed) == ("with this one change" in words(client), client.requests[0].seed)


def test_where_nothing_fits_the_instruction_stands() -> None:
    client = ScriptedClient(["no code"])
    operator = LLMMutation(ingredients={"suggestion": True})
    operator.propose([timed()], cpp_brief(client=client), np.random.default_rng(0))
    assert "Make the kernel faster. Find what costs" in words(client)
    assert (
        ""
        == suggestion("int x;", "triton", np.random.default_rng(0))
        == suggestion("x", "cpp", np.random.default_rng())
    )


def test_advice_ships_for_triton() -> None:
    assert "use only names of this list" in words(asked(0, advice=True))
