from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from evolve import Journal
from experiments.faults import ConfigError
from experiments.model import TimedInTurns, enter_client, hardware, timing_gpus
from fitness.targets import Cpu
from llm import Arm, Completion, Ensemble, Message, Request, ScriptedClient, ServerClient, Turns, VLLMServer


class Served:
    """A client with a server on GPU 0."""

    def __init__(self, turns: bool = False) -> None:
        self.gpus = (0,)
        self.turns = turns
        self.told: list[object] = []

    def __enter__(self) -> Served:  # noqa: PYI034 - a double
        self.told.append("enter")
        return self

    def __exit__(self, *exc: object) -> None:
        self.told.append("exit")

    def place(self, directory: Path, tell) -> None:
        self.told.append(directory)

    def complete(self, request: Request) -> Completion:
        return Completion("x")


GPU = SimpleNamespace(environment=lambda device: {"CUDA_VISIBLE_DEVICES": str(device)})


def test_a_cpu_times_on_no_gpu() -> None:
    assert () == timing_gpus(Cpu(), OmegaConf.create({"devices": [0, 1]}))


def test_a_gpu_target_times_on_the_executors_devices() -> None:
    assert (1, 2) == timing_gpus(GPU, OmegaConf.create({"devices": [1, 2]}))


def test_a_single_device_counts_too() -> None:
    assert (3,) == timing_gpus(GPU, OmegaConf.create({"device": 3}))


def test_a_server_is_entered_and_placed_and_left(tmp_path: Path) -> None:
    served = Served()
    with ExitStack() as stack:
        enter_client(served, stack, tmp_path, timing=())
    assert ["enter", tmp_path, "exit"] == served.told


def test_one_gpu_for_both_is_refused_before_anything_starts(tmp_path: Path) -> None:
    served = Served()
    with ExitStack() as stack, pytest.raises(ConfigError, match=r"llm: GPU 0 would serve the model.*llm.turns=true"):
        enter_client(served, stack, tmp_path, timing=(0,))
    assert [] == served.told


def test_one_gpu_for_both_takes_turns_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        client, turns = enter_client(Served(turns=True), stack, tmp_path, timing=(0,))
    assert turns is not None
    assert "x" == client.complete(Request((Message("user", "a"),))).text
    assert "model and timing take turns on GPU 0" in capsys.readouterr().err


@pytest.mark.parametrize("was_there", [True, False])
def test_who_computes_there_already_is_a_server_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], was_there: bool
) -> None:
    served, asked = Served(turns=True), []
    served.was_there = was_there
    with ExitStack() as stack:
        enter_client(served, stack, tmp_path, timing=(0,), expect_others=lambda: asked.append(1) or (7, 8))

    assert was_there == ("process 7, 8 computes there already" in capsys.readouterr().err) == bool(asked)


def test_which_servers_are_there_without_the_run() -> None:
    asked = ServerClient("http://127.0.0.1:9/v1", turns=True)
    assert asked.was_there
    assert Ensemble([Arm("a", asked)]).was_there
    assert not getattr(VLLMServer("a_model"), "was_there", False)


def test_a_client_without_a_server_is_left_alone(tmp_path: Path) -> None:
    client = ScriptedClient(["x"])
    with ExitStack() as stack:
        assert (client, None) == enter_client(client, stack, tmp_path, timing=(0,))


def test_an_evaluation_holds_its_turn() -> None:
    turns = Turns()
    seen = []
    judge = SimpleNamespace(key="k", calibrate=lambda device: seen.append((device, turns._turn, turns._inside)))
    TimedInTurns(judge, turns).calibrate(device=2)
    assert [(2, "timing", 1)] == seen


def test_taking_turns_does_not_change_the_evaluators_key() -> None:
    assert "k" == TimedInTurns(SimpleNamespace(key="k"), Turns()).key


def test_facts_for_prompts_come_from_the_record(tmp_path: Path) -> None:
    def elsewhere(facts: dict[str, str]):
        return SimpleNamespace(name="cpu", describe=lambda: facts)

    with Journal(tmp_path / "journal.jsonl") as journal:
        first = hardware(elsewhere({"processors": "2", "fingerprint": "abc"}), journal)
    with Journal(tmp_path / "journal.jsonl", strict=True) as journal:
        again = hardware(elsewhere({"processors": "64"}), journal)
    assert ({"processors": "2"}, first) == (first, again)
