import numpy as np
import pytest

from fitness.compare import judge, same_bits


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
