"""What was said between a run and its model: ``python -m experiments.transcript RUN_DIR``.

Prints every request and answer for people, or one JSON object a line with ``--jsonl``.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from evolve import json_text, read_journal
from llm import Completion, Request

from . import faults
from .build import journal_of
from .faults import ConfigError
from .names import check_import_names
from .records import json_lines
from .wording import count_text

EPILOG = """\
examples:
  python -m experiments.transcript runs/NAME                     for reading
  python -m experiments.transcript runs/NAME --only truncated    only proposals with this outcome
  python -m experiments.transcript runs/NAME --jsonl > all.jsonl
  python -m experiments.transcript runs/NAME --summary --by individual   what each slot cost

Proposals are named where generations.jsonl tells which request was behind which one.
exit status: 0 done, 1 the journal cannot be read, 2 wrong usage
"""

SCHEMA = "kernelwright.transcript/1"


@dataclass(frozen=True)
class Exchange:
    """One request and its answer.

    Attributes:
        key: Digest of the request.
        at_s: When it was recorded, in seconds since the run began.
        proposals: Records of the proposals that used it, from ``generations.jsonl``.
    """

    key: str
    at_s: float
    request: Request
    completion: Completion
    proposals: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns a JSON object."""
        return {
            "schema": SCHEMA,
            "key": self.key,
            "at_s": self.at_s,
            "request": self.request.to_json(),
            "completion": self.completion.to_json(),
            "proposals": [dict(proposal) for proposal in self.proposals],
        }


def exchanges(run_dir: Path) -> Iterator[Exchange]:
    """Yields what was said, in the order of recording.

    Raises:
        ConfigError: There is no journal in ``run_dir``.
        JournalError: It cannot be read.
    """
    journal = journal_of(run_dir)
    if not journal.is_file():
        raise ConfigError(f"{run_dir} holds no journal.jsonl; give the directory of a run")
    proposals = _proposals(run_dir / "generations.jsonl")
    for kind, key, at_s, value in read_journal(journal):
        if kind == "completion":
            request, completion = Request.from_json(value["request"]), Completion.from_json(value["completion"])
            yield Exchange(key, at_s, request, completion, tuple(proposals.get(key, ())))


def _proposals(path: Path) -> dict[str, list[Mapping[str, Any]]]:
    """Returns, for each request's digest, the records of individuals that name it."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for line in json_lines(path):
        for record in _objects(line):
            for key in record.get("requests") or ():
                kept = {name: record.get(name) for name in ("slot", "operator", "outcome", "note", "kernel")}
                found.setdefault(str(key), []).append(kept)
    return found


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every JSON object inside a value."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def for_people(exchange: Exchange) -> str:
    """Returns an exchange as text. Control characters of the model's are shown, not sent to the terminal."""
    completion, request = exchange.completion, exchange.request
    sampling = f"seed {request.seed}, temperature {request.temperature:g}, top_p {request.top_p:g}"
    made = count_text(completion.completion_tokens, "token")
    cost = f"{completion.prompt_tokens} + {made}, {completion.latency_s:.1f} s"
    cost += f" ({completion.device_s:.1f} device-seconds)" if completion.device_s else ""
    model = f"{completion.model or request.model or 'model'} on {completion.server or 'an unknown server'}"
    lines = [f"=== {exchange.key}  at {exchange.at_s:.1f} s: {model}; {sampling}; {cost}"]
    for proposal in exchange.proposals:
        lines.append(
            f"    slot {proposal['slot']}, {proposal['operator']}: {proposal['outcome']}. {proposal['note'] or ''}"
        )
    for message in request.messages:
        lines += [f"--- {message.role}", message.content]
    lines += [f"    cut: {cut}" for cut in completion.cuts] + [
        f"    tried again: {retry}" for retry in completion.retries
    ]
    if completion.reasoning:
        lines += ["--- reasoning", completion.reasoning]
    lines += [f"--- answer ({completion.finish_reason})", completion.text, ""]
    return visible("\n".join(lines))


def summary(found: Iterable[Exchange], by: str = "operator") -> str:
    """Returns what requests cost and how they ended.

    Args:
        found: The requests of a run.
        by: ``"operator"`` or ``"individual"``: what has a line of its own.
    """
    rows: dict[str, Counter[str]] = {}
    for exchange in found:
        completion = exchange.completion
        row = rows.setdefault(_asker(exchange, by), Counter())
        row["requests"] += 1
        row["failed"] += completion.finish_reason in ("timeout", "rejected")
        row["cut off"] += completion.finish_reason == "length"
        row["retries"] += len(completion.retries)
        row["prompt tokens"] += completion.prompt_tokens
        row["answer tokens"] += completion.completion_tokens
        row["latency s"] += round(completion.latency_s * 1000)
        row["device s"] += round(completion.device_s * 1000)
        for proposal in exchange.proposals:
            row[f"→ {proposal['outcome']}"] += 1
    lines = []
    for operator, row in rows.items() if by == "individual" else sorted(rows.items()):
        told = [
            f"{name} {value / 1000:.1f}" if name.endswith(" s") else f"{name} {value}" for name, value in row.items()
        ]
        lines.append(f"{operator}: {', '.join(told)}")
    return "\n".join(lines)


def _asker(exchange: Exchange, by: str) -> str:
    """Returns the operator, or the slot, that a request was made for; equal requests count for the first."""
    if not exchange.proposals:
        return "unknown"
    first = exchange.proposals[0]
    return f"slot {first['slot']} ({first['operator']})" if by == "individual" else str(first["operator"])


def visible(text: str) -> str:
    """Returns a text with its control characters spelt out, those that reverse the order of letters among them."""
    return "".join(
        each
        if each in "\n\t" or each.isprintable() or unicodedata.category(each) == "Zs"
        else each.encode("unicode_escape").decode()
        for each in text
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Prints one run's transcript."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.transcript",
        description="Prints the requests and answers of a run's model, from its journal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the directory of a run")
    parser.add_argument("--jsonl", action="store_true", help="one JSON object a line instead of text")
    parser.add_argument("--summary", action="store_true", help="one line an operator: requests, tokens, time, outcomes")
    parser.add_argument("--by", choices=["operator", "individual"], default="operator", help="a line of the summary")
    parser.add_argument("--only", metavar="OUTCOME", help="only requests behind a proposal with this outcome")
    arguments = parser.parse_args(argv)
    found: Iterator[Exchange] = (each for each in exchanges(arguments.run_dir) if _has_outcome(each, arguments.only))
    first = next(found, None)
    if first is None:
        behind = f" behind a proposal with the outcome {arguments.only}" if arguments.only else ""
        print(f"{arguments.run_dir}: the journal holds no request to a model{behind}", file=sys.stderr)
        return 0
    found = chain([first], found)
    if arguments.summary:
        print(summary(found, arguments.by))
        return 0
    for exchange in found:
        print(json_text(exchange.to_json()) if arguments.jsonl else for_people(exchange))
    return 0


def _has_outcome(exchange: Exchange, outcome: str | None) -> bool:
    """Returns whether a request is behind a proposal with this outcome; None stands for any."""
    return outcome is None or any(each["outcome"] == outcome for each in exchange.proposals)


if __name__ == "__main__":
    sys.exit(main())
