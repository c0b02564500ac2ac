import os

import pytest

from fitness.targets import Cpu


def test_one_thread_is_the_default():
    assert Cpu().environment(0)["OMP_NUM_THREADS"] == "1"


def test_openmp_never_waits_actively():
    assert Cpu().environment(0)["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize("threads", [0, len(os.sched_getaffinity(0)) + 1])
def test_threads_that_are_not_there_are_refused(threads):
    with pytest.raises(ValueError, match="threads"):
        Cpu(threads=threads)


def test_the_description_is_text():
    assert {str} == {type(value) for value in Cpu().describe().values()}


def test_the_moment_has_a_load_average():
    assert Cpu().momentary()["load_average"] >= 0.0
