"""The code that stands in the README runs, and what it links to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = ["README.md", "CONTRIBUTING.md", "DECISIONS.md", "CHANGELOG.md"]


def test_the_library_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile("\n".join(blocks), "README.md", "exec"), {"__name__": "readme"})

    assert "re-verified: " in capsys.readouterr().out


def test_the_library_example_is_short():
    first = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)

    assert 60 >= len(first.splitlines())


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?://)([^)#]+)", (ROOT / page).read_text())

    assert [] == [link for link in links if not (ROOT / link).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_module_that_is_named_exists(page):
    names = set(re.findall(r"python -m experiments\.([\w.]+)", (ROOT / page).read_text()))

    assert set() == {
        name
        for name in names
        if not (ROOT / "experiments" / f"{name.replace('.', '/')}.py").exists()
        and not (ROOT / "experiments" / name.replace(".", "/")).is_dir()
    }


def test_every_list_of_a_test_that_a_recipe_names_is_there():
    named = re.findall(r"`([A-Z]+)`\s+in\s+`(tests/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text())

    assert len(named) >= 6
    assert [] == [each for each in named if not re.search(rf"^{each[0]}\b.* = ", (ROOT / each[1]).read_text(), re.M)]


def test_every_make_target_that_is_named_exists():
    named = set(re.findall(r"`make ([a-z-]+)`", README)) | set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set() == named - targets
