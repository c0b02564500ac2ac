"""Which prompt gives the most valid kernels: ``python -m experiments.benchmarks.prompts --url URL``.

Asks a server for kernels with several prompts on the same seeds, reads and judges every answer, and prints for each
prompt and task how many are valid: correct, and not the parent once more. ``plain`` is the prompt that anybody would
write, ``default`` is ``operators=llm``'s mutation as the configuration has it.

With ``--tune TASKS`` there are two stages: the prompt with most valid answers on these tasks is chosen, and that one
and ``plain`` are asked on ``--tasks``, which must be others. Answers are stored with ``--out``; ``--answers FILE``
reads and judges stored ones again, without a model. ``+target.measures_time=false`` checks kernels and times none;
``target=interpret --arch sm_90a`` needs no GPU: a kernel must be right in the interpreter and compile for that one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig
from rich.console import Console
from rich.progress import track

from evolve import json_text
from fitness import Calibration, Evaluation, Kernel, Status
from fitness.ahead import AheadLanguage, compile_ahead
from llm import Client, ServerClient
from operators import Brief
from operators.contract import contract
from operators.reading import read_answer

from .. import faults
from ..build import Problem, build_problem
from ..composition import composed
from ..records import write_whole
from ..wording import count_text
from .prompt_arms import Listening, Seed, arms, chosen
from .prompt_essence import essence_of
from .prompt_rates import best_arm, stages

SCHEMA = "kernelwright.benchmark.prompts/2"
Record = dict[str, Any]
Answer = tuple[Record, Kernel | None]


@dataclass(frozen=True)
class Ground:
    """A task on which prompts are tried.

    Attributes:
        seed: The kernel that is to be made faster.
        brief: What operators are told, but for the client.
    """

    config: DictConfig
    problem: Problem
    calibration: Calibration
    seed: Seed
    brief: Brief


def sampled(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns how answers are drawn."""
    return {"temperature": arguments.temperature, "max_tokens": arguments.max_tokens}


@contextmanager
def grounds(tasks: Sequence[str], arguments: argparse.Namespace) -> Iterator[dict[str, Ground]]:
    """Gets evaluators ready, all tasks at once, and ends their workers behind the block.

    Raises:
        FitnessError: The machine or a task is broken.
    """
    sampling = [f"operators.mutate.sampling.{name}={value}" for name, value in sampled(arguments).items()]
    configs = [composed([f"task={task}", "operators=llm", *sampling, *arguments.overrides]) for task in tasks]
    problems = [build_problem(config) for config in configs]
    with ExitStack() as stack:
        for problem in problems:
            stack.callback(problem.evaluator.close)
        pool = stack.enter_context(ThreadPoolExecutor(arguments.workers))
        yield dict(zip(tasks, pool.map(_ground, configs, problems), strict=True))


def _ground(config: DictConfig, problem: Problem) -> Ground:
    calibration = problem.evaluator.calibrate()
    kernel = problem.task.seed_kernel(problem.language.name)
    seed = Seed(kernel, problem.evaluator.evaluate(kernel, calibration))
    facts = {name: str(value) for name, value in problem.target.describe().items()}
    brief = Brief(problem.task, problem.target, problem.language, None, hardware=facts)
    return Ground(config, problem, calibration, seed, brief)


@dataclass(frozen=True)
class Question:
    """One answer that is wanted.

    Attributes:
        arm: Name of the prompt.
        operator: Writes it.
        seeds: Of all that is drawn.
    """

    ground: Ground
    arm: str
    operator: Any
    seeds: tuple[int, int]


def ask(question: Question, client: Client) -> Answer:
    """Asks once, and returns what is stored of it beside the kernel that was read.

    Raises:
        LLMError: The server cannot be asked.
    """
    listening, ground, arm = Listening(client), question.ground, question.arm
    brief = replace(ground.brief, client=listening)
    made = question.operator.propose([ground.seed], brief, np.random.default_rng(question.seeds))
    request, completion = listening.request, listening.completion
    assert request is not None and completion is not None  # noqa: PT018 - both or none
    record = {
        "schema": SCHEMA,
        "arm": arm,
        "task": ground.problem.task.name,
        "language": ground.problem.language.name,
        "mode": ground.config.operators.mutate.mode if arm == "default" else "diff" if arm == "diff" else "full",
        "model": completion.model,
        "prompt": request.messages[-1].content,
        "seed": request.seed,
        "temperature": request.temperature,
        "finish_reason": completion.finish_reason,
        "tokens": completion.completion_tokens,
        "text": completion.text,
        "outcome": made.outcome,
        **judgement(None),
    }
    return record, made.kernel


def judgement(verdict: Evaluation | None, kernel: Kernel | None = None, parent: Kernel | None = None) -> Record:
    """Returns what is kept of a verdict."""
    if verdict is None or kernel is None or parent is None:
        return {"status": None, "speedup": None, "kernel": None, "copy": False}
    essence = essence_of(kernel)
    copy = essence == essence_of(parent)
    return {"status": str(verdict.status), "speedup": verdict.speedup, "kernel": essence, "copy": copy}


def judged(answers: Sequence[Answer], known: Mapping[str, Ground], arguments: argparse.Namespace) -> list[Record]:
    """Returns the records with verdicts; kernels that are equal are judged once.

    Raises:
        FitnessError: The machine or the task is broken.
    """
    kernels = {(record["task"], kernel.digest): kernel for record, kernel in answers if kernel is not None}
    title = f"judging {count_text(len(kernels), 'different kernel')} of {count_text(len(answers), 'answer')}"

    def judge(key: tuple[str, str]) -> Evaluation:
        ground, kernel = known[key[0]], kernels[key]
        verdict = ground.problem.evaluator.evaluate(kernel, ground.calibration)
        return compiled(verdict, kernel, ground.problem, arguments.arch) if verdict.ok and arguments.arch else verdict

    with ThreadPoolExecutor(arguments.workers) as pool:
        coming = track(pool.map(judge, kernels), title, len(kernels), console=Console(stderr=True))
        verdicts = dict(zip(kernels, coming, strict=True))
    told = []
    for record, kernel in answers:
        verdict = verdicts[record["task"], kernel.digest] if kernel is not None else None
        told.append({**record, **judgement(verdict, kernel, known[record["task"]].seed.kernel)})
    return told


def compiled(verdict: Evaluation, kernel: Kernel, problem: Problem, arch: str) -> Evaluation:
    """Returns the verdict on a kernel that must also compile for hardware that need not be here.

    Raises:
        ConfigError: The language is not compiled ahead of time.
        FitnessError: The language compiles nothing for ``arch``, or its toolchain is not complete.
    """
    language = problem.language
    if not isinstance(language, AheadLanguage):
        raise faults.ConfigError(f"--arch: {language.name} is not compiled ahead of time")
    found = compile_ahead(kernel, problem.task, language, arch)
    return verdict if found.status is Status.OK else Evaluation(verdict.kernel, found.status, log=found.log)


def stage(
    name: str, tasks: Sequence[str], names: str, arguments: argparse.Namespace, keep: Callable[[Record], None]
) -> list[Record]:
    """Asks with the prompts of these names on all tasks, and judges when the model is idle: it may share the device.

    Args:
        name: Of the stage, for the records.
        tasks: That are asked about.
        names: Of the prompts, with commas; empty for all.
        arguments: Of the command.
        keep: Is given every answer as it comes: they are dear.

    Raises:
        FitnessError: The machine or the task is broken.
        LLMError: The server cannot be asked.
    """
    limits = {"timeout_s": arguments.timeout, "gather_s": arguments.gather}
    with grounds(tasks, arguments) as known, ServerClient(arguments.url, arguments.model, **limits) as client:
        questions = [
            Question(ground, arm, operator, (arguments.seed, turn))
            for ground in known.values()
            for arm, operator in chosen(names, arms(ground.config, sampled(arguments))).items()
            for turn in range(arguments.samples)
        ]
        print(f"{name}: asking {count_text(len(questions), 'time')}", file=sys.stderr)
        answers = []
        with ThreadPoolExecutor(arguments.in_flight) as pool:
            for record, kernel in pool.map(lambda question: ask(question, client), questions):
                answers.append(({**record, "stage": name}, kernel))
                keep(answers[-1][0])
        return judged(answers, known, arguments)


def judged_again(records: Sequence[Record], arguments: argparse.Namespace) -> list[Record]:
    """Returns stored answers as the reader and the evaluator of today see them."""
    with grounds(list(dict.fromkeys(each["task"] for each in records)), arguments) as known:
        answers = []
        for each in records:
            ground = known[each["task"]]
            language = ground.problem.language
            wanted = contract(ground.problem.task, language.name, language.grammar)
            parent = ground.seed.kernel.source
            reading = read_answer(each["text"], wanted, parent, each["mode"], each["finish_reason"])
            source = reading.source
            kernel = Kernel(source, wanted.language, wanted.entry_point) if source is not None else None
            answers.append(({**each, "outcome": str(reading.outcome)}, kernel))
        return judged(answers, known, arguments)


def two_stages(arguments: argparse.Namespace, keep: Callable[[Record], None]) -> list[Record]:
    """Chooses a prompt on the tasks for tuning, if any, and asks on the others."""
    tasks, tuning = arguments.tasks.split(","), arguments.tune.split(",") if arguments.tune else []
    if common := set(tasks) & set(tuning):
        raise faults.ConfigError(f"--tasks and --tune share {min(common)}: what tuned a prompt cannot test it")
    if not tuning:
        return stage("test", tasks, arguments.arms, arguments, keep)
    seen = stage("tuning", tuning, arguments.arms, arguments, keep)
    try:
        best = best_arm(seen)
    except ValueError as fault:
        raise faults.ConfigError(f"--arms: {fault}") from fault
    print(f"chosen: {best}", file=sys.stderr)
    return [*seen, *stage("test", tasks, f"plain,{best}", arguments, keep)]


def options() -> argparse.ArgumentParser:
    """Returns what can be said on the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.prompts", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--url", help="base URL of an OpenAI-compatible server")
    source.add_argument("--answers", type=Path, action="append", metavar="FILE", help="stored answers; may be repeated")
    parser.add_argument("--model", default="", help="the server's; the first on offer unless given")
    parser.add_argument("--tune", default="", help="names of tasks on which a prompt is chosen, with commas")
    parser.add_argument("--tasks", default="softmax,row_sum,matmul,layer_norm", help="names, with commas")
    parser.add_argument("--arms", default="", help="names of prompts, with commas; all unless given")
    parser.add_argument("--samples", type=int, default=48, help="answers for each prompt and task")
    parser.add_argument("--in-flight", type=int, default=48, help="requests open at once")
    parser.add_argument("--workers", type=int, default=1, help="kernels judged at once; timing is alone all the same")
    parser.add_argument("--arch", default="", help="that a correct kernel must compile for, e.g. sm_90a")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one whole answer")
    parser.add_argument("--gather", type=float, default=0.0, help="seconds in which requests join to one with choices")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--max-tokens", type=int, default=1536)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where the answers are stored, a line of JSON each")
    parser.add_argument("overrides", nargs="*", help="of the configuration, e.g. language=triton target=nvidia")
    return parser


def stored(paths: Sequence[Path]) -> list[Record]:
    """Reads records that were written with ``--out``.

    Raises:
        RunError: A file holds none.
    """
    records: list[Record] = []
    for path in paths:
        try:
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
            records += [json.loads(line) for line in text.decode().splitlines()]
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as fault:
            raise faults.RunError(f"{path}: holds no answers, a line of JSON each ({fault})") from fault
    return records


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a table and stores the answers."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    arguments = options().parse_intermixed_args(argv)
    if arguments.answers:  # which may lie where the records will
        records = judged_again(stored(arguments.answers), arguments)
    else:
        with ExitStack() as stack:
            out = stack.enter_context(arguments.out.open("w", encoding="utf-8")) if arguments.out is not None else None

            def keep(record: Record) -> None:
                if out is not None:
                    with faults.naming(arguments.out):
                        out.write(json_text(record) + "\n")
                        out.flush()

            records = two_stages(arguments, keep)
    if arguments.out is not None:  # again, with the verdicts
        write_whole(arguments.out, "".join(json_text(each) + "\n" for each in records).encode())
    print(stages(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
