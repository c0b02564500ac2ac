"""A Gaussian process on a discrete space: which parameters matter, and how sure one can be anywhere.

The covariance of two configurations, in units of the signal variance, is a Matérn-5/2 function of their distance with
a length scale for each parameter (interactions), plus a weighted additive part in which every parameter contributes a
function of its own (main effects, which few observations suffice to learn).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_JITTER = 1e-8
_LEAST_VARIANCE = 1e-10
_ADDITIVE_LENGTH = 0.5
"""Length scale of the additive part, in units of a parameter's whole range; its levels are few, so it is not fitted."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Normal priors on the logarithms of the hyperparameters: they are what keeps a fit on ten points sane.

    Attributes:
        log_length: Mean for a length scale at one dimension; it grows with the square root of the dimensions.
        log_length_std: Standard deviation of it.
        log_noise: Mean for the noise variance, relative to the signal's.
        log_noise_std: Standard deviation of it.
        log_additive: Mean for the variance of the additive part, relative to the other's.
        log_additive_std: Standard deviation of it.
    """

    log_length: float = -1.2
    log_length_std: float = 1.0
    log_noise: float = -5.0
    log_noise_std: float = 1.0
    log_additive: float = -1.0
    log_additive_std: float = 1.0


@dataclass(frozen=True, slots=True)
class Prospect:
    """What is known of some rows before their standard deviations are worked out.

    Attributes:
        mean: ``(num_rows,)``.
        bound: ``(num_rows,)``, which no standard deviation exceeds.
        deviation: Standard deviations of the rows with the given indices.
    """

    mean: FloatArray
    bound: FloatArray
    deviation: Callable[[IntArray], FloatArray]


class GaussianProcess:
    """Regression on rows of levels; hyperparameters stay from fit to fit and start the next one.

    Args:
        tables: For each coordinate group, the coordinates of every level, ``(num_levels, num_coordinates)``.
        columns: For each coordinate group, the column of the levels that it encodes.
        prior: Priors of the hyperparameters.
    """

    def __init__(self, tables: Sequence[FloatArray], columns: Sequence[int], prior: Prior = Prior()) -> None:
        num_groups = len(tables)
        self._tables, self._columns = tuple(tables), tuple(columns)
        self._effects = tuple(_main_effect(table) / np.sqrt(max(num_groups, 1)) for table in tables)
        self._group = np.repeat(np.arange(num_groups), [table.shape[1] for table in tables])
        length = prior.log_length + 0.5 * np.log(max(num_groups, 1))
        self._prior_mean = np.array([length] * num_groups + [prior.log_noise, prior.log_additive])
        self._prior_std = np.array([prior.log_length_std] * num_groups + [prior.log_noise_std, prior.log_additive_std])
        self._hyper = self._prior_mean.copy()
        self._bounds = [(-3.0, 4.0)] * num_groups + [(-9.0, 0.0), (-10.0, 4.0)]

    def fit(self, levels: IntArray, targets: FloatArray, *, iterations: int = 15) -> None:
        """Conditions on observations, after adapting the hyperparameters to them (0 iterations keep them).

        Args:
            levels: ``(num_observations, num_parameters)``.
            targets: ``(num_observations,)``.
            iterations: Steps of L-BFGS-B on the hyperparameters.
        """
        from scipy.linalg import cho_solve
        from scipy.optimize import minimize

        self._coordinates, self._main = self._encode(levels)
        self._mean = float(targets.mean())
        self._targets = targets - self._mean
        if iterations:
            found = minimize(
                self._loss,
                self._hyper,
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                options={"maxiter": iterations},
            )
            self._hyper = found.x
        lengths, noise, additive = self._unpack(self._hyper)
        self._scaled = self._coordinates / lengths
        covariance = _matern(_squared_distances(self._scaled, self._scaled))
        covariance += additive * (self._main @ self._main.T)
        self._largest_variance = float(np.diag(covariance).max()) + noise + _JITTER
        self._factor = _cholesky(covariance, noise)
        self._weights = cho_solve((self._factor, True), self._targets, check_finite=False)
        self._variance = max(float(self._targets @ self._weights) / len(targets), 1e-6)

    def predict(self, levels: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the noiseless function, both ``(num_rows,)``."""
        cross, prior_variance = self._cross(levels)
        return self._mean + cross @ self._weights, self._deviation(cross, prior_variance)

    def predict_mean(self, levels: IntArray) -> FloatArray:
        """The mean alone, ``(num_rows,)``, which costs far less."""
        cross, _ = self._cross(levels)
        mean: FloatArray = self._mean + cross @ self._weights
        return mean

    def look(self, levels: IntArray) -> Prospect:
        """The means, and standard deviations for whom they are asked: these are what costs most."""
        cross, prior_variance = self._cross(levels)
        # One observation alone explains so much; all together explain no less.
        explained = np.max(cross, axis=1) ** 2 / self._largest_variance
        bound = np.sqrt(np.maximum(prior_variance - explained, _LEAST_VARIANCE) * self._variance)
        mean = self._mean + cross @ self._weights
        return Prospect(mean, bound, lambda rows: self._deviation(cross[rows], prior_variance[rows]))

    def _cross(self, levels: IntArray) -> tuple[FloatArray, FloatArray]:
        """Covariance of rows with the observations, and of each row with itself, before the noise."""
        coordinates, main = self._encode(levels)
        lengths, _, additive = self._unpack(self._hyper)
        cross = _matern(_squared_distances(coordinates / lengths, self._scaled))
        cross += (additive * main) @ self._main.T
        return cross, 1.0 + additive * np.einsum("ij,ij->i", main, main)

    def _deviation(self, cross: FloatArray, prior_variance: FloatArray) -> FloatArray:
        from scipy.linalg import solve_triangular

        explained = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        left = np.maximum(prior_variance - np.einsum("ij,ij->j", explained, explained), _LEAST_VARIANCE)
        deviation: FloatArray = np.sqrt(left * self._variance)
        return deviation

    def _encode(self, levels: IntArray) -> tuple[FloatArray, FloatArray]:
        start = np.empty((len(levels), 0))
        places = list(zip(self._columns, self._tables, self._effects, strict=True))
        coordinates = np.concatenate([start, *(table[levels[:, i]] for i, table, _ in places)], axis=1)
        return coordinates, np.concatenate([start, *(effect[levels[:, i]] for i, _, effect in places)], axis=1)

    def _unpack(self, hyper: FloatArray) -> tuple[FloatArray, float, float]:
        values = np.exp(hyper)
        return values[:-2][self._group], float(values[-2]), float(values[-1])

    def _loss(self, hyper: FloatArray) -> tuple[float, FloatArray]:
        """Negative log posterior of the hyperparameters, signal variance profiled out, and its gradient."""
        from scipy.linalg import cho_solve, lapack

        lengths, noise, additive = self._unpack(hyper)
        scaled, count = self._coordinates / lengths, len(self._targets)
        covariance, slope = _matern_with_slope(_squared_distances(scaled, scaled))
        covariance += additive * (self._main @ self._main.T)
        factor = _cholesky(covariance, noise)
        weights = cho_solve((factor, True), self._targets, check_finite=False)
        variance = max(float(self._targets @ weights) / count, 1e-6)
        lower = np.tril(lapack.dpotri(factor, lower=1)[0])
        inverse = lower + np.tril(lower, -1).T
        outer = 0.5 * (inverse - np.outer(weights, weights) / variance)
        deviation = (hyper - self._prior_mean) / self._prior_std
        loss = 0.5 * count * np.log(variance) + np.log(np.diag(factor)).sum() + 0.5 * float(deviation @ deviation)
        pull = outer * slope
        by_column = 2.0 * (pull.sum(axis=1) @ scaled**2 - np.einsum("ij,ij->j", scaled, pull @ scaled))
        gradient = deviation / self._prior_std
        gradient[:-2] += np.bincount(self._group, weights=by_column, minlength=len(hyper) - 2)
        gradient[-2] += noise * np.trace(outer)
        gradient[-1] += additive * np.einsum("ij,ij->", self._main, outer @ self._main)
        return float(loss), gradient


def _matern(squared: FloatArray) -> FloatArray:
    """Matérn-5/2 of squared distances, in few passes over what is the largest array of a step."""
    distance = np.sqrt(squared)
    distance *= np.sqrt(5.0)
    covariance = squared * (5.0 / 3.0)
    covariance += distance
    covariance += 1.0
    np.negative(distance, out=distance)
    covariance *= np.exp(distance, out=distance)
    return covariance


def _matern_with_slope(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Matérn-5/2 of squared distances, and minus twice its derivative by them."""
    distance = np.sqrt(5.0 * squared)
    decay = np.exp(-distance)
    slope = (1.0 + distance) * decay
    return slope + (5.0 / 3.0) * squared * decay, (5.0 / 3.0) * slope


def _squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    distances: FloatArray = a @ (-2.0 * b.T)
    distances += np.einsum("ij,ij->i", a, a)[:, None]
    distances += np.einsum("ij,ij->i", b, b)[None, :]
    return np.maximum(distances, 0.0, out=distances)


def _cholesky(covariance: FloatArray, noise: float) -> FloatArray:
    """Lower factor with the noise added; the jitter grows until the matrix is numerically positive definite."""
    from scipy.linalg import LinAlgError, cholesky

    identity, jitter = np.eye(len(covariance)), _JITTER
    while True:
        try:
            factor: FloatArray = cholesky(covariance + (noise + jitter) * identity, lower=True, check_finite=False)
            return factor
        except LinAlgError:
            jitter *= 10.0
            if jitter > 1.0:
                raise


def _main_effect(table: FloatArray) -> FloatArray:
    """Features of each level whose inner products are a centred Matérn covariance of mean variance 1."""
    covariance = _matern(_squared_distances(table, table) / _ADDITIVE_LENGTH**2)
    centre = np.eye(len(table)) - 1.0 / len(table)
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    kept = values > 1e-6 * values.max()
    features = vectors[:, kept] * np.sqrt(values[kept])
    scaled: FloatArray = features / np.sqrt(np.einsum("ij,ij->i", features, features).mean())
    return scaled
