"""The model of a problem as a module with ``kernel_fn``: eager torch, KernelBench's baseline, as a first kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

EAGER_LANGUAGES = frozenset({"torch", "triton", "cute", "flydsl"})
"""Languages whose kernels are Python modules that get torch tensors."""

_CALL = '''


_MODELS = {{}}


def _model(device):
    if device not in _MODELS:
        _MODELS[device] = Model(*get_init_inputs()).to(device)
    return _MODELS[device]


def kernel_fn({arguments}):
    """Eager torch: what is to be replaced."""
    model = _model({first}.device)
    return {call}
'''


def eager_source(facts: Mapping[str, Any]) -> str:
    """Returns a module that computes a problem by its own model.

    Args:
        facts: As `reference.Reference` describes the problem.
    """
    names = [each["name"] for each in facts["inputs"]]
    given = [each for each in facts["calls"] if each in names or each in facts["constants"]]
    values = ", ".join(each if each in names else repr(facts["constants"][each]) for each in given)
    weights = ", ".join(f"{json.dumps(key)}: {name}" for name, key in facts["state"].items())
    call = f"torch.func.functional_call(model, {{{weights}}}, ({values},))" if weights else f"model({values})"
    return f"{facts['source'].rstrip()}\n" + _CALL.format(arguments=", ".join(names), first=names[0], call=call)
