"""``environment.json``: under which circumstances a run was made. Facts for people and for replay."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .names import DISTRIBUTION
from .records import write_whole

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


def git_revision() -> str | None:
    """Returns the commit of the checkout that this code lies in, marked when it was changed; None outside one."""
    home = Path(__file__).resolve().parent.parent
    if not (home / ".git").exists():
        return None
    revision = _git(home, "rev-parse", "HEAD")
    if revision is None:
        return None
    return revision + (" with changes" if _git(home, "status", "--porcelain", "--untracked-files=no") else "")


def _git(home: Path, *arguments: str) -> str | None:
    """Returns what git says; None where it is missing or refuses."""
    try:
        done = subprocess.run(
            ["git", "-C", str(home), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def keep_environment(facts: Mapping[str, Any], choices: Mapping[str, str], run_dir: Path) -> None:
    """Writes ``environment.json``; what a later attempt finds changed is added, never put in its place.

    Raises:
        OSError: It cannot be written.
    """
    path = run_dir / "environment.json"
    now = {
        **versions(),
        "git_revision": git_revision(),
        "platform": platform.platform(),
    } | dict(facts)
    record: dict[str, Any] = {"schema": SCHEMA, "choices": dict(choices), **now}
    if path.exists():
        first = json.loads(path.read_text(encoding="utf-8"))
        changed = {key: value for key, value in now.items() if first.get(key) != value}
        later = first.get("later_attempts", [])
        if not changed or (later and later[-1] == changed):
            return
        record = {**first, "later_attempts": [*later, changed]}
    write_whole(path, (json.dumps(record, indent=1) + "\n").encode())
