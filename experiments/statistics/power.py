"""What a design can find, before and after it was run."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from .ranks import LARGE_SAMPLE


def seeds_needed(effect: float, *, alpha: float = 0.05, power: float = 0.8, num_tasks: int = 1) -> int:
    """Returns the runs of each arm and task that a rank-sum test needs to find an effect.

    Noether 1987: ``(z_alpha/2 + z_power)² / (6 (A12 - 1/2)²)`` runs of each arm, spread over tasks.

    Args:
        effect: A12, the same on every task.
        alpha: Two-sided level; divide it by the number of comparisons for a cautious plan.
        power: Probability of finding it.
        num_tasks: Tasks of the suite.

    Raises:
        ValueError: The effect is 0.5, which no number of seeds can find, or outside [0, 1].
    """
    from scipy.stats import norm

    if not 0 <= effect <= 1 or effect == 0.5:
        raise ValueError(f"an effect to be found is an A12 other than 0.5, is {effect}")
    quantiles = float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
    return max(2, ceil(quantiles**2 / (6 * (effect - 0.5) ** 2) / num_tasks))


def detectable_effect(num_seeds: int, *, alpha: float = 0.05, power: float = 0.8, num_tasks: int = 1) -> float:
    """Returns the smallest A12 above 0.5 that a design finds with the given power; at most 1.

    The inverse of `seeds_needed`.
    """
    from scipy.stats import norm

    quantiles = float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
    return min(1.0, 0.5 + quantiles / sqrt(6 * num_seeds * num_tasks))


def shift_of(effect: float) -> float:
    """Returns the distance of two unit normals, in standard deviations, whose A12 is ``effect``."""
    from scipy.stats import norm

    return float(sqrt(2) * norm.ppf(effect))


def simulated_power(
    effect: float,
    num_seeds: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    simulations: int = 2000,
) -> float:
    """Returns how often a Mann–Whitney test finds a normal shift of size ``effect``.

    Args:
        effect: A12.
        num_seeds: Runs of each arm.
        rng: Source of the simulations.
        alpha: Two-sided level.
        simulations: How many.
    """
    from scipy.stats import mannwhitneyu

    x = rng.normal(shift_of(effect), 1.0, size=(simulations, num_seeds))
    y = rng.normal(0.0, 1.0, size=(simulations, num_seeds))
    method = "asymptotic" if num_seeds >= LARGE_SAMPLE else "exact"
    return float(np.mean(mannwhitneyu(x, y, axis=1, method=method).pvalue < alpha))
