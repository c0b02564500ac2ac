"""Every file of the configuration composes, and everything it names exists and takes what it is given."""

import re
from pathlib import Path

import pytest
import yaml

from experiments.composition import composed
from experiments.settings import check_settings
from experiments.sweep import register_resolvers

CONF = Path(__file__).parent.parent / "conf"
MEMBERS = sorted(
    (str(path.parent.relative_to(CONF)), path.stem) for path in CONF.rglob("*.yaml") if path.parent != CONF
)
NEEDS = {
    "operators": ["llm=server"],
}


@pytest.fixture(autouse=True, scope="module")
def _resolvers():
    register_resolvers()


def overrides(group: str, name: str) -> list[str]:
    """What must be chosen with a member so that the whole makes sense."""
    return [f"{group}={name}", *(each for each in NEEDS.get(group, []) if not each.startswith(f"{group}="))]


@pytest.mark.parametrize(("group", "name"), [each for each in MEMBERS if each[0] not in ("selection",)])
def test_every_member_of_every_group_composes_and_binds(group, name):
    check_settings(composed(overrides(group, name)))


def test_the_defaults_need_nothing_special():
    config = composed([])

    assert ("cpp", "cpu") == (config.language.get("name", "cpp"), config.target.get("name", "cpu"))
    assert not config.get("llm")


@pytest.mark.parametrize(("group", "name"), [each for each in MEMBERS if each[0] != "task"])
def test_every_file_says_what_it_is(group, name):
    assert (CONF / group / f"{name}.yaml").read_text().startswith("#")


@pytest.mark.parametrize(("group", "name"), MEMBERS)
def test_no_file_holds_a_secret(group, name):
    text = (CONF / group / f"{name}.yaml").read_text()
    filled = re.findall(r"^\s*(\w*(?:api_key|password|secret)):[ \t]*(\S+)", text, re.MULTILINE)

    assert [] == [key for key, value in filled if value not in ('""', "null")]


def test_every_task_of_the_library_has_a_file():
    import fitness.tasks

    named = {yaml.safe_load(path.read_text()).get("_target_") for path in (CONF / "task").glob("*.yaml")}
    missing = {name for name in fitness.tasks.__all__ if f"fitness.tasks.{name}" not in named} - {"TensorTask"}

    assert set() == {name for name in missing if hasattr(getattr(fitness.tasks, name), "seed_kernel")}
