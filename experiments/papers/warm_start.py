"""Number 12: warm start and reuse (Experience Graphs / Trellis, https://arxiv.org/abs/2606.29823).

Source: in KernelEvolve, reuse across sessions reaches a target speedup about ten times faster, at 52 % fewer tokens.

Here: cold runs against runs that start from the best kernels of three earlier runs on another shape of the same task
(start=nearest:…). The earlier runs are the experiment warm_start_donors, which is run first into
runs/warm_start_donors; what they cost is not charged to the warm arm. Near duplicates are the easiest case for reuse.
That a killed run goes on to the same lineage is a matter of the test suite. CPU scale: a matrix product, 30
evaluations, 5 seeds.

Here, GPU scale (scale=gpu): two shapes of a matrix product in Triton, donors on a third, a model, 10 seeds.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ..experiment import Experiment
from ..faults import ConfigError
from ..sweep_command import execute, read_order
from .question import answer

NAME = "warm_start"
DONORS = Path("runs") / "warm_start_donors"


def prepare(experiment: Experiment, sweep_dir: Path) -> None:
    """Makes the earlier runs, as far as they are not there yet.

    Raises:
        ConfigError: One of them failed.
    """
    scale = experiment.name.removeprefix(NAME).removeprefix("_")
    order = ["experiment=warm_start_donors", f"hydra.sweep.dir={DONORS}", *([f"scale={scale}"] if scale else [])]
    donors = read_order(order)
    # Of the same model and the same settings as the runs that start from them.
    if execute(replace(donors, experiment=replace(donors.experiment, overrides=experiment.overrides))):
        raise ConfigError(f"{DONORS}: the earlier runs did not all finish; see what failed above")


if __name__ == "__main__":
    sys.exit(answer(NAME))
