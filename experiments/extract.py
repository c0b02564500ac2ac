"""What the reader of model answers makes of a stored one: ``python -m experiments.extract reply=FILE task=softmax``.

Prints one JSON object on standard output, so that a person can see why an answer was refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from evolve import json_text
from operators.contract import contract
from operators.reading import LONGEST_ANSWER, Mode, read_answer

from . import faults
from .build import make
from .composition import command_line
from .faults import ConfigError
from .names import check_import_names

EPILOG = """\
keys of this command:
  reply=FILE              what the model said
  parent=FILE             the kernel that it was shown; needed for mode=diff
  mode=full|diff          what it was asked for: a whole kernel (the default) or SEARCH/REPLACE edits
  finish_reason=stop      "length" if the model was cut off

keys of the configuration that matter here: task, language.
example:
  python -m experiments.extract reply=answer.txt parent=kernel.cpp mode=diff language=cpp task=softmax

the object on standard output holds outcome, source (null unless the outcome is "parsed"), reason,
and note, which says what was mended.
exit status: 0 whatever the outcome, 2 wrong usage
"""

MOST_BYTES = 4 * LONGEST_ANSWER
"""Of a file: UTF-8 has at most four a character."""

KEYS: Mapping[str, bool] = {"reply": True, "parent": False, "mode": False, "finish_reason": False}


def read_text(key: str, path: Path) -> str:
    """Returns a file's text; bytes that are no UTF-8 become replacement characters.

    Raises:
        ConfigError: It cannot be read, or is no plain file of at most `MOST_BYTES`.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ConfigError(f"{key}: {path} is no plain file")  # a device or a pipe may have no end
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"{key}: {path} holds more than {MOST_BYTES} bytes; no answer is that long")
        return content.decode("utf-8-sig", errors="replace")
    except FileNotFoundError as fault:
        raise ConfigError(f"{key}: {path} does not exist") from fault
    except OSError as fault:
        raise ConfigError(f"{key}: {path} cannot be read: {fault.strerror}") from fault


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Reads one answer."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.extract",
        description="Reads a stored answer of a model and prints what comes of it as one JSON object.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own, config = command_line(argv, parser, KEYS)
    mode: Mode = "diff" if own.get("mode") == "diff" else "full"
    if own.get("mode", "full") not in get_args(Mode):
        raise ConfigError(f"mode: must be one of {', '.join(get_args(Mode))}, is {own['mode']!r}")
    if mode == "diff" and "parent" not in own:
        raise ConfigError("parent: missing; mode=diff needs the kernel that the edits refer to")
    task, language = make(config, "task"), make(config, "language")
    reply = read_text("reply", Path(own["reply"]))
    parent = read_text("parent", Path(own["parent"])) if "parent" in own else None
    wanted = contract(task, language.name, language.grammar)
    reading = read_answer(reply, wanted, parent, mode, own.get("finish_reason", "stop"))
    told = {"outcome": str(reading.outcome), "source": reading.source, "reason": reading.reason, "note": reading.note}
    print(json_text({"schema": "kernelwright.reading/1", **told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
