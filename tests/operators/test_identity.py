from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitness import Kernel
from fitness.languages import Cpp, Triton
from operators import Brief, Identity


@dataclass(frozen=True)
class Founder:
    kernel: Kernel
    evaluation: object = None


def copy(source: str, seed: int, language=None) -> Kernel:
    brief = Brief(None, None, language or Cpp())
    return Identity().propose([Founder(Kernel(source, "cpp"))], brief, np.random.default_rng(seed)).kernel


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_copy_begins_with_the_source_and_has_another_digest(source):
    kernel = copy(source, 0)

    assert kernel.source.startswith(source)
    assert Kernel(source, "cpp").digest != kernel.digest


def test_a_copy_of_a_copy_is_no_longer():
    once = copy("int x;\n", 0)
    twice = copy(once.source, 1)

    assert len(once.source) == len(twice.source)
    assert once.digest != twice.digest


@pytest.mark.parametrize(("language", "mark"), [(Cpp(), "//"), (Triton(), "#")])
def test_the_label_is_a_comment_of_the_language(language, mark):
    assert copy("x = 1\n", 0, language).source.splitlines()[-1].startswith(f"{mark} renamed copy ")


def test_the_same_generator_gives_the_same_copy():
    assert copy("int x;", 3) == copy("int x;", 3)
