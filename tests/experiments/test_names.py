"""A stranger's package under one of our import names is found before it is used."""

import sys

import pytest

from experiments import names


def test_our_own_copy_passes():
    names.check_import_names()


def test_a_package_of_another_place_is_refused(monkeypatch, tmp_path):
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "llm", raising=False)

    with pytest.raises(ImportError, match=r"'llm' should be .*; install kernelwright into a fresh environment"):
        names.check_import_names()


def test_another_distribution_that_claims_a_name_is_refused(monkeypatch):
    monkeypatch.setattr(names, "packages_distributions", lambda: {"fitness": ["kernelwright", "fitness-tracker"]})

    with pytest.raises(ImportError, match="also claimed by the distribution fitness-tracker"):
        names.check_import_names()
