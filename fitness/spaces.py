"""Recorded tuning spaces: every configuration of a kernel, measured once, so that a search can be studied by look-up.

The files are Kernel Tuner's cache files (``.json`` or ``.json.gz``), as published by the FAIR Benchmark Hub for
Auto-Tuning. What a search may be compared with is calculated here too, and exactly: the best of ``n`` draws without
replacement has a known distribution, so random search needs no repeats.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import TaskError

Configuration = tuple[Any, ...]
FloatArray = npt.NDArray[np.float64]

_FAILED_TIME = 1e20
"""Older versions of Kernel Tuner wrote this number, not a word, as the time of a failed configuration."""


@dataclass(frozen=True, slots=True)
class Space:
    """A fully measured tuning space; configurations are tuples of values in the order of ``parameters``.

    Attributes:
        name: The file's name without its endings.
        kernel: Name of the kernel that was tuned.
        device: Name of the device; some recordings leave it empty.
        parameters: Each parameter's values in the file's order; a parameter with one value is a constant.
        configurations: All that meet the restrictions, failing ones included.
        times_ms: ``(num_configurations,)`` mean times, NaN where the configuration failed.
        samples_ms: The single measurements behind each time; empty where the configuration failed.
        failures: The recorded word of every failed configuration, e.g. ``"RuntimeFailedConfig"``.
    """

    name: str
    kernel: str
    device: str
    parameters: Mapping[str, tuple[Any, ...]]
    configurations: tuple[Configuration, ...]
    times_ms: FloatArray = field(repr=False, compare=False)
    samples_ms: tuple[tuple[float, ...], ...] = field(repr=False)
    failures: Mapping[Configuration, str] = field(repr=False)
    _positions: Mapping[Configuration, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positions = {configuration: i for i, configuration in enumerate(self.configurations)}
        if len(positions) != len(self.configurations):
            raise TaskError(f"{self.name}: a configuration is recorded twice")
        if not np.isfinite(self.times_ms).any():
            raise TaskError(f"{self.name}: no configuration has a valid time")
        object.__setattr__(self, "_positions", positions)

    @classmethod
    def read(cls, path: Path | str) -> Space:
        """Reads a cache file of Kernel Tuner.

        Raises:
            TaskError: The file is missing, damaged, or no complete cache file.
        """
        path = Path(path)
        content = _read_json(path)
        try:
            return _space(path.name.removesuffix(".gz").removesuffix(".json"), content)
        except TaskError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            # A KeyError's text is only the key, so the kind of the fault is said too.
            raise TaskError(f"{path}: not a cache file of Kernel Tuner ({type(error).__name__}: {error})") from error

    def __len__(self) -> int:
        return len(self.configurations)

    def __contains__(self, configuration: Sequence[Any]) -> bool:
        return tuple(configuration) in self._positions

    def position(self, configuration: Sequence[Any]) -> int:
        """Index of a configuration in ``configurations``, ``times_ms`` and ``samples_ms``.

        Raises:
            KeyError: The configuration is not in the file, so it does not exist.
        """
        return self._positions[tuple(configuration)]

    def time_ms(self, configuration: Sequence[Any]) -> float | None:
        """Recorded mean time, or None when the configuration failed.

        Raises:
            KeyError: The configuration is not in the file, so it does not exist.
        """
        time = float(self.times_ms[self.position(configuration)])
        return None if math.isnan(time) else time

    @property
    def optimum_ms(self) -> float:
        """The smallest recorded time."""
        return float(np.nanmin(self.times_ms))


def best_of_random(times: npt.ArrayLike, num_draws: int) -> tuple[FloatArray, FloatArray]:
    """Exact distribution of the best time after ``num_draws`` draws without replacement.

    The k-th smallest of N times is the best of n draws with probability C(N − k, n − 1) / C(N, n).

    Args:
        times: ``(num_configurations,)``, NaN for failures; a failure takes a draw and is never the best.
        num_draws: At most ``num_configurations``.

    Returns:
        The valid times in ascending order and the probability of each to be the best, both ``(num_valid,)``.
        What the probabilities lack to 1 is the probability that nothing valid was drawn.

    Raises:
        ValueError: ``num_draws`` is not between 1 and the number of configurations, or no time is valid.
    """
    values = np.asarray(times, dtype=np.float64)
    total = values.size
    if not 1 <= num_draws <= total:
        raise ValueError(f"num_draws must be between 1 and {total}, not {num_draws}")
    valid = np.sort(values[np.isfinite(values)])
    if not valid.size:
        raise ValueError("no time is valid")
    ranks = np.arange(1, valid.size, dtype=np.float64)
    # Each probability follows from the one before it; a ratio at or below 0 means that too few are left to draw from.
    ratios = np.maximum(total - ranks - num_draws + 1, 0.0) / (total - ranks)
    return valid, num_draws / total * np.concatenate([[1.0], np.cumprod(ratios)])


def random_search_ms(times: npt.ArrayLike, num_draws: int) -> FloatArray:
    """Expected best time of random search after 1 … ``num_draws`` evaluations; exact, no sampling.

    Until something valid is drawn the search stands at the worst valid time, as in `willemsen_score`.
    """
    return np.array([_random_search_at(times, n) for n in range(1, num_draws + 1)])


def random_search_fraction(times: npt.ArrayLike, num_draws: int) -> FloatArray:
    """Expected fraction of optimum of random search after 1 … ``num_draws`` evaluations; 0 while nothing is valid."""
    fractions = np.zeros(num_draws)
    for n in range(1, num_draws + 1):
        valid, probability = best_of_random(times, n)
        fractions[n - 1] = probability @ (valid[0] / valid)
    return fractions


def cutoff_evaluations(times: npt.ArrayLike, cutoff: float = 0.95) -> int:
    """Evaluations that random search needs for ``cutoff`` of the way from the median time to the optimum.

    This is the budget of Willemsen et al. 2024, in evaluations.

    Raises:
        ValueError: ``cutoff`` is not between 0 and 1.
    """
    if not 0.0 < cutoff < 1.0:
        raise ValueError(f"cutoff must lie between 0 and 1, not {cutoff}")
    values = np.asarray(times, dtype=np.float64)
    optimum, median = float(np.nanmin(values)), float(np.nanmedian(values))
    level = median - cutoff * (median - optimum)
    # Expected best times fall with every draw, so the first one at the level is found by bisection.
    low, high = 1, values.size
    while low < high:
        middle = (low + high) // 2
        if _random_search_at(values, middle) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def willemsen_score(best_ms: npt.ArrayLike, times: npt.ArrayLike) -> FloatArray:
    """Score of a search against calculated random search, P = (baseline − best) / (baseline − optimum).

    1 is the optimum, 0 is as good as random search, below 0 is worse. The mean over 1 … budget is the score of a run
    (Willemsen et al. 2024, https://doi.org/10.1016/j.future.2024.05.044).

    Args:
        best_ms: ``(..., budget)`` best time after each evaluation. NaN or inf, before a first valid one, counts as the
            worst valid time, for the baseline too.
        times: ``(num_configurations,)`` of the whole space, NaN for failures.

    Returns:
        An array of ``best_ms``'s shape. Where the baseline has reached the optimum itself the score is 1 for a search
        that has too, otherwise minus infinity.
    """
    best = np.asarray(best_ms, dtype=np.float64)
    baseline = random_search_ms(times, best.shape[-1])
    optimum, worst = float(np.nanmin(times)), float(np.nanmax(times))
    gain = baseline - np.where(np.isfinite(best), best, worst)
    room = np.broadcast_to(baseline - optimum, gain.shape)
    at_optimum = np.where(gain >= 0.0, 1.0, -np.inf)
    return np.divide(gain, room, out=at_optimum, where=room > 0.0)


def _random_search_at(times: npt.ArrayLike, num_draws: int) -> float:
    valid, probability = best_of_random(times, num_draws)
    return float(probability @ valid + (1.0 - probability.sum()) * valid[-1])


def _read_json(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        content = json.loads(text)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise TaskError(f"{path}: damaged gzip data ({error})") from error
    except ValueError as error:
        raise TaskError(f"{path}: not JSON, or cut short ({error})") from error
    if not isinstance(content, dict):
        raise TaskError(f"{path}: not a cache file of Kernel Tuner (a JSON {type(content).__name__})")
    return content


def _space(name: str, content: Mapping[str, Any]) -> Space:
    keys: list[str] = list(content["tune_params_keys"])
    parameters = {key: tuple(content["tune_params"][key]) for key in keys}
    configurations, times, samples = [], [], []
    failures: dict[Configuration, str] = {}
    for entry in content["cache"].values():
        configuration = tuple(entry[key] for key in keys)
        for key, value in zip(keys, configuration, strict=True):
            if value not in parameters[key]:
                raise TaskError(f"{name}: {key}={value!r} is not among the values of tune_params")
        time = _valid_time(entry["time"])
        if math.isnan(time):
            failures[configuration] = str(entry["time"])
        configurations.append(configuration)
        times.append(time)
        samples.append(() if math.isnan(time) else tuple(float(sample) for sample in entry.get("times", ())))
    return Space(
        name=name,
        kernel=str(content.get("kernel_name", "")),
        device=str(content.get("device_name", "")),
        parameters=parameters,
        configurations=tuple(configurations),
        times_ms=np.array(times, dtype=np.float64),
        samples_ms=tuple(samples),
        failures=failures,
    )


def _valid_time(recorded: object) -> float:
    """The time, or NaN for a word and for the numbers that stand for a failure."""
    if isinstance(recorded, bool) or not isinstance(recorded, int | float):
        return math.nan
    return float(recorded) if 0.0 < recorded < _FAILED_TIME else math.nan
