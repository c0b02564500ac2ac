"""A fully measured tuning space, and the reader of Kernel Tuner's cache files."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TaskError

Configuration = tuple[Any, ...]
FloatArray = npt.NDArray[np.float64]

_FAILED_TIME = 1e20
"""Older versions of Kernel Tuner wrote this number, not a word, as the time of a failed configuration."""

_UNUSED = ("timestamp", "compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")


@dataclass(frozen=True, eq=False)
class Space:
    """A fully measured tuning space; configurations are tuples of values in the order of ``parameters``.

    Attributes:
        name: The file's name without its endings.
        kernel: Name of the kernel that was tuned.
        device: Name of the device; some recordings leave it empty.
        parameters: Each parameter's values in the file's order; a parameter with one value is a constant.
        levels: ``(num_configurations, num_parameters)`` index of every value, of all configurations that meet the
            restrictions, failing ones included.
        times_ms: ``(num_configurations,)`` mean times, NaN where the configuration failed.
        samples_ms: The single measurements behind each time; empty where the configuration failed.
        failures: The recorded word of every failed configuration, by position, e.g. ``"RuntimeFailedConfig"``.

    Raises:
        TaskError: A configuration is recorded twice, or none has a time.
    """

    name: str
    kernel: str
    device: str
    parameters: Mapping[str, tuple[Any, ...]]
    levels: npt.NDArray[np.int64] = field(repr=False)
    times_ms: FloatArray = field(repr=False)
    samples_ms: Sequence[Sequence[float]] = field(repr=False)
    failures: Mapping[int, str] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self._positions) != len(self.levels):
            raise TaskError(f"{self.name}: a configuration is recorded twice")
        if not np.isfinite(self.times_ms).any():
            raise TaskError(f"{self.name}: no configuration has a valid time")

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
        except TaskError as error:
            raise TaskError(f"{path}: {error}") from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            # A KeyError's text is only the key, so the kind of the fault is said too.
            raise TaskError(f"{path}: not a cache file of Kernel Tuner ({type(error).__name__}: {error})") from error

    def means_text(self) -> str:
        """Returns it in the format of a cache file of Kernel Tuner, without the single measurements."""
        places = range(len(self))
        settings = [dict(zip(self.parameters, self.configuration(place), strict=True)) for place in places]
        times = [self.failures.get(place, float(self.times_ms[place])) for place in places]
        content = {
            "device_name": self.device,
            "kernel_name": self.kernel,
            "tune_params_keys": list(self.parameters),
            "tune_params": self.parameters,
            "cache": {
                ",".join(map(str, setting.values())): {**setting, "time": time}
                for setting, time in zip(settings, times, strict=True)
            },
        }
        return json.dumps(content, separators=(",", ":")) + "\n"

    def __len__(self) -> int:
        return len(self.levels)

    def __contains__(self, configuration: Sequence[Any]) -> bool:
        try:
            self.position(configuration)
        except KeyError:
            return False
        return True

    def configuration(self, position: int) -> Configuration:
        """The values at a position."""
        row = self.levels[position].tolist()
        return tuple(values[level] for values, level in zip(self.parameters.values(), row, strict=True))

    def position(self, configuration: Sequence[Any]) -> int:
        """Index of a configuration in ``levels``, ``times_ms`` and ``samples_ms``.

        Raises:
            KeyError: The configuration is not in the file, so it does not exist.
        """
        if len(configuration) != len(self._level_of):
            raise KeyError(tuple(configuration))
        pairs = zip(self._level_of, configuration, strict=True)
        return self.position_of_levels([level_of[value] for level_of, value in pairs])

    def position_of_levels(self, levels: Sequence[int]) -> int:
        """Index of a configuration that is given by the indices of its values.

        Raises:
            KeyError: The configuration is not in the file, so it does not exist.
        """
        return self._positions[sum(level * weight for level, weight in zip(levels, self._weights, strict=True))]

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

    @cached_property
    def median_position(self) -> int:
        """Where the configuration of median time is, the faster of two."""
        order = np.argsort(self.times_ms, kind="stable")  # NaN comes last
        return int(order[(int(np.isfinite(self.times_ms).sum()) - 1) // 2])

    @cached_property
    def _level_of(self) -> tuple[dict[Any, int], ...]:
        return tuple({value: level for level, value in enumerate(values)} for values in self.parameters.values())

    @cached_property
    def _weights(self) -> list[int]:
        sizes = [len(values) for values in self.parameters.values()]
        return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]

    @cached_property
    def _positions(self) -> dict[int, int]:
        """Positions by mixed-radix number, in Python's integers, which no space is too large for."""
        if math.prod(map(len, self.parameters.values())) < 2**63:
            keys = (self.levels * np.array(self._weights, dtype=np.int64)).sum(axis=1).tolist()
        else:
            keys = [sum(a * b for a, b in zip(row, self._weights, strict=True)) for row in self.levels.tolist()]
        return {key: position for position, key in enumerate(keys)}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        del raw
        content = json.loads(text, object_hook=_compact)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise TaskError(f"{path}: damaged gzip data ({error})") from error
    except TypeError as error:
        raise TaskError(f"{path}: not a cache file of Kernel Tuner (times: {error})") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path}: not JSON, or cut short ({error})") from error
    if not isinstance(content, dict):
        raise TaskError(f"{path}: not a cache file of Kernel Tuner (a JSON {type(content).__name__})")
    return content


def _compact(entry: dict[str, Any]) -> dict[str, Any]:
    """Drops what is not needed while the file is read: large spaces have some hundred thousand entries."""
    if isinstance(entry.get("times"), list):
        for name in _UNUSED:
            entry.pop(name, None)
        entry["times"] = array("d", entry["times"])
    return entry


def _space(name: str, content: Mapping[str, Any]) -> Space:
    parameters = {str(key): tuple(content["tune_params"][key]) for key in content["tune_params_keys"]}
    level_of = [(key, {value: level for level, value in enumerate(values)}) for key, values in parameters.items()]
    levels: list[list[int]] = []
    times: list[float] = []
    samples: list[Sequence[float]] = []
    failures: dict[int, str] = {}
    for entry in content["cache"].values():
        for key, known in level_of:
            if entry[key] not in known:
                raise TaskError(f"{key}={entry[key]!r} is not among the values of tune_params")
        levels.append([known[entry[key]] for key, known in level_of])
        time = _valid_time(entry["time"])
        if math.isnan(time):
            failures[len(times)] = str(entry["time"])
        times.append(time)
        samples.append(() if math.isnan(time) else entry.get("times", ()))
    return Space(
        name=name,
        kernel=str(content.get("kernel_name", "")),
        device=str(content.get("device_name", "")),
        parameters=parameters,
        levels=np.array(levels, dtype=np.int64).reshape(len(levels), len(parameters)),
        times_ms=np.array(times, dtype=np.float64),
        samples_ms=samples,
        failures=failures,
    )


def _valid_time(recorded: object) -> float:
    """The time, or NaN for a word and for the numbers that stand for a failure."""
    if isinstance(recorded, bool) or not isinstance(recorded, int | float):
        return math.nan
    return float(recorded) if 0.0 < recorded < _FAILED_TIME else math.nan
