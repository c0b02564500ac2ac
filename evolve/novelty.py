"""Kernels that are new by name only."""

from __future__ import annotations

import ast
import hashlib
import math
import re
from typing import Literal, get_args

from fitness import Kernel
from llm import Embedder, RequestError, ServerMismatch

from .individual import Fitness, Individual
from .nearest import Nearest

Level = Literal["source", "behaviour", "artifact", "embedding"]
Action = Literal["refuse", "penalise", "report"]

_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:\\.|[^\"\\\n])*\"|\S")
_TYPE = (
    r"(?:void|bool|char|short|int|long|float|double|unsigned|signed|auto|half|bfloat16|\w+_t|__half2?|"
    r"(?:float|double|int|uint|long|half)[1-4])"
)
_DECLARED = re.compile(
    rf"\b{_TYPE}\b(?:[\s*&]|\bconst\b|\b__?restrict(?:__)?\b)*\s([A-Za-z_]\w*)\s*(?=[=;,)\[:])|"
    rf"\b{_TYPE}[\s]*[*&]+\s*(?:__?restrict(?:__)?\s+)?([A-Za-z_]\w*)\s*(?=[=;,)\[:])"
)
_DIRECTIVE = re.compile(r"^\s*#", re.MULTILINE)


def normalised(kernel: Kernel) -> str:
    """Returns a digest that comments, formatting and the names of variables do not change.

    Conservative: in C-like sources only names that are declared with a built-in type are renamed, so
    two kernels may differ although only a name does, but not the other way round. Python is parsed.
    """
    text = _normal_python(kernel.source) or _normal_c(kernel.source)
    return hashlib.sha256(
        f"{kernel.language}\0{kernel.entry_point}\0{text}".encode("utf-8", "surrogatepass")
    ).hexdigest()


class Novelty:
    """Finds kernels that only seem new, beyond the exact digest that the engine always tests.

    Args:
        level: ``"source"`` compares sources without comments, formatting and names; ``"embedding"``
            compares what a model makes of them. After the evaluation, ``"artifact"`` compares the code
            that was built, and ``"behaviour"`` time and the artifact's metrics.
        action: ``"refuse"`` saves the evaluation (at levels ``"source"`` and ``"embedding"`` only),
            ``"penalise"`` worsens the first objective, ``"report"`` only notes the twin.
        penalty: Fraction by which the first objective is worsened.
        resolution: Fraction of the latency within which two times are the same.
        threshold: Cosine from which on two embeddings are the same.
        embedder: Makes embeddings of sources; must answer alike when asked again, as `RecordedEmbedder` does.

    Raises:
        ValueError: ``"refuse"`` with what is only known after the evaluation, ``"embedding"`` without
            an embedder, or a number is out of its range.
    """

    def __init__(
        self,
        level: Level = "source",
        action: Action = "refuse",
        penalty: float = 0.05,
        resolution: float = 0.01,
        *,
        threshold: float = 0.95,
        embedder: Embedder | None = None,
    ) -> None:
        if level not in get_args(Level) or action not in get_args(Action):
            raise ValueError(f"unknown novelty level {level!r} or action {action!r}")
        if level in ("behaviour", "artifact") and action == "refuse":
            raise ValueError(f"novelty level {level} is known after the evaluation: use penalise or report")
        if level == "embedding" and embedder is None:
            raise ValueError("novelty level embedding needs a model: set embedder")
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"threshold must be above 0 and at most 1, is {threshold}")
        if not (math.isfinite(penalty) and penalty >= 0 and math.isfinite(resolution) and resolution > 0):
            raise ValueError(
                f"novelty needs a penalty of at least 0 and a resolution above 0, is {penalty} and {resolution}"
            )
        self._level = level
        self._action = action
        self._penalty = penalty
        self._step = math.log1p(resolution)
        self._threshold = threshold
        self._embedder = embedder if level == "embedding" else None
        self._nearest = Nearest()
        self._first: dict[object, int] = {}
        self._slot_of: dict[str, int] = {}

    def refuses(self, kernel: Kernel, committed: int) -> str:
        """Returns why a kernel should not be evaluated, or an empty text.

        Only slots count that were committed when this one was planned: the answer must not depend
        on which thread was faster. Exact duplicates pass, since they cost nothing, and so does what
        the model refuses to embed.

        Raises:
            LLMError: The embedding model cannot be asked.
            JournalError: Its answer is missing in a strict replay, or cannot be kept.
        """
        if self._action != "refuse" or self._slot_of.get(kernel.digest, committed) < committed:
            return ""
        if self._embedder is not None:
            found = self._most_like(self._vector(kernel, self._embedder), committed)
            return f"has an embedding like slot {found[1]}'s: cosine {found[0]:.4f}" if found else ""
        first = self._first.get(normalised(kernel))
        return f"differs from slot {first} in names or layout only" if first is not None and first < committed else ""

    def judge(self, individual: Individual) -> None:
        """Takes note of an evaluated kernel, and of its older twin if there is one.

        Raises:
            LLMError: The embedding model cannot be asked.
            JournalError: Its answer is missing in a strict replay, or cannot be kept.
        """
        self._slot_of[individual.digest] = individual.slot
        first = self._twin(individual)
        if first is None:
            return
        individual.twin_of = first
        if self._action == "penalise" and individual.fitness.valid:
            cost, *others = individual.fitness.values
            individual.fitness = Fitness((cost + abs(cost) * self._penalty, *others))

    def _twin(self, individual: Individual) -> int | None:
        """Returns the slot of the older twin, and remembers the individual."""
        if self._embedder is not None:
            vector = self._vector(individual.kernel, self._embedder)
            found = self._most_like(vector, individual.slot)
            if vector is not None:
                self._nearest.add(individual.slot, vector)
            return found[1] if found else None
        key = self._key(individual)
        first = self._first.setdefault(key, individual.slot) if key is not None else individual.slot
        return first if first != individual.slot else None

    def _most_like(self, vector: tuple[float, ...] | None, before: int) -> tuple[float, int] | None:
        """Returns cosine and slot of the most similar kernel before a slot; None when it is not similar enough."""
        if vector is None:
            return None
        try:
            found = self._nearest.find(vector, before)
        except ValueError as error:
            raise ServerMismatch(f"novelty.embedder: {error}; is it one model all along?") from error
        return found if found is not None and found[0] >= self._threshold else None

    def _vector(self, kernel: Kernel, embedder: Embedder) -> tuple[float, ...] | None:
        try:
            return embedder.embed(kernel.source)
        except RequestError:  # of this text; the record keeps why
            return None

    def _key(self, individual: Individual) -> object | None:
        if self._level == "source":
            return normalised(individual.kernel)
        evaluation = individual.evaluation
        if self._level == "artifact":
            return evaluation.artifact or None
        if evaluation.latency_us is None:
            return None
        return round(math.log(evaluation.latency_us) / self._step), tuple(sorted(evaluation.static.items()))


def _normal_c(source: str) -> str:
    text = _COMMENT.sub(lambda match: match.group(1) or " ", source)
    declared = {name for pair in _DECLARED.findall(text) for name in pair if name}
    names: dict[str, str] = {}
    tokens: list[str] = []
    for line in text.split("\n"):
        directive = bool(_DIRECTIVE.match(line))
        for token in _TOKEN.findall(line):
            member = bool(tokens) and (tokens[-1] == "." or tokens[-2:] == ["-", ">"])
            renamed = token in declared and not member
            tokens.append(names.setdefault(token, f"v{len(names)}") if renamed else token)
        if directive:
            tokens.append("\n")
    return " ".join(tokens)


class _Renamer(ast.NodeTransformer):
    """Renames what a function binds itself: its arguments and what it assigns."""

    def __init__(self, bound: set[str]) -> None:
        self._bound = bound
        self._names: dict[str, str] = {}

    def _new(self, name: str) -> str:
        return self._names.setdefault(name, f"v{len(self._names)}") if name in self._bound else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._new(node.id), node.ctx)


def _normal_python(source: str) -> str:
    """Returns the canonical text of a Python source, or an empty one when it is not Python.

    Arguments keep their names, because callers may pass them by keyword.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return ast.unparse(_Renamer(stored - arguments).visit(tree))
