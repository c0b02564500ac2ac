"""An address that answers HTTP: one deadline for a whole answer, bounded retries, the key kept secret."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import openai

from .answer import NotAnAnswerError, one_line
from .deadline import Deadline, DeadlinePassedError, http_client
from .errors import RequestRejected, RequestTimeout, ServerMismatch, ServerUnreachable
from .refusal import cause_of, is_context_error, is_read_timeout, retry_after_s, told
from .request import Request

_LOG = logging.getLogger("kernelwright.llm")

Result = TypeVar("Result")

LONGEST_PAUSE_S = 120.0
"""What a ``Retry-After`` is believed up to."""

_RETRIED = frozenset({408, 409, 429})
_WRONG_ADDRESS = frozenset({401, 403, 404, 405})


class TryAgainError(Exception):
    """This attempt failed in a way that may pass; ``pause_s`` is what the server asked for."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class TooLongError(Exception):
    """The server says that prompt and answer exceed its context."""


class Connection:
    """What all clients of OpenAI-compatible servers share.

    Args:
        base_url: Up to and with the version.
        model: Its name there.
        api_key_env: Name of the environment variable that holds the key; empty for none.
        timeout_s: For one whole answer, from sending to the last byte.
        attempts: Tries at one answer while the server is unreachable or busy.
        backoff_s: Pause after the first failed try; doubles with every further one.

    Attributes:
        base_url: As given.
        section: Of the configuration, for messages.
        path: What is asked, below the address.
        answer: What is expected, for messages.

    Raises:
        ServerMismatch: The environment variable of the key is not set.
        ValueError: The address or a limit is none.
    """

    section: ClassVar[str] = "llm"
    path: ClassVar[str] = "/chat/completions"
    answer: ClassVar[str] = "chat completion"

    def __init__(
        self, base_url: str, model: str, *, api_key_env: str, timeout_s: float, attempts: int, backoff_s: float
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"{self.section}.base_url must start with http:// or https://, is {base_url!r}")
        if attempts < 1 or timeout_s <= 0:
            raise ValueError(f"attempts must be at least 1 and timeout_s positive, are {attempts} and {timeout_s}")
        if api_key_env and not os.environ.get(api_key_env):
            raise ServerMismatch(
                f"the environment variable {api_key_env} ({self.section}.api_key_env) is not set; export the key"
            )
        self.base_url = base_url.rstrip("/")
        self._model = model
        self._key = os.environ[api_key_env] if api_key_env else "none"
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._deadline = Deadline()
        self._closed = threading.Event()
        self._silent = threading.Event()
        self._api = openai.OpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,
            timeout=openai.Timeout(timeout_s, connect=min(10.0, timeout_s)),
            http_client=http_client(self._deadline),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, model={self._model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def authenticate(self, key: str) -> None:
        """Sets the key of a server that was started with one of its own."""
        self._key = key
        self._api.api_key = key

    def close(self) -> None:
        """Closes the connections; answers that are waited for fail."""
        self._closed.set()
        self._api.close()

    def _offered(self) -> tuple[str, ...]:
        """Returns the models that the server is known to have."""
        return ()

    def _exchange(self, body: dict[str, Any], read: Callable[[Any], Result], request: Request) -> Result:
        """Makes one attempt and returns what ``read`` makes of the answer.

        Raises:
            TryAgainError: It failed in a way that may pass.
            TooLongError: The text exceeds the model's context.
            LLMError: It failed for good.
        """
        with self._deadline.within(self._timeout_s):
            try:
                return read(self._api.post(self.path, body=body, cast_to=object))
            except openai.APIStatusError as error:
                # The server may have quoted the key, and causes are shown in tracebacks.
                raise self._status_error(error, request) from (None if self._key in str(error) else error)
            except (openai.APIConnectionError, DeadlinePassedError) as error:
                if self._deadline.passed or is_read_timeout(error):
                    limit = f"{self._timeout_s:g} s ({self.section}.timeout_s)"
                    raise RequestTimeout(f"no whole answer from {self.base_url} within {limit}", request) from error
                raise TryAgainError(cause_of(error)) from error
            except (NotAnAnswerError, ValueError) as error:
                raise TryAgainError(f"the answer is no {self.answer}: {one_line(error)}") from error

    def _status_error(self, error: openai.APIStatusError, request: Request) -> Exception:
        words = self._scrubbed(one_line(told(error)))
        status = error.status_code
        if status in _RETRIED or status >= 500:
            return TryAgainError(f"HTTP {status}: {words}", retry_after_s(error))
        if status in _WRONG_ADDRESS:
            return ServerMismatch(f"{self.base_url} answers HTTP {status}: {words}; {self._hint(status, request)}")
        if status in {400, 413} and is_context_error(words, error):
            return TooLongError(words)
        return RequestRejected(f"{self.base_url} refuses the request with HTTP {status}: {words}", request)

    def _hint(self, status: int, request: Request) -> str:
        if status in {401, 403}:
            return f"check the key in the variable that {self.section}.api_key_env names"
        offered = self._offered()
        model = request.model or self._model
        if offered and model and model not in offered:
            return f"it offers {', '.join(offered[:5])}: set {self.section}.model"
        return f"check {self.section}.base_url: it ends where {self.path} begins, usually in /v1"

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key != "none" else text

    def _with_retries(self, attempt: Callable[[], Result], request: Request, retries: list[str]) -> Result:
        """Calls ``attempt`` until it does not raise `TryAgainError`, with exponential pauses."""
        for turn in range(self._attempts):
            try:
                answer = attempt()
                self._silent.clear()
                return answer
            except TryAgainError as error:
                retries.append(str(error))
                last = error
                if turn + 1 == self._attempts or self._closed.is_set():
                    break
                self._tell_once(error)
                self._closed.wait(self._pause_s(turn, error, request))
        message = f"{self.base_url} gave no answer (attempt {len(retries)} of {self._attempts}: {last}); "
        if isinstance(last.__cause__, ValueError):
            raise ServerMismatch(message + self._hint(200, request)) from last
        raise ServerUnreachable(message + "start the server and run the same command again to resume") from last

    def _tell_once(self, error: TryAgainError) -> None:
        """Logs that the server is waited for: once a silence, however many threads wait."""
        if not self._silent.is_set():
            self._silent.set()
            _LOG.warning("%s: %s; asking again, up to %d times", self.base_url, error, self._attempts - 1)

    def _pause_s(self, turn: int, error: TryAgainError, request: Request) -> float:
        if error.pause_s is not None:
            return min(error.pause_s, LONGEST_PAUSE_S)
        # Spread by the request, so that threads that failed together do not come back together.
        spread = 0.5 + (request.seed % 1000) / 1000
        return min(self._backoff_s * 2.0**turn * spread, LONGEST_PAUSE_S)
