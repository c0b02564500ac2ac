"""A vLLM server of our own: started at the first request, gone with the run."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .client import ServerClient
from .errors import ServerStartError, ServerUnreachable
from .request import Completion, Request

_LOG = logging.getLogger(__name__)
_LEASH = Path(__file__).with_name("leash.py")

COMMAND = ("vllm", "serve", "{model}", "--served-model-name", "{name}", "--host", "127.0.0.1", "--port", "{port}")

PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")
PASSED_PREFIXES = (
    "VLLM_",
    "HF_",
    "HUGGINGFACE_",
    "TORCH",
    "CUDA_",
    "NCCL_",
    "OMP_",
    "TRITON_",
    "ROCM_",
    "HSA_",
    "NVIDIA_",
)
"""Variables that a server is given; nothing else of the environment, so that keys of other services stay here."""

TAIL_LINES = 20
GRACE_S = 15.0
"""Between asking a server to end and killing it."""


class VLLMServer:
    """Serves a model for one run, and is its `Client`. Building it has no effect on the machine.

    Args:
        model: Name on a hub, or a folder.
        name: Under which it is served and recorded; empty for the last part of ``model``.
        revision: Of the model on its hub; recorded with every completion.
        command: Argument list; ``{model}``, ``{name}`` and ``{port}`` are replaced.
        arguments: Appended, e.g. ``["--max-model-len", "8192"]``.
        gpus: Numbers of the GPUs that it may use; empty for those that are visible here, of which it takes the first.
        turns: Whether requests and evaluations take turns, for a GPU that does both.
        environment: Further variables of the server, e.g. ``{"HF_HUB_OFFLINE": "1"}``.
        startup_s: Limit for loading the model.
        client: Arguments of `ServerClient`, e.g. ``{"timeout_s": 120}``.

    Attributes:
        gpus: Those that it will use; what is timed must run on others, or take turns (`check_gpus`).
        turns: As given.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str = "",
        revision: str = "",
        command: Sequence[str] = COMMAND,
        arguments: Sequence[str] = (),
        gpus: Sequence[int] = (),
        turns: bool = False,
        environment: Mapping[str, str] | None = None,
        startup_s: float = 900.0,
        client: Mapping[str, Any] | None = None,
    ) -> None:
        if not model:
            raise ValueError("llm.model must name a model or a folder")
        if (wanted := _tensor_parallel(arguments)) > max(1, len(gpus)):
            raise ValueError(f"vLLM will use {wanted} GPUs (--tensor-parallel-size): name as many in llm.gpus")
        self._visible = tuple(gpus)
        self.gpus = self._visible or (0,)
        self.turns = turns
        self._model = model
        self._name = name or model.rstrip("/").rsplit("/", 1)[-1]
        self._revision = revision
        self._command = [*command, *(["--revision", revision] if revision else []), *arguments]
        self._environment = {str(key): str(value) for key, value in (environment or {}).items()}
        self._startup_s = startup_s
        self._settings = {"gpus": self.gpus, **(client or {})}
        self._directory = Path()
        self._tell: Callable[[str], None] = _LOG.info
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._client: ServerClient | None = None

    def __repr__(self) -> str:
        return f"VLLMServer({self._model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def place(self, directory: Path, tell: Callable[[str], None]) -> None:
        """Says, before the first request, where the log goes and who hears of the start's progress."""
        self._directory = directory
        self._tell = tell

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self._directory / f"vllm-{self._name}.log"

    @property
    def pid(self) -> int | None:
        """Process that holds the server; None while there is none."""
        return self._process.pid if self._process is not None else None

    def complete(self, request: Request) -> Completion:
        """Answers one request; the first one starts the server.

        Raises:
            ServerStartError: The server did not come up.
            LLMError: As `ServerClient.complete` has it.
        """
        client = self._started()
        try:
            completion = client.complete(request)
        except ServerUnreachable as error:
            if self._died():
                raise ServerUnreachable(f"{self._ended()}; run the same command again to resume") from error
            raise
        revised = f"{completion.model}@{self._revision}" if self._revision else completion.model
        return replace(completion, model=revised)

    def running_requests(self) -> float | None:
        """Returns how many requests are in the batch now; None before the start."""
        return self._client.running_requests() if self._client is not None else None

    def close(self) -> None:
        """Ends the server and everything that it started, also while it starts; returns when nothing of it is left."""
        self._closing.set()
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
            self._take_down()

    def _died(self) -> bool:
        """Whether the server is gone; waits for what it left behind."""
        if self._process is None or _healthy(self._port):
            return False
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _started(self) -> ServerClient:
        with self._lock:
            if self._client is None:
                self._port = _free_port()
                key = secrets.token_urlsafe(24)
                self._process = self._start(self._port, key)
                self._await_health(self._port)
                self._client = ServerClient(f"http://127.0.0.1:{self._port}/v1", self._name, **self._settings)
                self._client.authenticate(key)
            return self._client

    def _start(self, port: int, key: str) -> subprocess.Popen[bytes]:
        fields = {"{model}": self._model, "{name}": self._name, "{port}": str(port)}
        argv = [_replaced(part, fields) for part in self._command]
        # The key travels in the environment: argument lists can be read by every user of a machine.
        environment = {**_passed(), **self._environment, "VLLM_API_KEY": key}
        if self._visible:
            numbers = ",".join(str(gpu) for gpu in self._visible)
            environment |= {"CUDA_VISIBLE_DEVICES": numbers, "HIP_VISIBLE_DEVICES": numbers}
        self._tell(f"starting {self._name} in vLLM; its log is {self.log}")
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LEASH), str(GRACE_S), *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def _await_health(self, port: int) -> None:
        """Waits until the server answers.

        Raises:
            ServerStartError: It ended, or took too long; it is taken down then.
        """
        start_s = time.monotonic()
        told_s = start_s
        assert self._process is not None
        while not _healthy(port):
            now_s = time.monotonic()
            if self._closing.is_set():
                self._take_down()
                raise ServerStartError(f"the start of {self._name} was stopped", self.tail())
            if self._process.poll() is not None:
                message = self._ended()
                self._take_down()
                raise ServerStartError(message, self.tail())
            if now_s - start_s > self._startup_s:
                self._take_down()
                raise ServerStartError(
                    f"{self._name} was not up after {self._startup_s:g} s (llm.startup_s); see {self.log}", self.tail()
                )
            if now_s - told_s >= 5:
                told_s = now_s
                self._tell(f"waiting for {self._name}: {now_s - start_s:.0f} s; {_last_line(self.tail())}")
            self._closing.wait(0.2)
        self._tell(f"{self._name} is up after {time.monotonic() - start_s:.0f} s")

    def _take_down(self) -> None:
        """Lets go of the leash and waits until nothing is left."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _ended(self) -> str:
        assert self._process is not None
        cause = _cause(self.tail())
        return f"vLLM with {self._name} ended with status {self._process.returncode}: {cause}; see {self.log}"

    def tail(self) -> str:
        """Returns the last lines of the log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join(lines[-TAIL_LINES:])


def _tensor_parallel(arguments: Sequence[str]) -> int:
    """Returns how many GPUs the server's arguments ask for."""
    words = " ".join(str(argument) for argument in arguments)
    found = re.search(r"(?:--tensor-parallel-size|-tp)[ =](\d+)", words)
    return int(found.group(1)) if found else 1


def _replaced(part: str, fields: Mapping[str, str]) -> str:
    for field, value in fields.items():
        part = part.replace(field, value)
    return part


def _passed() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key in PASSED or key.startswith(PASSED_PREFIXES)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _healthy(port: int) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "its log is empty"


def _cause(tail: str) -> str:
    """Returns the line of a log's end that most likely tells why a server ended."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error:" in line]
    return (errors or lines or ["its log is empty"])[-1][:200]
