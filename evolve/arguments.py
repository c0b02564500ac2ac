"""Whether an engine was given what a search needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fitness import Kernel
from operators import Operator, Selective


def check_least(**least: tuple[int, int]) -> None:
    """Compares numbers with their bounds.

    Args:
        least: By name, a value and the smallest one that is allowed.

    Raises:
        ValueError: A value is too small.
    """
    for name, (value, bound) in least.items():
        if value < bound:
            raise ValueError(f"{name} must be at least {bound}, is {value}")


def check_suited(seeds: Sequence[Kernel], operators: Mapping[str, Operator]) -> None:
    """Makes sure that something can come of the seeds, so that no search spins without proposing a kernel.

    Raises:
        ValueError: There is no seed or no operator, or every operator objects to every seed.
    """
    if not seeds:
        raise ValueError("seed_kernels must not be empty")
    if not operators:
        raise ValueError("operators must not be empty")
    objections: list[str] = []
    for name, operator in operators.items():
        reasons = [operator.objection(seed) for seed in seeds] if isinstance(operator, Selective) else [""]
        if not all(reasons):
            return
        objections.append(f"{name}: {reasons[0]}")
    raise ValueError(
        f"no operator can change a seed kernel ({'; '.join(objections)}): choose other operators or another seed"
    )
