import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fitness.compare import Verdict, errors, judge, largest_finite, same_bits


def verdict(found, wanted, tolerance=0.0):
    found, wanted = np.asarray(found), np.asarray(wanted)
    return judge({"y": found}, {"y": wanted}, {"y": np.asarray(tolerance)})


def test_every_element_within_tolerance_is_right():
    assert verdict(np.float32([1.0, 2.0]), [1.05, 1.95], 0.1).is_right


def test_one_element_outside_is_wrong():
    assert not verdict(np.float32([1.0, 2.0]), [1.0, 2.2], 0.1).is_right


def test_the_reason_names_the_worst_element():
    reason = verdict(np.float32([[1.0, 2.0], [3.0, 9.0]]), [[1.0, 2.5], [3.0, 4.0]], 0.1).reason
    assert reason == "y[1, 1] is 9, expected 4; 2 of 4 elements are wrong"


@pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_no_wildcard(stray):
    assert not verdict(np.float32([stray]), [1.0], np.inf if np.isnan(stray) else 1e30).is_right


def test_the_same_infinity_is_right():
    assert verdict(np.float32([np.inf]), [np.inf]).is_right


def test_an_expected_nan_matches_a_nan_only():
    assert (True, False) == (
        verdict(np.float32([np.nan]), [np.nan]).is_right,
        verdict(np.float32([0]), [np.nan]).is_right,
    )


def test_a_nan_in_the_tolerance_lets_nothing_pass():
    assert not verdict(np.float32([1.0]), [1.0], np.nan).is_right


def test_large_integers_are_compared_exactly():
    assert not verdict(np.int64([2**62 + 1]), np.int64([2**62])).is_right


def test_no_element_is_right():
    assert verdict(np.float32([]), np.float64([])).is_right


def test_shapes_are_never_broadcast():
    with pytest.raises(ValueError, match="shape"):
        verdict(np.float32([1.0]), [[1.0, 1.0]])


def test_the_error_is_relative_to_the_largest_magnitude():
    assert verdict(np.float64([1.0, 100.5]), [1.0, 100.0], 1.0).max_rel_error == pytest.approx(0.005)


def test_zeros_of_other_signs_are_other_bits():
    assert not same_bits({"y": np.float32([0.0])}, {"y": np.float32([-0.0])})


# ---- by parts and at once ----------------------------------------------------------------------------------


def judged_at_once(found, wanted, tolerance):
    """What `judge` says, computed of whole arrays."""
    if not wanted.size:
        return Verdict(True, 0.0)
    error = errors(found, wanted)
    worst = float(error.max()) / (largest_finite(wanted) or 1.0)
    bad = np.broadcast_to(~(error <= tolerance) | ~np.isfinite(error), wanted.shape)
    if not bad.any():
        return Verdict(True, worst)
    at = np.unravel_index(int(np.argmax(np.where(bad, error, -1.0))), found.shape)
    place = ", ".join(map(str, at))
    verb = "is" if bad.sum() == 1 else "are"
    told = f"y[{place}] is {found[at]:.9g}, expected {wanted[at]:.9g}; {bad.sum()} of {bad.size} elements {verb} wrong"
    return Verdict(False, worst, told)


NUMBERS = {
    "f": st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.05, 3.0, 6e4, np.nan, np.inf, -np.inf]),
    "i": st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31)]),
}


@st.composite
def outputs(draw):
    """An output, what is expected, and a tolerance that is broadcast to it."""
    dtype = np.dtype(draw(st.sampled_from(["float16", "float32", "float64", "int32", "int64"])))
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    wanted = draw(arrays.arrays(np.float64 if dtype.kind == "f" else np.int64, shape, elements=NUMBERS[dtype.kind]))
    other = draw(arrays.arrays(np.float64 if dtype.kind == "f" else np.int64, shape, elements=NUMBERS[dtype.kind]))
    is_wrong = draw(arrays.arrays(bool, shape, elements=st.integers(0, 9).map(lambda each: each == 0)))
    found = np.where(is_wrong, other, wanted).astype(dtype)
    sides = tuple(draw(st.sampled_from([1, side])) for side in shape)[draw(st.integers(0, len(shape))) :]
    limits = st.sampled_from([0.0, 0.06, 5.0, np.inf, np.nan])
    return found, wanted, draw(arrays.arrays(np.float64, sides, elements=limits))


@given(outputs(), st.sampled_from([1, 2, 7, 1 << 15]))
def test_parts_are_judged_as_the_whole(drawn, part):
    found, wanted, tolerance = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fitness.compare._PART", part)
        by_parts = verdict(found, wanted, tolerance)

    assert judged_at_once(found, wanted, tolerance) == by_parts


@pytest.mark.parametrize("at", [(0, 0), (16, 1023), (32, 0), (99, 1023)])
def test_one_wrong_element_of_many_parts_is_found(at):
    wanted = np.ones((100, 1024))
    found = wanted.astype(np.float32)
    found[at] = 2.0

    assert f"y[{at[0]}, {at[1]}] is 2, expected 1; 1 of 102400 elements is wrong" == verdict(found, wanted, 0.5).reason
