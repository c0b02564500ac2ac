"""What this machine can do, and a clean environment for every test."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A shell lets its background jobs ignore Ctrl-C, and what tests start would inherit that and go on.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _nvidia() -> bool:
    return (
        shutil.which("nvidia-smi") is not None
        and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
    )


def _slurm() -> bool:
    return (
        shutil.which("sinfo") is not None
        and subprocess.run(["sinfo"], capture_output=True, check=False, timeout=30).returncode == 0
    )


PROBES = {
    "browser": (lambda: shutil.which("chromium") is not None, "chromium is not installed"),
    "gpu": (_nvidia, "no NVIDIA GPU"),
    "ray": (lambda: importlib.util.find_spec("ray") is not None, "ray is not installed"),
    "slurm": (_slurm, "no Slurm here"),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (probe, reason) in PROBES.items():
        if item.get_closest_marker(marker) and not probe():
            pytest.skip(reason)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("HYDRA_", "OPENAI_", "KERNELWRIGHT_")):
            monkeypatch.delenv(name)


@pytest.fixture
def command():
    """Runs ``python -m experiments.<name>`` in a process of its own."""

    def run(name: str, *arguments: str, timeout_s: float = 300, **options) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
        return subprocess.run(
            [sys.executable, "-m", f"experiments.{name}", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment,
            check=False,
            **{"cwd": ROOT, **options},
        )

    return run
