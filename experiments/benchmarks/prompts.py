"""Which prompt gives the most valid kernels: ``python -m experiments.benchmarks.prompts --url URL``.

Asks a server for kernels with several prompts on the same seeds, reads and judges every answer, and
prints for each prompt and task how many were correct, and how many times as many as with ``plain``, the
prompt that anybody would write. ``default`` is ``operators=llm``'s mutation as the configuration has it.
Answers are stored with ``--out``; ``--answers FILE`` reads and judges stored ones again, without a model.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from fitness import Evaluation, Kernel
from llm import Client, Completion, Message, Request, ServerClient
from operators import Brief, LLMMutation, Proposal
from operators.asking import Sampling, proposal, read
from operators.author import contract_of
from operators.contract import contract
from operators.reading import read_answer

from .. import faults
from ..build import Problem, build_problem, make
from ..composition import composed

SCHEMA = "kernelwright.benchmark.prompts/1"
PLAIN = "Make this {title} kernel faster. Keep its interface. Answer with the complete code in one code block."


@dataclass(frozen=True)
class Seed:
    """The kernel that is to be made faster, as a parent."""

    kernel: Kernel
    evaluation: Evaluation


class Listening:
    """A client that remembers what was answered, by the request's digest."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.answers: dict[str, Completion] = {}

    def complete(self, request: Request) -> Completion:
        """Answers one request."""
        completion = self.answers[request.digest] = self._client.complete(request)
        return completion


class Plain:
    """The prompt that anybody would write: the source and a wish."""

    def __init__(self, sampling: Mapping[str, Any]) -> None:
        self._sampling = Sampling(**sampling)

    def propose(self, parents: Sequence[Seed], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Asks once."""
        wanted = contract_of(brief)
        source = parents[0].kernel.source
        wish = f"{PLAIN.format(title=wanted.title)}\n\n```{wanted.fence}\n{source}```"
        request = self._sampling.request((Message("user", wish),), rng)
        assert brief.client is not None
        completion = brief.client.complete(request)
        return proposal("plain", parents, read(completion, wanted, source, "full"), wanted, (request, completion))


def arms(config: DictConfig, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the prompts that are compared."""
    return {
        "plain": Plain(sampling),
        "default": make(config, "operators.mutate"),
        "no_advice": LLMMutation(sampling=sampling),
        "knowledge": LLMMutation(sampling=sampling, ingredients={"advice": True, "knowledge": 2}),
        "diff": LLMMutation(sampling=sampling, ingredients={"advice": True}, mode="diff"),
    }


def chosen(names: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the prompts of these names, in their order.

    Raises:
        ConfigError: There is none of a name.
    """
    wanted = names.split(",") if names else list(known)
    if missing := [name for name in wanted if name not in known]:
        raise faults.ConfigError(f"--arms: {missing[0]} is none of {', '.join(known)}")
    return {name: known[name] for name in wanted}


def interval(hits: int, count: int) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of a proportion."""
    z, p = 1.96, hits / count
    middle, spread = p + z**2 / (2 * count), z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return (middle - spread) / (1 + z**2 / count), (middle + spread) / (1 + z**2 / count)


def ratio(hits: int, count: int, base_hits: int, base_count: int) -> tuple[float, float, float]:
    """Returns how many times as often, with its 95 % interval on the logarithm (Katz 1978).

    Half a hit is added to both sides, so that none at all has an interval too
    (Katz 1978, https://doi.org/10.2307/2530610; Walter 1975 for the half).
    """
    a, n, b, m = hits + 0.5, count + 0.5, base_hits + 0.5, base_count + 0.5
    middle, spread = math.log(a / n / (b / m)), 1.96 * math.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
    return math.exp(middle), math.exp(middle - spread), math.exp(middle + spread)


def problem_of(task: str, arguments: argparse.Namespace) -> tuple[DictConfig, Problem]:
    """Builds what kernels of a task are judged with."""
    sampling = [f"operators.mutate.sampling.{name}={value}" for name, value in sampled(arguments).items()]
    config = composed([f"task={task}", "operators=llm", *sampling, *arguments.overrides])
    return config, build_problem(config)


def sampled(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns how answers are drawn."""
    return {"temperature": arguments.temperature, "max_tokens": arguments.max_tokens}


def measured(task: str, client: Client, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields a record of every answer to every prompt on one task.

    Raises:
        FitnessError: The machine or the task is broken.
        LLMError: The server cannot be asked.
    """
    listening = Listening(client)
    config, problem = problem_of(task, arguments)
    calibration = problem.evaluator.calibrate()
    kernel = problem.task.seed_kernel(problem.language.name)
    seed = Seed(kernel, problem.evaluator.evaluate(kernel, calibration))
    facts = {name: str(value) for name, value in problem.target.describe().items()}
    brief = Brief(problem.task, problem.target, problem.language, listening, hardware=facts)
    verdicts: dict[str, Evaluation] = {}
    for name, operator in chosen(arguments.arms, arms(config, sampled(arguments))).items():
        streams = [np.random.default_rng([arguments.seed, turn]) for turn in range(arguments.samples)]
        with ThreadPoolExecutor(arguments.in_flight) as pool:
            proposals = list(pool.map(lambda rng, operator=operator: operator.propose([seed], brief, rng), streams))
        # Kernels are judged when the model is idle: it may share the device with them. Each is judged once.
        for made in proposals:
            kernel = made.kernel
            if kernel is not None and kernel.digest not in verdicts:
                verdicts[kernel.digest] = problem.evaluator.evaluate(kernel, calibration)
            verdict = verdicts[kernel.digest] if kernel is not None else None
            yield record(problem, name, made, listening.answers[made.requests[0]], verdict)


def judged_again(records: Sequence[Mapping[str, Any]], arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields stored answers as the reader and the evaluator of today see them."""
    for task in dict.fromkeys(each["task"] for each in records):
        _, problem = problem_of(task, arguments)
        calibration = problem.evaluator.calibrate()
        seed = problem.task.seed_kernel(problem.language.name)
        wanted = contract(problem.task, problem.language.name, problem.language.grammar)
        for each in records:
            if each["task"] != task:
                continue
            reading = read_answer(each["text"], wanted, seed.source, each["mode"], each["finish_reason"])
            source = reading.source
            kernel = Kernel(source, wanted.language, wanted.entry_point) if source is not None else None
            verdict = problem.evaluator.evaluate(kernel, calibration) if kernel is not None else None
            yield {**each, "outcome": str(reading.outcome), **judgement(verdict)}


def judgement(verdict: Evaluation | None) -> dict[str, Any]:
    """Returns what is kept of a verdict."""
    if verdict is None:
        return {"status": None, "speedup": None}
    return {"status": str(verdict.status), "speedup": verdict.speedup}


def record(
    problem: Problem, arm: str, made: Proposal, answer: Completion, verdict: Evaluation | None
) -> dict[str, Any]:
    """Returns what became of a proposal."""
    return {
        "schema": SCHEMA,
        "arm": arm,
        "task": problem.task.name,
        "language": problem.language.name,
        "mode": "diff" if arm.endswith("diff") else "full",
        "model": answer.model,
        "finish_reason": answer.finish_reason,
        "text": answer.text,
        "outcome": made.outcome,
        **judgement(verdict),
    }


def table(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns rates by prompt, over all tasks and for each."""
    lines = []
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in records:
        groups.setdefault((each["arm"], "all"), []).append(each)
        groups.setdefault((each["arm"], each["task"]), []).append(each)
    for (arm, task), members in sorted(groups.items()):
        counts = Counter(str(each["status"] or each["outcome"]) for each in members)
        low, high = interval(counts["ok"], len(members))
        best = max((each["speedup"] or 0.0 for each in members), default=0.0)
        rest = ", ".join(f"{name} {count}" for name, count in counts.most_common() if name != "ok")
        valid = f"{counts['ok']}/{len(members)} valid ({low:.0%} to {high:.0%})"
        lines.append(f"{arm:10} {task:12} {valid}, best {best:.2f}x; {rest}")
    return "\n".join([*lines, *ratios({arm: members for (arm, task), members in groups.items() if task == "all"})])


def ratios(by_arm: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Returns, for each prompt but the plain one, how many times as many of its answers are valid."""
    hits = {arm: sum(each["status"] == "ok" for each in members) for arm, members in by_arm.items()}
    lines = []
    for arm, members in by_arm.items():
        if arm != "plain" and "plain" in by_arm:
            times, low, high = ratio(hits[arm], len(members), hits["plain"], len(by_arm["plain"]))
            lines.append(f"{arm} / plain: {times:.2f} times as many valid kernels ({low:.2f} to {high:.2f})")
    return lines


def options() -> argparse.ArgumentParser:
    """Returns what can be said on the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.prompts", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--url", help="base URL of an OpenAI-compatible server")
    source.add_argument("--answers", type=Path, action="append", metavar="FILE", help="stored answers; may be repeated")
    parser.add_argument("--model", default="", help="the server's; the first on offer unless given")
    parser.add_argument("--tasks", default="softmax,row_sum,matmul,layer_norm", help="names, with commas")
    parser.add_argument("--arms", default="", help="names of prompts, with commas; all unless given")
    parser.add_argument("--samples", type=int, default=48, help="answers for each prompt and task")
    parser.add_argument("--in-flight", type=int, default=48, help="requests open at once")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one whole answer")
    parser.add_argument("--gather", type=float, default=0.0, help="seconds in which requests join to one with choices")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--max-tokens", type=int, default=1536)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where the answers are stored, a line of JSON each")
    parser.add_argument("overrides", nargs="*", help="of the configuration, e.g. language=triton target=nvidia")
    return parser


def stored(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Reads records that were written with ``--out``."""
    texts = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in paths]
    return [json.loads(line) for text in texts for line in text.decode().splitlines()]


def asked(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields what a server answers on all tasks."""
    limits = {"timeout_s": arguments.timeout, "gather_s": arguments.gather}
    with ServerClient(arguments.url, arguments.model, **limits) as client:
        for task in arguments.tasks.split(","):
            yield from measured(task, client, arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a table and stores the answers."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    found = judged_again(stored(arguments.answers), arguments) if arguments.answers else asked(arguments)
    records = []
    with ExitStack() as stack:
        out = stack.enter_context(arguments.out.open("w", encoding="utf-8")) if arguments.out is not None else None
        for each in found:
            records.append(each)
            if out is not None:  # at once: answers of a model are dear, and a run may be stopped
                out.write(json.dumps(each) + "\n")
                out.flush()
    print(table(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
