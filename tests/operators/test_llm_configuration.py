"""Every ablation is configuration: what the YAML says is what the prompt holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

import conf
from llm import ScriptedClient
from operator_samples import cpp_brief, timed
from operators import Memory

GROUP = Path(conf.__file__).parent / "operators"
MODEL = [*sorted(path.stem for path in GROUP.glob("llm*.yaml")), "hybrid"]

MEMORY = Memory(elites=[timed(3.0, "void elite_marker() {}")], notes=["- note_marker"])


def operators(name: str) -> dict:
    nodes = OmegaConf.load(GROUP / f"{name}.yaml")
    return {key: instantiate(node, _convert_="all") for key, node in nodes.items()}


def prompt(name: str, key: str) -> str:
    client = ScriptedClient(["no code"])
    operator = operators(name)[key]
    parents = [timed() for _ in range(operator.arity)]
    operator.propose(parents, cpp_brief(client=client, memory=MEMORY), np.random.default_rng(0))
    return client.requests[-1].messages[1].content


@pytest.mark.parametrize("name", MODEL)
def test_every_operator_proposes(name) -> None:
    for key, operator in operators(name).items():
        client = ScriptedClient(["no code"])
        parents = [timed() for _ in range(operator.arity)]
        proposal = operator.propose(parents, cpp_brief(client=client, memory=MEMORY), np.random.default_rng(0))
        assert (key, operator.name) == (key, proposal.operator)


@pytest.mark.parametrize(
    ("name", "elites", "notes"), [("llm_i1", False, False), ("llm_i1_i3", False, True), ("llm_i1_i2_i3", True, True)]
)
def test_information_of_evoengineer(name, elites, notes) -> None:
    text = prompt(name, "mutate")
    assert (elites, notes) == ("elite_marker" in text, "note_marker" in text)


@pytest.mark.parametrize(
    ("name", "feedback", "profile"), [("llm_g", False, False), ("llm_ge", True, False), ("llm_gep", True, True)]
)
def test_information_of_kernelbench(name, feedback, profile) -> None:
    text = prompt(name, "mutate")
    assert (feedback, profile) == ("times as fast" in text, "GB/s" in text)
