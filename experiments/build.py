"""The composition root: from a checked configuration to the objects of one run.

The only place that instantiates. Parts are passed on by hand, so that there is one task, one target
and one client in a run; nothing built here starts a compiler, a server or a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from evolve import Budget, Engine, Journal, RecordedClient, RecordedEvaluations
from fitness import Evaluator, Executor, Language, Target, Task
from llm import Client
from operators import Brief

from .faults import ConfigError, one_line

UNRECORDED = ("executor", "llm.base_url", "llm.api_key_env")
"""Keys that may differ when a run is resumed: where things run, which must not influence what they answer."""


@dataclass(frozen=True)
class Problem:
    """What a kernel is judged on.

    Attributes:
        evaluator: Judges kernels; holds the other three.
    """

    task: Task
    target: Target
    language: Language
    evaluator: Evaluator


def build_problem(config: DictConfig) -> Problem:
    """Builds task, target, language and evaluator.

    Raises:
        ConfigError: A constructor refuses its arguments.
    """
    task, target, language = (_make(config, group) for group in ("task", "target", "language"))
    settings = {str(key): value for key, value in config.evaluator.items()}
    evaluator = _named("evaluator", partial(Evaluator, task, target, language, **_plain(settings)))
    return Problem(task, target, language, evaluator)


def build_engine(
    config: DictConfig,
    stack: ExitStack,
    run_dir: Path,
    *,
    strict: bool = False,
    watch: Callable[[RecordedEvaluations], Any] = lambda evaluations: evaluations,
) -> Engine:
    """Builds the engine of one run.

    Args:
        config: Checked by `settings.check_settings`.
        stack: Enters what has to be put away: journal, executor, model server.
        run_dir: Where derived files are written.
        strict: Answer from the journal alone.
        watch: May wrap the evaluator's door, to show what passes through it.

    Raises:
        ConfigError: A constructor refuses its arguments.
        JournalError: The journal cannot be used.
    """
    problem = build_problem(config)
    ...
