"""Configurations that cannot be run are refused before anything is built, in one line that names the key."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pytest
from omegaconf import OmegaConf

from experiments.faults import ConfigError
from experiments.settings import TOP, Bound, check_settings, fits


class Part:
    def __init__(self, size: int, ratio: float = 0.5, names: Sequence[str] = (), mode: Literal["a", "b"] = "a") -> None:
        self.size = size


HERE = f"{__name__}.Part"
SOUND = {
    "seed": 0,
    "mu": 4,
    "lambda_": 8,
    "generations": 2,
    "budget": {"evaluations": None, "seconds": None, "tokens": None},
    "goal": {"speedup": None, "stagnation": None},
    "proposers": 2,
    "duels": True,
    "verify": False,
    "objectives": ["latency_us"],
    "search": {"_target_": HERE, "size": 3},
}


def check(**changes):
    config = OmegaConf.create(SOUND)
    for key, value in changes.items():
        OmegaConf.update(config, key.replace("__", "."), value, force_add=True)
    check_settings(config)


def test_sound_settings_pass():
    check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mu": 0}, "mu: must be a whole number of at least 1, is 0"),
        ({"mu": 2.5}, "mu: must be a whole number of at least 1, is 2.5"),
        ({"mu": "many"}, "mu: must be a whole number of at least 1, is 'many'"),
        ({"mu": True}, "mu: must be a whole number of at least 1, is True"),
        ({"lambda_": 0}, "lambda_: must be a whole number of at least 1, is 0"),
        ({"lambda_": -3}, "lambda_: must be a whole number of at least 1, is -3"),
        ({"seed": -1}, "seed: must be a whole number of at least 0, is -1"),
        ({"seed": None}, "seed: must be a whole number of at least 0, is None"),
        ({"generations": 0}, "generations: must be a whole number of at least 1 or null, is 0"),
        ({"duels": "maybe"}, "duels: must be true or false, is 'maybe'"),
        ({"verify": 3}, "verify: must be true or false, is 3"),
        ({"objectives": "latency_us"}, "objectives: must be a list, is 'latency_us'"),
        ({"budget__seconds": 0}, "budget.seconds: must be a number above 0 or null, is 0"),
        ({"budget__evaluations": "ten"}, "budget.evaluations: must be a whole number of at least 1 or null, is 'ten'"),
        ({"search__sise": 3}, "search.sise: unknown key; did you mean size? choose from mode, names, ratio, size"),
        ({"search__size": "big"}, "search.size: must be a whole number, is 'big'"),
        ({"search__ratio": "big"}, "search.ratio: must be a number, is 'big'"),
        ({"search__names": "abc"}, "search.names: must be a list, is 'abc'"),
        ({"search__mode": "c"}, "search.mode: must be one of a, b, is 'c'"),
    ],
)
def test_unfit_settings_name_the_key_and_what_is_allowed(changes, message):
    with pytest.raises(ConfigError) as caught:
        check(**changes)

    assert message == str(caught.value)


def test_a_run_must_end():
    with pytest.raises(ConfigError, match=r"^generations: nothing ends this run; set one of generations, budget\.ev"):
        check(generations=None)


def test_a_missing_required_key_is_named():
    config = OmegaConf.create({**SOUND, "search": {"_target_": HERE}})

    with pytest.raises(ConfigError, match=r"^search\.size: missing; "):
        check_settings(config)


def test_a_partial_node_may_lack_keys():
    check_settings(OmegaConf.create({**SOUND, "search": {"_target_": HERE, "_partial_": True}}))


def test_an_import_path_that_leads_nowhere_is_named():
    with pytest.raises(ConfigError, match=r"^search\._target_: cannot import 'evolve\.Nothing'"):
        check_settings(OmegaConf.create({**SOUND, "search": {"_target_": "evolve.Nothing"}}))


def test_a_reference_to_nothing_is_named():
    with pytest.raises(ConfigError, match="nope"):
        check_settings(OmegaConf.create({**SOUND, "search": {"_target_": HERE, "size": "${nope}"}}))


@pytest.mark.parametrize("key", TOP)
def test_a_top_level_number_must_be_there(key):
    config = OmegaConf.create(SOUND)
    group, _, name = key.rpartition(".")
    del (config[group] if group else config)[name]

    with pytest.raises(ConfigError, match=rf"^{key}: missing"):
        check_settings(config)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, True),
        (True, float, False),
        (None, int | None, True),
        ("x", int | None, False),
        ([1], tuple[int, ...], True),
        ({"_target_": "x"}, Sequence[int], True),
        ({"a": 1}, Mapping[str, int], True),
        ([1], Mapping[str, int], False),
        ("anything", object, True),
    ],
)
def test_values_are_judged_as_far_as_yaml_can_tell(value, hint, expected):
    assert expected is fits(value, hint)


@pytest.mark.parametrize(("value", "expected"), [(0.0, False), (1e-9, True), (None, False), ("1", False)])
def test_an_open_bound_excludes_its_end(value, expected):
    assert expected is Bound(float, 0, open_below=True).allows(value)
