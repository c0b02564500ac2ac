"""What a command says when it cannot go on: one line that tells what to do, and an exit status.

Exit statuses: 0 done, 1 the thing asked for failed, 2 a usage or configuration error, 130 and 143
stopped by SIGINT and SIGTERM (a program that is still importing ends by the signal itself, which shells report as the
same). A traceback is shown only for a fault of this program.
"""

from __future__ import annotations

import codecs
import difflib
import errno
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from evolve import EvolveError, JournalMismatch
from fitness import FitnessError
from llm import LLMError

FAILED = 1
USAGE = 2

HIDDEN = frozenset({"hydra", "_target_", "_partial_", "run_dir"})
"""Keys that nobody sets by hand."""


class ConfigError(Exception):
    """The configuration or the command line is wrong; the message names the key and what is allowed."""


class RunError(Exception):
    """The thing asked for failed, for a reason that a person can act on."""


ITEM = "'task.time_sizes=[{M: 64, N: 256}]' or task.time_sizes.0.M=64"
"""How a list, and an item of one, is set on a command line."""

KNOWN: tuple[type[Exception], ...] = (
    ConfigError,
    RunError,
    FitnessError,
    LLMError,
    EvolveError,
    HydraException,
    OmegaConfBaseException,
    OSError,
    ImportError,
    BrokenProcessPool,
    MemoryError,
)
"""What a person is told in one line; anything else is a fault of this program and shows its traceback."""


REMEDIES: Mapping[int | None, str] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, then run the same command again"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more (ulimit -n), or use fewer workers"),
}
"""What to do where the system does not say it, by error."""


class Terminated(BaseException):
    """SIGTERM arrived. Like `KeyboardInterrupt`, it is no `Exception`: nobody swallows it."""


def main(command: Callable[[], int]) -> int:
    """Runs a command and turns what it raises into one line on standard error.

    Returns:
        The exit status.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra would print a traceback and exit by itself
    _stand_streams_up()
    try:
        with signals_raise():
            status = command()
            _flush()
            return status
    except SystemExit as stop:  # argparse, --help
        return stop.code if isinstance(stop.code, int) else USAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing left to flush to
        return FAILED
    except (KeyboardInterrupt, Terminated) as stop:
        return stopped(stop)
    except KNOWN as fault:
        message, status = explain(_of_output(fault))
        print(f"error: {message}", file=sys.stderr)
        return status
    except ValueError as fault:
        if (word := _word_in_a_list(fault)) is None:
            raise
        print(
            f"error: {word!r} stands in an override where a list is: items have numbers, as in {ITEM}", file=sys.stderr
        )
        return USAGE


def _word_in_a_list(fault: ValueError) -> str | None:
    """Returns what an override has for the number of an item, told without a key by OmegaConf; None for others."""
    *_, (frame, _) = traceback.walk_tb(fault.__traceback__)
    word = re.fullmatch(r"invalid literal for int\(\) with base 10: '(.*)'", str(fault))
    return word[1] if word and frame.f_globals.get("__name__") == "omegaconf.omegaconf" else None


def _stand_streams_up() -> None:
    """Makes standard output take any text, and standard streams that are closed lead nowhere.

    Else a file of a run would be opened in the place of a closed one, and take what compilers print.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_utf8 = codecs.lookup(sys.stdout.encoding).name == "utf-8"
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "replace")  # paths as they are; no × in ASCII


def _flush() -> None:
    """Hands over what was printed, as long as a failure can still be told.

    Raises:
        OSError: It cannot be; what is left of it goes nowhere.
    """
    if sys.stdout is None:
        return
    try:
        with naming("standard output"):
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


def _of_output(fault: Exception) -> Exception:
    """Returns what standard output has to say, where it may have been that which the system refused."""
    if isinstance(fault, OSError) and not fault.filename:
        try:
            _flush()
        except OSError as again:
            return again
    return fault


@contextmanager
def naming(place: Path | str) -> Iterator[None]:
    """Has what the system refuses meanwhile name a place: other than opening, writing to a file tells none."""
    try:
        yield
    except OSError as fault:
        fault.filename = fault.filename or str(place)
        raise


def stopped(stop: BaseException) -> int:
    """Returns the exit status that says which signal ended the program."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Makes SIGTERM raise `Terminated` and SIGINT `KeyboardInterrupt` in the main thread: everything is put away.

    A SIGINT that is ignored or handled already stays so.
    """

    def handle(signum: int, frame: FrameType | None) -> None:
        raise Terminated

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGTERM, handle)
    if before[signal.SIGINT] is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def explain(fault: Exception) -> tuple[str, int]:
    """Returns a line for people and an exit status for one of `KNOWN`."""
    if isinstance(fault, ConfigError | JournalMismatch):
        return one_line(str(fault)), USAGE
    if isinstance(fault, HydraException | OmegaConfBaseException):
        return composition(fault), USAGE
    if isinstance(fault, OSError):
        return system(fault), FAILED
    if isinstance(fault, MemoryError):
        words = one_line(str(fault)) or "smaller sizes (task.time_sizes) and fewer workers need less"
        return f"this machine has not enough memory: {words}", FAILED
    if isinstance(fault, BrokenProcessPool):
        return "one of the processes of this command was ended from outside; run the same command again", FAILED
    return one_line(str(fault)), FAILED


def told_of(path: Path, fault: Exception) -> str:
    """Returns a line for people on one of several things that a command was given; each is named once."""
    text, _ = explain(fault)
    return text if str(path) in text else f"{path}: {text}"


def system(fault: OSError) -> str:
    """Returns what the operating system refused, with the path."""
    if fault.errno == errno.ENOENT and not fault.filename and not _has_current_folder():
        return "the current folder is there no more; change into another one"
    where = f"{fault.filename}: " if fault.filename else ""
    remedy = f"; {REMEDIES[fault.errno]}" if fault.errno in REMEDIES else ""
    return one_line(f"{where}{fault.strerror or fault}{remedy}")


def _has_current_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def composition(fault: Exception) -> str:
    """Returns what Hydra or OmegaConf refused: the key, and what is allowed there."""
    cause = fault.__cause__
    if isinstance(cause, ConfigError):  # a constructor's own, which Hydra wraps
        return one_line(str(cause))
    if isinstance(fault, MissingConfigException) and fault.missing_cfg_file is not None and fault.options is not None:
        group, _, name = fault.missing_cfg_file.rpartition("/")
        return f"{group}={name}: unknown {group}; {choices(name, fault.options)}"
    if isinstance(fault, OverrideParseException):
        hint = "write key=value, with value in quotes inside the shell's if it holds , = [ or letters beyond ASCII"
        return f"cannot read the override {fault.override!r}; {hint}"
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and cause.full_key:
        return _unknown(cause)
    for each in (fault, cause):
        if isinstance(each, OmegaConfBaseException) and each.full_key:
            return one_line(f"{each.full_key}: {str(each).splitlines()[0]}")
    return one_line(str(fault))


def _unknown(fault: ConfigKeyError | ConfigAttributeError) -> str:
    """Returns what is said of a key that is not there: what is, and how an argument that is not listed is added."""
    key, node = str(fault.full_key), fault.parent_node
    known = list(node.keys()) if isinstance(node, DictConfig) else []
    group = key.partition(".")[0]
    if not known and (files("conf") / group).is_dir() and key == f"{group}.{fault.key}":
        return f"{key}: the {group} that is chosen has no keys; choose another with {group}=NAME, see --help"
    hint = choices(str(fault.key), [str(each) for each in known])
    if "_target_" in known:
        hint += f"; an argument of {node['_target_']} that is not listed is added by +{key}=…"
    elif any("_target_" in each for each in _above(node)):
        hint += f"; another one is added by +{key}=…"
    return f"{key}: unknown key; {hint}"


def _above(node: Any) -> Iterator[DictConfig]:
    """Yields the mappings that a node is in: below one that is built, keys are that callable's business."""
    while (node := node._get_parent()) is not None:
        if isinstance(node, DictConfig):
            yield node


def choices(given: str, known: Sequence[str]) -> str:
    """Returns ``did you mean …? choose from …``, the first half only when something is near."""
    names = sorted(name for name in known if name not in HIDDEN)
    near = difflib.get_close_matches(given, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{hint}choose from {', '.join(names)}" if names else f"{hint}nothing is allowed here"


def one_line(text: str) -> str:
    """Returns ``text`` without line breaks, runs of spaces and Hydra's references to its manual."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith("See https://")]
    return " ".join(" ".join(lines).split())
