import numpy as np
import pytest

from fitness import Calibration, Measurement
from fitness.plausibility import check_idleness, check_roofline
from fitness.pool import Pool
from fitness.series import Precision, Series
from fitness.session import Failed
from fitness.statistics import bootstrap_medians, ratio_interval
from fitness.timing import Stopwatch, _work_ahead_ns
from small_task import Twice


def rng():
    return np.random.default_rng(7)


def series(candidate_s, baseline_s, calls=1):
    wall = np.array([candidate_s, baseline_s])
    return Series("time-20000", wall, wall, calls, 0)


def test_the_median_of_one_value_is_that_value():
    assert np.all(bootstrap_medians(np.array([3.0]), rng(), 5) == 3.0)


def test_resampled_medians_agree_with_numpy():
    values, n = rng().standard_normal(8), 6
    drawn = values[np.random.default_rng(7).integers(0, 8, (n, 8))]
    assert bootstrap_medians(values, np.random.default_rng(7), n) == pytest.approx(np.median(drawn, axis=1))


def test_the_interval_holds_the_median():
    middle, (low, high) = ratio_interval([rng().normal(1.1, 0.05, 21)], rng())
    assert low <= middle <= high


def test_the_interval_covers_the_truth_as_often_as_it_says():
    draws = [np.random.default_rng(seed).normal(1.1, 0.02, 25) for seed in range(200)]
    covered = [low <= 1.1 <= high for _, (low, high) in (ratio_interval([each], rng()) for each in draws)]
    assert 0.88 <= np.mean(covered) <= 1.0


def test_workloads_are_averaged_geometrically():
    middle, _ = ratio_interval([np.full(5, 4.0), np.full(5, 1.0)], rng())
    assert middle == pytest.approx(2.0)


def test_drift_common_to_both_sides_cancels():
    drift = np.linspace(1.0, 3.0, 11)
    assert series(drift, 1.5 * drift).measurement(rng(), None).speedup == pytest.approx(1.5)


def test_latency_stands_on_the_calibrated_scale():
    measurement = series([1e-3] * 4, [2e-3] * 4).measurement(rng(), 500.0)
    assert (250.0, 500.0) == (measurement.latency_us, measurement.reference_latency_us)


def test_cpu_time_is_told_of_what_runs_on_a_cpu():
    wall = np.full((2, 4), 1e-3)
    threaded, elsewhere = (Series("time-20000", wall, cpu, 1, 0) for cpu in (3 * wall, None))

    assert (pytest.approx(3.0), None) == (
        threaded.measurement(rng(), None).cpu_ratio,
        elsewhere.measurement(rng(), None).cpu_ratio,
    )


def measured(latency_us):
    return Measurement("time-20000", (latency_us,), (1.0,), latency_us, 1.0, 1.0 / latency_us, (0.1, 2.0))


def test_a_time_below_what_the_bytes_take_is_suspect():
    calibration = Calibration({}, 0.01, bytes_per_s=1e11, flops_per_s=1e12)
    with pytest.raises(Failed, match="suspect"):
        check_roofline(Twice(), [measured(0.5)], calibration)


def test_a_time_above_the_bound_passes():
    check_roofline(Twice(), [measured(2.0)], Calibration({}, 0.01, bytes_per_s=1e11, flops_per_s=1e12))


def test_without_peaks_nothing_is_suspect():
    check_roofline(Twice(), [measured(1e-6)], Calibration({}, 0.01))


def idle(*idle_s, busy_s=1e-3, trips=2):
    """Has the check look at samples, of which each was idle for so long."""
    check_idleness(np.array(idle_s), np.full(len(idle_s), busy_s), trips)


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 60])
def test_work_between_the_calls_is_suspect(samples):
    with pytest.raises(Failed, match="suspect"):
        idle(*[5e-4] * samples)


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 60])
def test_what_a_system_call_takes_is_not(samples):
    idle(*[1e-5] * samples)


def test_an_interruption_is_not_work():
    """Seen on a busy machine: 1.3 ms of an honest kernel, beside 3.35 ms of calls."""
    idle(4e-6, 1.3e-3, 4e-6, 4e-6)


def test_work_in_more_than_a_tenth_of_the_samples_is_suspect():
    idle(*[3e-3] * 2, *[4e-6] * 18)
    with pytest.raises(Failed, match="suspect"):
        idle(*[3e-3] * 3, *[4e-6] * 17)


@pytest.fixture
def watch(monkeypatch):
    """A stopwatch whose blocks are queued: of each pair, how long the candidate was idle before."""
    made = Stopwatch.__new__(Stopwatch)
    made._task, made._precision, made._sides, made._threads = Twice(), Precision(max_pairs=20), (), 2
    made.queued = []
    monkeypatch.setattr(made, "_warm_up", lambda *_: 1e-3)

    def block(plan, pool, trips, pairs, deadline):
        idle_s = np.array([made.queued.pop(0) for _ in range(pairs)])
        return np.array([[np.full(pairs, 1e-3)] * 2] * 2 + [[idle_s] * 2, [np.full(pairs, 1e-3)] * 2]), 0, deadline

    monkeypatch.setattr(made, "_block", block)
    return made


def test_what_is_left_out_of_all_workloads_is_not_left_out_of_one(watch):
    """Else a kernel with many workloads could work ahead in most samples of the last."""
    task = Twice()
    pool = Pool.draw(task, task.time_workloads[0], rng())
    for quiet in range(9):
        watch.queued = [4e-6] * 9 + [1e-3 * (quiet % 2)]
        assert 10 == watch.measure(pool, 10.0, rng()).ratios.size
    watch.queued = ([1e-3] * 2 + [4e-6] * 8) * 2
    with pytest.raises(Failed, match="suspect"):
        watch.measure(pool, 10.0, rng())


def test_a_series_that_was_interrupted_is_taken_anew_once(watch):
    task = Twice()
    pool = Pool.draw(task, task.time_workloads[0], rng())
    watch.queued = [1e-3] * 10 + [4e-6] * 10
    series = watch.measure(pool, 10.0, rng())

    assert (10, 10) == (series.ratios.size, series.repeated)


def test_work_ahead_is_a_part_of_the_sample_after_it():
    ahead = _work_ahead_ns(np.array([[8e3, 8e3, 1e6, 8e3], [3e3, 90e3, 3e3, 3e3]]), np.array([[2], [1]]))
    assert ahead.tolist() == [[0, 0, 1e6 - 2 * 3e3, 0], [0, 87e3, 0, 0]]
