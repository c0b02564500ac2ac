"""Event files for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve import Generation
from fitness import Evaluation

from ..faults import ConfigError
from .tracker import figures, final_figures


class TensorboardTracker:
    """Writes the figures of every generation to a folder in the run directory; needs no torch.

    Args:
        folder: Name of the folder.
    """

    def __init__(self, folder: str = "tensorboard") -> None:
        self._folder = folder
        self._writer: Any = None
        self._step = 0

    def begin(self, run_dir: Path, settings: Mapping[str, str]) -> None:
        """Opens the event file; what an earlier attempt wrote is marked as overwritten.

        Raises:
            ConfigError: tensorboardX is not installed.
        """
        try:
            from tensorboardX import SummaryWriter
        except ImportError as fault:
            raise ConfigError("tracking=tensorboard: needs tensorboardX; run pip install tensorboardX") from fault
        self._writer = SummaryWriter(logdir=str(run_dir / self._folder), purge_step=0)
        self._writer.add_text("settings", "\n".join(f"    {name}: {value}" for name, value in settings.items()), 0)

    def generation(self, generation: Generation) -> None:
        """Writes the figures of a generation."""
        self._step = generation.index
        self._write(figures(generation))

    def end(self, ended: str, verification: Evaluation | None) -> None:
        """Writes the verification and closes the file."""
        self._writer.add_text("ended", ended, self._step)
        self._write(final_figures(verification))
        self._writer.close()

    def _write(self, found: Mapping[str, float]) -> None:
        for name, value in found.items():
            self._writer.add_scalar(name, value, self._step)
        self._writer.flush()
