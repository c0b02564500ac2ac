"""A client that plays answers of a real model that were recorded elsewhere, whatever it is asked."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .request import Completion, Request

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PACKAGED = "pkg://"


class ReplayedClient:
    """Draws each answer from those that a model once gave to other prompts about the same task.

    What it says does not depend on what it is asked: a run with it shows how a search copes with answers
    of this quality, and never how well the model would have done. Which answer is given follows from the request's
    seed alone, so that runs are independent of the order in which threads ask.

    Args:
        path: A file with one JSON object a line, ``.jsonl`` or ``.jsonl.gz``: the fields of `Completion`.
            ``pkg://PACKAGE/FILE`` names a file inside an installed package.

    Raises:
        ValueError: There is no such file, or it holds no answers.
    """

    def __init__(self, path: str) -> None:
        try:
            lines = _content(path).decode("utf-8").splitlines()
            self._answers = [Completion.from_json(json.loads(line)) for line in lines]
        except (OSError, ModuleNotFoundError, UnicodeDecodeError) as fault:
            raise ValueError(f"path: {path}: cannot be read: {fault}") from fault
        except (TypeError, AttributeError, json.JSONDecodeError) as fault:
            raise ValueError(f"path: {path}: each line must be a completion as JSON: {fault}") from fault
        if not self._answers:
            raise ValueError(f"path: {path}: holds no answers")

    def complete(self, request: Request) -> Completion:
        """Returns the answer that the request's seed draws; its model is marked as recorded."""
        answer = self._answers[request.seed % len(self._answers)]
        return replace(answer, model=f"recorded {answer.model}")


def _content(path: str) -> bytes:
    """Reads a file, unpacked.

    Raises:
        OSError: It cannot be read.
        ModuleNotFoundError: There is no such package.
    """
    source: Traversable | Path = Path(path)
    if path.startswith(PACKAGED):
        package, _, name = path.removeprefix(PACKAGED).partition("/")
        source = files(package) / name
    content = source.read_bytes()
    return gzip.decompress(content) if path.endswith(".gz") else content
