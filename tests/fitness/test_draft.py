"""An evaluation under way becomes a record."""

import math

import pytest

from fitness import Kernel, Status
from fitness.draft import Draft
from fitness.session import Failed


@pytest.mark.parametrize(("error", "recorded"), [(0.5, 0.5), (math.inf, None), (math.nan, None), (None, None)])
def test_an_error_that_is_not_finite_is_none(error, recorded):
    draft = Draft(Kernel("", "cpp"))

    assert recorded == draft.evaluation(Status.OK, error).max_rel_error
    assert recorded == draft.failed(Failed(Status.WRONG_VALUE, max_rel_error=error)).max_rel_error


def test_what_was_learned_before_a_failure_is_its_error():
    draft = Draft(Kernel("", "cpp"))
    draft.learn(0.25)

    assert 0.25 == draft.failed(Failed(Status.SUSPECT)).max_rel_error
    assert draft.failed(Failed(Status.CRASHED)).max_rel_error is None
