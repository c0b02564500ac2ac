"""The composition root: from a checked configuration to the objects of one run.

The only place that instantiates. Parts are passed on by hand, so that there is one task, one target
and one client in a run; nothing built here starts a compiler, a server or a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from evolve import Budget, Engine, Goal, Journal, Novelty, RecordedClient, RecordedEmbedder, RecordedEvaluations
from fitness import Evaluator, Language, Target, Task
from llm import Client, Embedder, Turns
from operators import Brief, Operator

from .faults import ConfigError, one_line
from .model import Silent, SilentEmbedder, TimedInTurns, enter_client, hardware, timing_gpus
from .start import founders

UNRECORDED = (
    "generations",
    "executor",
    "gpus",
    "tracking",
    *(
        f"llm.{key}"
        for key in (
            "base_url",
            "api_key_env",
            "timeout_s",
            "attempts",
            "backoff_s",
            "gpus",
            "turns",
            "command",
            "environment",
            "startup_s",
            "client",
            "arms",
        )
    ),
    *(f"novelty.embedder.{key}" for key in ("base_url", "api_key_env", "timeout_s", "attempts", "backoff_s")),
)
"""Keys that may differ when a run is resumed: how long it goes on, and where things run, which must not influence what
they answer."""


MODEL_OPERATORS = "llm_"
"""How the names of operators begin that ask a model."""


Made = TypeVar("Made")


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
    task, target, language = (make(config, group) for group in ("task", "target", "language"))
    if getattr(target, "is_device", False):
        task = task.on_device()
    # The node's _target_ says which keys there are; the evaluator takes them one by one.
    settings = {name: value for name, value in _plain_node(config, "evaluator").items() if name != "_target_"}
    evaluator = getattr(task, "evaluator", Evaluator)  # a recorded space answers for itself
    return Problem(task, target, language, _named("evaluator", lambda: evaluator(task, target, language, **settings)))


def problem_facts(problem: Problem) -> dict[str, Any]:
    """Returns what ``environment.json`` says about hardware, compiler and isolation.

    Raises:
        ToolchainError: The compiler is missing.
    """
    how = dict(problem.evaluator.describe())
    missing = f", without {how['missing']}" if how.get("missing") else ""
    return {
        "target": dict(problem.target.describe()),
        "compiler": how.get("compiler", ""),
        "isolation": how.get("sandbox", "") + missing,
        "cache_regime": how.get("cache_regime", ""),
    }


def build_engine(
    config: DictConfig,
    problem: Problem,
    stack: ExitStack,
    run_dir: Path,
    *,
    watch: Callable[[RecordedEvaluations], Any] | None = None,
    recorded: Path | None = None,
) -> Engine:
    """Builds the engine of one run.

    Args:
        config: Checked by `settings.check_settings`.
        problem: Built from the same configuration.
        stack: Enters what has to be put away: journal, executor, model server.
        run_dir: Where derived files are written.
        watch: Wraps the evaluator's door, to show what passes through it.
        recorded: A run directory from whose journal alone everything is answered; None for a live run.

    Raises:
        ConfigError: A constructor refuses its arguments, or the search is for times that the target does not measure.
        JournalError: The journal cannot be used.
    """
    _check_measured(config, problem)
    strict = recorded is not None
    journal = Journal(journal_of(recorded or run_dir), configuration=journal_configuration(config), strict=strict)
    stack.enter_context(journal)
    executor = Nowhere() if strict else stack.enter_context(make(config, "executor"))
    client, turns = _client(config, problem, stack, run_dir, journal)
    judge = problem.evaluator if turns is None else TimedInTurns(problem.evaluator, turns)
    evaluations = RecordedEvaluations(judge, executor, journal)
    facts = hardware(problem.target, journal) if client is not None else {}
    operators = _operators(config, client)
    policy = make(config, "search")
    seeds = founders(config, problem, journal)
    novelty = _novelty(config, stack, journal)
    return _named(
        "run",
        lambda: Engine(
            seed_kernels=seeds,
            operators=operators,
            policy=policy,
            brief=Brief(problem.task, problem.target, problem.language, client, hardware=facts),
            evaluations=watch(evaluations) if watch is not None else evaluations,
            journal=journal,
            seed=config.seed,
            budget=Budget(**_plain(config, "budget")),
            goal=Goal(**_plain(config, "goal")),
            objectives=_plain(config, "objectives"),
            duels=config.duels,
            verify=config.verify,
            novelty=novelty,
            directory=run_dir,
            proposers=config.proposers,
        ),
    )


def _check_measured(config: DictConfig, problem: Problem) -> None:
    """Refuses a search for times on a target that measures none.

    Raises:
        ConfigError: It is one.
    """
    name, timed = problem.target.name, [str(each) for each in config.objectives if str(each).startswith("latency_us")]
    if timed and not problem.target.measures_time:
        raise ConfigError(
            f"target={name} gives verdicts and no times, and objectives has {timed[0]}: search on a target that "
            f"measures time, or judge one kernel with python -m experiments.evaluate kernel=FILE target={name}"
        )


def make(config: DictConfig, path: str) -> Any:
    """Instantiates the node under a dotted path.

    Raises:
        ConfigError: There is none, or its constructor refuses its arguments.
    """
    node = OmegaConf.select(config, path)
    if node is None or "_target_" not in node:
        raise ConfigError(f"{path}: nothing is chosen; see --help for what there is")
    return _named(path, lambda: instantiate(node, _convert_="all"))


def _named(path: str, build: Callable[[], Made]) -> Made:
    """Builds something; what its constructor finds wrong becomes a line that begins with the path.

    Raises:
        ConfigError: A value is out of range, or an argument does not fit.
    """
    try:
        return build()
    except InstantiationException as fault:
        cause = fault.__cause__
        if isinstance(cause, ValueError | TypeError) or cause is None:
            raise ConfigError(f"{path}: {one_line(str(cause or fault))}") from fault
        raise cause from fault  # a missing compiler, module or key says itself what to do
    except ValueError as fault:
        raise ConfigError(f"{path}: {one_line(str(fault))}") from fault


def _plain(config: DictConfig, path: str) -> Any:
    """Returns the node under a dotted path as plain lists and mappings, with nested nodes instantiated."""
    return _named(path, lambda: instantiate(OmegaConf.select(config, path), _convert_="all"))


def _operators(config: DictConfig, client: Client | None) -> dict[str, Operator]:
    """Returns the operators by the names that plans use.

    Raises:
        ConfigError: There is none, or one of them needs a model and there is none.
    """
    operators: dict[str, Operator] = {str(name): make(config, f"operators.{name}") for name in config.operators}
    if not operators:
        raise ConfigError("operators: at least one is needed; see --help for what there is")
    for name, operator in operators.items():
        if client is None and operator.name.startswith(MODEL_OPERATORS):
            raise ConfigError(f"operators.{name}: needs a model; choose llm=server or llm=vllm, or other operators")
    return operators


def _plain_node(config: DictConfig, path: str) -> dict[str, Any]:
    """Returns a node as it stands, nothing instantiated."""
    plain = OmegaConf.to_container(OmegaConf.select(config, path), resolve=True)
    assert isinstance(plain, dict)
    return {str(name): value for name, value in plain.items()}


def _client(
    config: DictConfig, problem: Problem, stack: ExitStack, run_dir: Path, journal: Journal
) -> tuple[Client | None, Turns | None]:
    """Returns the model's door with the journal in front, and the turns that evaluations take; None without a model.

    Raises:
        ConfigError: The client cannot be built, or its GPUs are those that time kernels.
    """
    if not config.get("llm"):
        return None, None
    if journal.strict:
        return RecordedClient(Silent(), journal), None
    timing = timing_gpus(problem.target, config.executor)
    expect_others = getattr(problem.target, "expect_others", tuple)
    client, turns = enter_client(make(config, "llm"), stack, run_dir, timing, expect_others)
    return RecordedClient(client, journal), turns


def _novelty(config: DictConfig, stack: ExitStack, journal: Journal) -> Novelty | None:
    """Returns what finds kernels that only seem new, with the journal in front of its model; None where nothing does.

    Raises:
        ConfigError: It cannot be built.
    """
    if not config.get("novelty"):
        return None
    if not config.novelty.get("embedder"):
        made: Novelty = make(config, "novelty")
        return made
    if journal.strict:
        embedder: Embedder = SilentEmbedder(config.novelty.embedder.model)
    else:
        embedder = stack.enter_context(make(config, "novelty.embedder"))
    settings = {key: value for key, value in _plain_node(config, "novelty").items() if key != "embedder"}
    recorded = RecordedEmbedder(embedder, journal)
    found: Novelty = _named("novelty", lambda: instantiate(settings, _convert_="all")(embedder=recorded))
    return found


class Nowhere:
    """The executor of a replay, which has nothing to run: a strict journal refuses before it is asked."""

    workers = 0

    def submit(self, job: Callable[..., Any], *args: Any) -> Future[Any]:
        """Refuses."""
        raise AssertionError("a strict journal lets nothing through")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Has nothing to put away."""


def journal_of(run_dir: Path) -> Path:
    """Returns the journal of a run directory, which is packed in stored results."""
    packed = run_dir / "journal.jsonl.gz"
    return packed if packed.exists() and not (run_dir / "journal.jsonl").exists() else run_dir / "journal.jsonl"


def journal_configuration(config: DictConfig) -> Mapping[str, Any]:
    """Returns what the answers of a run depend on: the configuration without `UNRECORDED`."""
    kept = OmegaConf.create(OmegaConf.to_container(config, resolve=True))
    assert isinstance(kept, DictConfig)
    for path in UNRECORDED:
        parent, _, name = path.rpartition(".")
        node = OmegaConf.select(kept, parent) if parent else kept
        if node:
            node.pop(name, None)
    plain = OmegaConf.to_container(kept)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}
