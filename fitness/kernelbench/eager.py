"""The model of a problem as a module with ``kernel_fn``: eager torch, KernelBench's baseline, as a first kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

EAGER_LANGUAGES = frozenset({"triton", "cute", "flydsl"})
"""Languages whose kernels are Python modules that get torch tensors."""

_CALL = '''

_MODEL = Model(*get_init_inputs())


def kernel_fn({arguments}):
    """Eager torch: what is to be replaced."""
    _MODEL.to({first}.device)
    weights = {{{weights}}}
    return torch.func.functional_call(_MODEL, weights, ({call}))
'''


def eager_source(facts: Mapping[str, Any]) -> str:
    """Returns a module that computes a problem by its own model.

    Args:
        facts: As `reference.Reference` describes the problem.
    """
    names = [each["name"] for each in facts["inputs"]]
    given = [each for each in facts["calls"] if each in names or each in facts["constants"]]
    call = [each if each in names else repr(facts["constants"][each]) for each in given]
    weights = ", ".join(f"{json.dumps(key)}: {name}" for name, key in facts["state"].items())
    text = _CALL.format(
        arguments=", ".join(names), first=names[0], weights=weights, call="".join(f"{each}, " for each in call)
    )
    return f"{facts['source'].rstrip()}\n{text}"
