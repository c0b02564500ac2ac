"""Statistics of experiments: small pure functions over arrays, by family.

- `curves`: best-so-far against any cost, and the area under it.
- `censoring`: cost of reaching a target, when some runs do not.
- `suite`: fast_p, means with and without failures, interquartile mean, profiles, optimality gap.
- `bootstrap`: intervals, resampling seeds within tasks.
- `ranks`: rank-sum and signed-rank tests, A12, probability of improvement, smallest possible p.
- `families`: Friedman's test and Holm's correction.
- `power`: seeds that a design needs, effects that it can find.
- `credit`: what each operator is worth.
- `diversity`: distinct kernels, quality-diversity score.

Whatever is random takes a generator. A failure is NaN, never a number that stands for one.
"""

from .bootstrap import (
    Resamples,
    improvement_interval,
    interval,
    mean_difference_interval,
    resample_counts,
    resamples,
    stratified_bootstrap,
)
from .censoring import evaluations_to_target, expected_running_time, kaplan_meier, median_to_target
from .credit import STAGES, gains, operator_credit, stages
from .curves import area_under_curve, best_so_far, step_at
from .diversity import discovery_curve, qd_score
from .families import friedman, holm
from .power import detectable_effect, seeds_needed, simulated_power
from .ranks import a12, magnitude, probability_of_improvement, rank_sum_p, signed_rank_p, smallest_p
from .suite import (
    fast_p,
    fast_p_curve,
    geometric_mean,
    geometric_mean_correct,
    interquartile_mean,
    optimality_gap,
    pass_at_k,
    performance_profile,
)

__all__ = [
    "best_so_far",
    "step_at",
    "area_under_curve",
    "evaluations_to_target",
    "kaplan_meier",
    "median_to_target",
    "expected_running_time",
    "fast_p",
    "fast_p_curve",
    "geometric_mean",
    "geometric_mean_correct",
    "interquartile_mean",
    "optimality_gap",
    "performance_profile",
    "pass_at_k",
    "stratified_bootstrap",
    "mean_difference_interval",
    "improvement_interval",
    "Resamples",
    "resamples",
    "resample_counts",
    "interval",
    "a12",
    "magnitude",
    "probability_of_improvement",
    "rank_sum_p",
    "signed_rank_p",
    "smallest_p",
    "friedman",
    "holm",
    "seeds_needed",
    "detectable_effect",
    "simulated_power",
    "STAGES",
    "stages",
    "gains",
    "operator_credit",
    "discovery_curve",
    "qd_score",
]
