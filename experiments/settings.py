"""Is a configuration one that can be run? Asked before anything is built or created.

There is no schema beside the code: a library class takes plain keyword arguments, and its signature
says which keys a configuration node may hold and of which type. Ranges are the constructor's own
business; only the few numbers at the top level have rules here.
"""

from __future__ import annotations

import inspect
import logging
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from .composition import known_keys
from .faults import ConfigError, choices, composition, one_line

RESERVED = frozenset({"_target_", "_partial_", "_args_", "_convert_", "_recursive_"})
SCALARS: Mapping[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "text"),
    Path: ((str,), "a path"),
    type(None): ((type(None),), "null"),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """What one number at the top level may be.

    Attributes:
        kind: ``int`` or ``float``.
        least: The smallest value.
        open_below: Whether ``least`` itself is excluded.
        optional: Whether null is allowed, meaning no limit.
    """

    kind: type[int | float]
    least: float
    open_below: bool = False
    optional: bool = False

    def words(self) -> str:
        """Returns the rule for people."""
        what = SCALARS[self.kind][1]
        limit = f"above {self.least:g}" if self.open_below else f"of at least {self.least:g}"
        return f"{what} {limit}{' or null' if self.optional else ''}"

    def allows(self, value: Any) -> bool:
        """Returns whether ``value`` obeys the rule."""
        if value is None:
            return self.optional
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not isinstance(value, SCALARS[self.kind][0])
        ):
            return False
        return value > self.least or (value == self.least and not self.open_below)


TOP: Mapping[str, Bound] = {
    "seed": Bound(int, 0),
    "mu": Bound(int, 1),
    "lambda_": Bound(int, 1),
    "generations": Bound(int, 1, optional=True),
    "budget.evaluations": Bound(int, 1, optional=True),
    "budget.seconds": Bound(float, 0, open_below=True, optional=True),
    "budget.tokens": Bound(int, 1, optional=True),
    "goal.speedup": Bound(float, 0, open_below=True, optional=True),
    "goal.stagnation": Bound(int, 1, optional=True),
    "proposers": Bound(int, 1),
}


SHAPES: Mapping[str, Any] = {
    "duels": bool,
    "verify": bool,
    "objectives": Sequence[str],
    "gpus": Sequence[int] | Literal["all"] | None,
}
"""What the other values at the top level must be, as annotations."""


ENDS = ("generations", "budget.evaluations", "budget.seconds", "budget.tokens", "goal.speedup", "goal.stagnation")
"""One of these must be set."""


def check_settings(config: DictConfig) -> None:
    """Refuses a configuration that names unknown keys or holds values of the wrong type or range.

    Raises:
        ConfigError: Names the key, what is allowed, and what was found.
    """
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as fault:
        raise ConfigError(composition(fault)) from fault
    if not isinstance(plain, dict):
        raise ConfigError("the configuration must be a mapping")
    tree = {str(key): value for key, value in plain.items()}
    known = known_keys()
    for key in tree:
        if key not in known:
            raise ConfigError(f"{key}: unknown key; {choices(key, sorted(known))}")
    for key, bound in TOP.items():
        value = _at(tree, key)
        if not bound.allows(value):
            raise ConfigError(f"{key}: must be {bound.words()}, is {value!r}")
    for key, hint in SHAPES.items():
        if not fits(tree.get(key), hint):
            raise ConfigError(f"{key}: must be {words(hint)}, is {tree.get(key)!r}")
    if all(_at(tree, key) is None for key in ENDS):
        raise ConfigError(f"generations: nothing ends this run; set one of {', '.join(ENDS)}")
    for path, node in _targets(tree, ""):
        check_node(path, node)


def _at(tree: Mapping[str, Any], path: str) -> Any:
    """Returns the value under a dotted path.

    Raises:
        ConfigError: There is none.
    """
    value: Any = tree
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise ConfigError(f"{path}: missing; leave it in, or set it to what the default says")
        value = value[name]
    return value


def _targets(node: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields every node that names an import path, with its own path."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield path, node
        for key, value in node.items():
            yield from _targets(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for index, value in enumerate(node):
            yield from _targets(value, f"{path}[{index}]")


def check_node(path: str, node: Mapping[str, Any]) -> None:
    """Compares one node with the signature that it names.

    Raises:
        ConfigError: The import path leads nowhere, or a key or a value does not fit.
    """
    name = node["_target_"]
    target = _imported(path, name)
    parameters = {
        parameter.name: parameter
        for parameter in inspect.signature(target).parameters.values()
        if parameter.kind is not parameter.VAR_POSITIONAL
    }
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    hints = _hints(target)
    given = [key for key in node if key not in RESERVED]
    for key in given:
        if key not in parameters and not open_ended:
            raise ConfigError(f"{path}.{key}: unknown key; {choices(str(key), list(parameters))}")
        if not fits(node[key], hints.get(str(key), Any)):
            raise ConfigError(f"{path}.{key}: must be {words(hints[str(key)])}, is {node[key]!r}")
    if not node.get("_partial_"):
        for key, parameter in parameters.items():
            if (
                parameter.default is parameter.empty
                and key not in given
                and parameter.kind is not parameter.VAR_KEYWORD
            ):
                raise ConfigError(f"{path}.{key}: missing; {name} needs it")


def _imported(path: str, name: str) -> Any:
    """Returns what an import path names.

    Raises:
        ConfigError: It leads nowhere.
    """
    hydra_log = logging.getLogger("hydra.utils")
    was_disabled, hydra_log.disabled = hydra_log.disabled, True  # it would say the same in two lines more
    try:
        return get_object(name)
    except (ImportError, ValueError) as fault:
        cause = fault.__cause__ or fault
        raise ConfigError(f"{path}._target_: cannot import {name!r}: {one_line(str(cause))}") from fault
    finally:
        hydra_log.disabled = was_disabled


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """Returns the annotations of a callable; none where they cannot be evaluated."""
    function = target.__init__ if inspect.isclass(target) else target
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}


def fits(value: Any, hint: Any) -> bool:
    """Returns whether ``value``, as YAML has it, can be meant by an annotation.

    Only what YAML itself can tell apart is judged; everything else is left to the constructor.
    """
    if hint in SCALARS:
        allowed = isinstance(value, SCALARS[hint][0])
        return allowed and (hint is bool or not isinstance(value, bool))
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin in (list, tuple, Sequence):
        return isinstance(value, (list, tuple)) or _is_node(value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    return True


def words(hint: Any) -> str:
    """Returns an annotation in words."""
    if hint in SCALARS:
        return SCALARS[hint][1]
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(words(each) for each in typing.get_args(hint))
    if origin is Literal:
        return "one of " + ", ".join(str(each) for each in typing.get_args(hint))
    if origin in (list, tuple, Sequence):
        return "a list"
    if origin in (dict, Mapping):
        return "a mapping"
    return getattr(hint, "__name__", str(hint))


def _is_node(value: Any) -> bool:
    """Returns whether a value will be built rather than taken as it is."""
    return isinstance(value, Mapping) and "_target_" in value
