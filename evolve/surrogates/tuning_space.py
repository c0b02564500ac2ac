"""A discrete space of tuning parameters, as a search sees it: what exists, what is near what, how it is encoded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Configuration = tuple[Any, ...]
Levels = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]

_ENUMERABLE = 200_000
"""A product of values up to this size is filtered once by the predicate, and searched as a list from then on."""

_TABULATED = 4_000_000
"""A product of values up to this size gets a table that says where each combination is in the list."""

_REJECTIONS = 50
"""Batches of random configurations that are tried before a constrained space counts as having nothing to offer."""


class TuningSpace:
    """Parameters with ordered values, and which combinations of them exist.

    Inside, a configuration is a row of *levels*: the index of each parameter's value.

    Args:
        parameters: The values of each parameter, in their natural order. Numbers keep their order and their spacing
            in the encoding; anything else is a category.
        configurations: All that exist, as tuples in the order of ``parameters``.
        levels: The same as rows of levels, ``(num_configurations, num_parameters)``, which a large space is read
            from sooner.
        is_valid: Instead of either: whether a combination, given by name, exists. Must be a pure function.

    Attributes:
        names: The parameters' names.
        values: Each parameter's values.
        num_levels: ``(num_parameters,)`` how many values each has.
        free: Columns of the parameters that have more than one value.
        tables: For a model: coordinates of every level, ``(num_levels, num_coordinates)``, one or two for each free
            parameter.
        columns: The column that each of ``tables`` belongs to.

    Raises:
        ValueError: The restrictions contradict each other or the parameters, or nothing exists.
    """

    def __init__(
        self,
        parameters: Mapping[str, Sequence[Any]],
        *,
        configurations: Iterable[Sequence[Any]] | None = None,
        levels: Levels | None = None,
        is_valid: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        if sum(given is not None for given in (configurations, levels, is_valid)) > 1:
            raise ValueError("give configurations, levels or is_valid, not both")
        self.names = tuple(parameters)
        self.values = tuple(tuple(values) for values in parameters.values())
        if not self.names or not all(self.values):
            raise ValueError("a tuning space needs parameters, and every parameter a value")
        self._level_of = tuple({value: i for i, value in enumerate(values)} for values in self.values)
        if any(len(level_of) != len(values) for level_of, values in zip(self._level_of, self.values, strict=True)):
            raise ValueError("a parameter has the same value twice")
        self.num_levels = np.array([len(values) for values in self.values], dtype=np.int64)
        self.free = np.flatnonzero(self.num_levels > 1)
        self._weights = _key_weights(self.num_levels)
        self._is_valid = is_valid
        self._verdicts: dict[bytes, bool] = {}
        self._places = tuple(_place(self.values[i]) for i in self.free)
        alignments = [(int(i), _alignment(self.values[i])) for i in self.free]
        aligned = [(i, table) for i, table in alignments if table is not None]
        self.columns = (*(int(i) for i in self.free), *(i for i, _ in aligned))
        self.tables = (*self._places, *(table for _, table in aligned))
        self._listed = levels if levels is not None else self._list(configurations)
        if self._listed is not None:
            self._index_listed(self._listed)

    @property
    def size(self) -> int | None:
        """Number of configurations, or None if the space is too large to be listed."""
        return None if self._listed is None else len(self._listed)

    def to_levels(self, configuration: Sequence[Any]) -> Levels:
        """One row of levels.

        Raises:
            ValueError: The configuration is not made of the parameters' values.
        """
        if len(configuration) != len(self.names):
            raise ValueError(f"a configuration of this space has {len(self.names)} values, not {len(configuration)}")
        try:
            pairs = zip(self._level_of, configuration, strict=True)
            return np.array([level_of[value] for level_of, value in pairs], dtype=np.int64)
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is not a value of its parameter") from None

    def to_configuration(self, row: Levels) -> Configuration:
        """The values of one row of levels."""
        return tuple(values[level] for values, level in zip(self.values, row.tolist(), strict=True))

    def keys(self, levels: Levels) -> Keys:
        """One number a row, ``(num_rows,)``, equal for equal rows."""
        keys: Keys = (levels.astype(np.uint64) * self._weights).sum(axis=-1, dtype=np.uint64)
        return keys

    def existing(self, levels: Levels, without: Keys | None = None) -> Levels:
        """The rows that exist, each once, in a fixed order.

        Args:
            levels: ``(num_rows, num_parameters)``.
            without: Keys of rows that are left out.
        """
        if self._listed is not None:
            # Marking in a list of all is much faster than sorting rows to find those that are equal.
            marked = np.zeros(len(self._listed), dtype=bool)
            marked[self._found(self.keys(levels))] = True
            if without is not None:
                marked[self._found(without)] = False
            found: Levels = self._listed[marked]
            return found
        keys, first = np.unique(self.keys(levels), return_index=True)
        if without is not None:
            first = first[~np.isin(keys, without)]
        levels = levels[first]
        judged: Levels = levels[np.array([self._judge(row) for row in levels], dtype=bool)]
        return judged

    def sample(self, rng: np.random.Generator, count: int) -> Levels:
        """About ``count`` existing rows, drawn uniformly; fewer where existing ones are hard to hit."""
        if self._listed is not None:
            if count >= len(self._listed):
                return self._listed
            return self._listed[rng.integers(len(self._listed), size=count)]
        found: list[Levels] = []
        for _ in range(_REJECTIONS):
            rows = rng.integers(self.num_levels, size=(2 * count, len(self.names)))
            found.append(self.existing(rows))
            if sum(map(len, found)) >= count:
                break
        return rng.permutation(np.concatenate(found))[:count]

    def neighbours(self, row: Levels) -> Levels:
        """All existing rows that differ from ``row`` in one parameter, and ``row`` itself if it exists."""
        changed = np.repeat(row[None, :], int(self.num_levels[self.free].sum()), axis=0)
        start = 0
        for i in self.free:
            stop = start + int(self.num_levels[i])
            changed[start:stop, i] = np.arange(self.num_levels[i])
            start = stop
        return self.existing(changed)

    def encode(self, levels: Levels) -> FloatArray:
        """Where rows lie, ``(num_rows, num_coordinates)``; every parameter that varies has the same extent."""
        parts = [table[levels[:, i]] for i, table in zip(self.free, self._places, strict=True)]
        return np.concatenate([np.empty((len(levels), 0)), *parts], axis=1)

    def _list(self, configurations: Iterable[Sequence[Any]] | None) -> Levels | None:
        if configurations is not None:
            rows = [self.to_levels(configuration) for configuration in configurations]
            if not rows:
                raise ValueError("no configuration exists")
            return np.array(rows, dtype=np.int64)
        if math.prod(self.num_levels.tolist()) > _ENUMERABLE:
            return None
        sizes = tuple(self.num_levels.tolist())
        every: Levels = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T
        if self._is_valid is None:
            return every
        listed: Levels = every[np.array([self._judge(row) for row in every], dtype=bool)]
        if not len(listed):
            raise ValueError("no configuration exists")
        self._verdicts.clear()
        return listed

    def _index_listed(self, listed: Levels) -> None:
        keys = self.keys(listed)
        self._order = np.argsort(keys, kind="stable")
        self._sorted_keys = keys[self._order]
        if (self._sorted_keys[1:] == self._sorted_keys[:-1]).any():
            raise ValueError("a configuration is listed twice")
        product = math.prod(self.num_levels.tolist())
        self._place_of: npt.NDArray[np.int64] | None = None
        if product <= _TABULATED:
            self._place_of = np.full(product, -1, dtype=np.int64)
            self._place_of[keys.astype(np.int64)] = np.arange(len(listed))

    def _found(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Where in the list the keys are, those that are there."""
        if self._place_of is not None:
            places = self._place_of[keys.astype(np.int64)]
            kept: npt.NDArray[np.int64] = places[places >= 0]
            return kept
        places = np.minimum(np.searchsorted(self._sorted_keys, keys), len(self._sorted_keys) - 1)
        found: npt.NDArray[np.int64] = self._order[places[self._sorted_keys[places] == keys]]
        return found

    def _judge(self, row: Levels) -> bool:
        if self._is_valid is None:
            return True
        key = row.tobytes()
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = bool(self._is_valid(dict(zip(self.names, self.to_configuration(row), strict=True))))
            self._verdicts[key] = verdict
        return verdict


def _key_weights(num_levels: Levels) -> Keys:
    """Weights of a mixed-radix number; where that does not fit 64 bits, fixed odd ones that spread rows over them."""
    sizes = num_levels.tolist()
    if math.prod(sizes) < 2**63:
        radix = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        return np.array(radix, dtype=np.uint64)
    weights = np.random.default_rng(0).integers(2**63, size=len(sizes), dtype=np.uint64)
    return weights * np.uint64(2) + np.uint64(1)


def _place(values: Sequence[Any]) -> FloatArray:
    """Numbers lie on a line, halfway between their ranks and their logarithms; categories are equally far apart."""
    if not _are_numbers(values):
        return np.eye(len(values)) / math.sqrt(2.0)
    numbers = np.array(values, dtype=np.float64)
    ranks = np.argsort(np.argsort(numbers)) / (len(numbers) - 1)
    if numbers.min() < 0:
        return ranks[:, None]
    logs = np.log(numbers) if numbers.min() > 0 else np.log1p(numbers)
    logs = (logs - logs.min()) / (logs.max() - logs.min())
    line: FloatArray = 0.5 * (ranks + logs)[:, None]
    return line


def _alignment(values: Sequence[Any]) -> FloatArray | None:
    """How often each value can be halved, scaled to 0 … 1; None where that says no more than the value's order.

    Hardware is divided by powers of two, so that sizes of 64 and 128 may be fast and the 96 between them slow: no
    smooth function of the size can say so.
    """
    if len(values) < 3 or not _are_numbers(values):
        return None
    if not all(float(value).is_integer() and value >= 0 for value in values):
        return None
    halvings = [(int(value) & -int(value)).bit_length() - 1 if value else None for value in values]
    most = max(count for count in halvings if count is not None) + 1
    counts = np.array([most if count is None else count for count in halvings], dtype=np.float64)
    if counts.max() == counts.min() or (np.diff(counts[np.argsort(np.array(values))]) > 0).all():
        return None
    scaled: FloatArray = ((counts - counts.min()) / (counts.max() - counts.min()))[:, None]
    return scaled


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)
