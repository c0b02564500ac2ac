"""Which prompt gives the most valid kernels: ``python -m experiments.benchmarks.prompts --url URL``.

Asks a server for kernels with several prompts on the same seeds, reads and judges every answer, and
prints for each prompt and task how many were read, built and correct. ``plain`` is the prompt that
anybody would write; the others are operators as the configuration has them. Answers are stored, so
that the reader can be measured on them later.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitness import Evaluation, Kernel
from llm import Client, Completion, Message, Request, ServerClient
from operators import Brief, LLMMutation, Proposal
from operators.asking import Sampling, proposal, read
from operators.author import contract_of

from ..build import Problem, build_problem
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


def arms(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the prompts that are compared."""
    return {
        "plain": Plain(sampling),
        "mutate": LLMMutation(sampling=sampling),
        "mutate_knowledge": LLMMutation(sampling=sampling, ingredients={"knowledge": 2}),
        "mutate_diff": LLMMutation(sampling=sampling, mode="diff"),
    }


def interval(hits: int, count: int) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of a proportion."""
    z, p = 1.96, hits / count
    middle, spread = p + z**2 / (2 * count), z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return (middle - spread) / (1 + z**2 / count), (middle + spread) / (1 + z**2 / count)


def measured(problem: Problem, client: Client, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields a record of every answer to every prompt on one task.

    Raises:
        FitnessError: The machine or the task is broken.
        LLMError: The server cannot be asked.
    """
    listening = Listening(client)
    calibration = problem.evaluator.calibrate()
    kernel = problem.task.seed_kernel(problem.language.name)
    seed = Seed(kernel, problem.evaluator.evaluate(kernel, calibration))
    facts = {name: str(value) for name, value in problem.target.describe().items()}
    brief = Brief(problem.task, problem.target, problem.language, listening, hardware=facts)
    sampling = {"temperature": arguments.temperature, "max_tokens": arguments.max_tokens}
    verdicts: dict[str, Evaluation] = {}
    for name, operator in arms(sampling).items():
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
        "status": str(verdict.status) if verdict is not None else None,
        "speedup": verdict.speedup if verdict is not None else None,
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
        lines.append(f"{arm:18} {task:12} {valid}, best {best:.2f}x; {rest}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a table and stores the answers."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.prompts", description=__doc__)
    parser.add_argument("--url", required=True, help="base URL of an OpenAI-compatible server")
    parser.add_argument("--model", default="", help="its model; the first on offer unless given")
    parser.add_argument("--tasks", default="softmax,row_sum,matmul,layer_norm", help="names, with commas")
    parser.add_argument("--samples", type=int, default=48, help="answers for each prompt and task")
    parser.add_argument("--in-flight", type=int, default=48, help="requests open at once")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--max-tokens", type=int, default=1536)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where the answers are stored, a line of JSON each")
    parser.add_argument("overrides", nargs="*", help="of the configuration, e.g. language=triton target=h200")
    arguments = parser.parse_args(argv)
    records: list[dict[str, Any]] = []
    with ExitStack() as stack:
        client = stack.enter_context(ServerClient(arguments.url, arguments.model))
        out = stack.enter_context(arguments.out.open("w", encoding="utf-8")) if arguments.out is not None else None
        for name in arguments.tasks.split(","):
            problem = build_problem(composed([f"task={name}", *arguments.overrides]))
            for each in measured(problem, client, arguments):
                records.append(each)
                if out is not None:  # at once: answers of a model are dear, and a run may be stopped
                    out.write(json.dumps(each) + "\n")
                    out.flush()
    print(table(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
