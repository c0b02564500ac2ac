"""``environment.json``: under which circumstances a run was made. Facts for people and for replay.

``python -m experiments.environment`` prints those of this copy, so that a record's digest of the code can be compared.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evolve import json_text

from . import faults
from .names import DISTRIBUTION, PACKAGES
from .records import json_object, write_json

SCHEMA = "kernelwright.environment/1"
LIBRARIES = (
    "numpy",
    "deap",
    "hydra-core",
    "omegaconf",
    "scipy",
    "openai",
    "tree-sitter",
    "tree-sitter-cpp",
    "torch",
    "triton",
    "numba",
    "pyopencl",
    "pocl-binary-distribution",
)
TRAJECTORY = ("python", "numpy", "deap")
"""What bit-identical replay is promised for; a random stream may change between releases of these."""


def versions() -> dict[str, str]:
    """Returns the versions of Python, of this distribution and of the libraries that are installed."""
    found = {DISTRIBUTION: _version(DISTRIBUTION) or "from a checkout", "python": platform.python_version()}
    return found | {name: text for name in LIBRARIES if (text := _version(name)) is not None}


def _version(distribution: str) -> str | None:
    """Returns an installed version without importing anything."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


HOME = Path(__file__).resolve().parent.parent
CHANGED = " with changes"


def git_revision() -> str | None:
    """Returns the commit of the checkout that this code lies in, marked when it was changed; None outside one."""
    if not (HOME / ".git").exists():
        return None
    revision = _git("rev-parse", "HEAD")
    if revision is None:
        return None
    return revision + (CHANGED if _git("status", "--porcelain", "--untracked-files=no") else "")


def revision_standing(revision: str | None) -> str:
    """Says whether a recorded revision can be found again: whether this checkout's history holds it, unchanged."""
    if revision is None:
        return "none: the code did not lie in a checkout"
    if revision.endswith(CHANGED):
        return "the code was changed since that commit"
    if _git("merge-base", "--is-ancestor", revision, "HEAD") is None:
        return "that commit is not in the history of the checkout that stored the result"
    return "that commit is in the history of the checkout that stored the result"


@cache
def code_digest() -> str:
    """Returns a digest of names and contents of all files of our packages but stored results, in hex.

    A commit may be lost or rewritten; what has the same digest is the same code.
    """
    found = hashlib.sha256()
    folders = (*PACKAGES, "hydra_plugins/kernelwright")  # in an environment, plugins of others lie beside ours
    for path in sorted(path for folder in folders for path in (HOME / folder).rglob("*")):
        name = path.relative_to(HOME).as_posix()
        if path.is_file() and "/__pycache__/" not in name and not name.startswith("experiments/results/"):
            content = path.read_bytes()
            found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def here() -> dict[str, Any]:
    """Returns versions, code and platform."""
    return {**versions(), "git_revision": git_revision(), "code": code_digest(), "platform": platform.platform()}


def _git(*arguments: str) -> str | None:
    """Returns what git says of the checkout that this code lies in; None where it is missing or refuses."""
    try:
        done = subprocess.run(
            ["git", "-C", str(HOME), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


OF_A_RUN, OF_A_SWEEP = "environment.json", "sweep_environment.json"
"""The file of a run, and that of a sweep whose runs have no folders of their own."""


def keep_environment(facts: Mapping[str, Any], choices: Mapping[str, str], path: Path) -> None:
    """Writes an environment into a file; what a later attempt finds changed is added, never put in its place.

    Raises:
        RunError: What is there is damaged.
        OSError: It cannot be written.
    """
    now = here() | dict(facts)
    record: dict[str, Any] = {"schema": SCHEMA, "choices": dict(choices), **now}
    if first := json_object(path):
        changed = {key: value for key, value in now.items() if first.get(key) != value}
        later = first.get("later_attempts", [])
        if not changed or (later and later[-1] == changed):
            return
        record = {**first, "later_attempts": [*later, changed]}
    write_json(path, record)


def main() -> int:
    """Prints versions, code and platform as one JSON object."""
    print(json_text(here(), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(faults.main(main))
