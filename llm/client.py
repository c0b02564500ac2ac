"""Any OpenAI-compatible server as a `Client`: deadlines, bounded retries, prompts that fit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

import openai

from .answer import NotAnAnswerError, one_line, read_answers, read_choices
from .context import Fitted, estimate_tokens, fit
from .deadline import Deadline, DeadlinePassedError, http_client
from .errors import RequestRejected, RequestTimeout, ServerMismatch, ServerUnreachable
from .facts import Facts, ask_facts, count_tokens, running_requests
from .gathering import Gathering
from .metering import Meter
from .refusal import cause_of, is_context_error, is_read_timeout, retry_after_s, told
from .request import Completion, Message, Request

Result = TypeVar("Result")

LONGEST_PAUSE_S = 120.0
"""What a ``Retry-After`` is believed up to."""

EMPTY_ATTEMPTS = 2
"""How often an empty answer is asked again; each costs tokens."""

MOST_CHOICES = 64
"""Choices in one request."""

CONTEXT_ATTEMPTS = 4
"""How often a prompt is shrunk that a server calls too long without telling its limit."""

_RETRIED = frozenset({408, 409, 429})
_WRONG_ADDRESS = frozenset({401, 403, 404, 405})


class _TryAgainError(Exception):
    """This attempt failed in a way that may pass; ``pause_s`` is what the server asked for."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class _TooLongError(Exception):
    """The server says that prompt and answer exceed its context."""


class ServerClient:
    """Asks a server that is already there. Concurrency is the callers': one thread, one request.

    Args:
        base_url: Up to and with the version, e.g. ``"http://127.0.0.1:8000/v1"``.
        model: Its name there; empty for the first that the server offers.
        api_key_env: Name of the environment variable that holds the key; empty for none.
        timeout_s: For one whole answer, from sending to the last byte.
        attempts: Tries at one answer while the server is unreachable or busy.
        backoff_s: Pause after the first failed try; doubles with every further one.
        context_tokens: Of prompt and answer together; asked of the server when None.
        extra: Further fields of every body, e.g. ``{"top_k": 20}``; a request's own win.
        gpus: Of this machine that the server uses, as far as it is known; for `check_gpus`.
        turns: Whether requests and evaluations take turns.
        gather_s: How long a request waits for others that differ in the seed alone; these become
            one with several choices, so that a prompt is read once. Only the first one's seed is
            then heeded by the server. 0 to ask each by itself.

    Attributes:
        base_url: As given.
        gpus: As given.
        turns: As given.

    Raises:
        ServerMismatch: The environment variable of the key is not set.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "",
        *,
        api_key_env: str = "",
        timeout_s: float = 600.0,
        attempts: int = 5,
        backoff_s: float = 1.0,
        context_tokens: int | None = None,
        extra: Mapping[str, Any] | None = None,
        gpus: Sequence[int] = (),
        turns: bool = False,
        gather_s: float = 0.0,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"llm.base_url must start with http:// or https://, is {base_url!r}")
        if attempts < 1 or timeout_s <= 0:
            raise ValueError(f"attempts must be at least 1 and timeout_s positive, are {attempts} and {timeout_s}")
        if api_key_env and not os.environ.get(api_key_env):
            raise ServerMismatch(f"the environment variable {api_key_env} (llm.api_key_env) is not set; export the key")
        self.base_url = base_url.rstrip("/")
        self.gpus = tuple(gpus)
        self.turns = turns
        self._model = model
        self._key = os.environ[api_key_env] if api_key_env else "none"
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._context_tokens = context_tokens
        self._extra = dict(extra or {})
        self._meter = Meter(len(self.gpus))
        self._gathering = Gathering(self._complete, gather_s, MOST_CHOICES) if gather_s > 0 else None
        self._deadline = Deadline()
        self._lock = threading.Lock()
        self._facts: Facts | None = None
        self._closed = threading.Event()
        self._api = openai.OpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,
            timeout=openai.Timeout(timeout_s, connect=min(10.0, timeout_s)),
            http_client=http_client(self._deadline),
        )

    def __repr__(self) -> str:
        return f"ServerClient({self.base_url!r}, model={self._model!r})"

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

    def complete(self, request: Request) -> Completion:
        """Answers one request.

        Raises:
            RequestTimeout: The answer was not complete within ``timeout_s``.
            RequestRejected: The server refuses the request.
            ServerUnreachable: Nobody answered, in all attempts.
            ServerMismatch: What answers is not an OpenAI-compatible server with this model.
        """
        mark = self._meter.enter()
        try:
            completion = self._gathering.complete(request) if self._gathering else self._complete([request])[0]
        finally:
            device_s = self._meter.leave(mark)
        return replace(completion, device_s=device_s)

    def _complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers requests that are equal but for the seed."""
        request = requests[0]
        retries: list[str] = []
        facts = self._with_retries(self._ask_facts, request, retries) if self._facts is None else self._facts
        limit = self._context_tokens or facts.context_tokens
        asked = replace(request, model=request.model or self._model or next(iter(facts.models), ""))
        if not asked.model:
            raise ServerMismatch(f"{self.base_url} does not tell its models; set llm.model")
        for _ in range(CONTEXT_ATTEMPTS):
            fitted = self._fit(asked, limit, facts)
            try:
                completions = self._ask_until_text(asked, fitted, retries, len(requests))
            except _TooLongError as error:
                retries.append(one_line(error))
                used = self._count(fitted.messages, asked.model, facts) + fitted.max_tokens
                limit = int(min(limit or used, used) * 0.8)
                continue
            told = [replace(each, server=facts.server, retries=tuple(retries)) for each in completions]
            # Servers that know no "n" give one choice.
            return [*told, *(self._complete([each])[0] for each in requests[len(told) :])]
        raise RequestRejected(f"{self.base_url} calls even a shortened prompt too long: {retries[-1]}", request)

    def running_requests(self) -> float | None:
        """Returns how many requests vLLM has in its batch now; None for other servers."""
        return running_requests(self._api)

    def _ask_facts(self) -> Facts:
        with self._lock:
            if self._facts is None:
                with self._deadline.within(self._timeout_s):
                    try:
                        self._facts = ask_facts(self._api, self._model)
                    except (openai.APIConnectionError, DeadlinePassedError) as error:
                        raise _TryAgainError(cause_of(error)) from error
            return self._facts

    def _count(self, messages: Sequence[Message], model: str, facts: Facts) -> int:
        if not facts.counts_tokens:
            return estimate_tokens(messages)
        with self._deadline.within(self._timeout_s):
            return count_tokens(self._api, model, messages)

    def _fit(self, request: Request, limit: int | None, facts: Facts) -> Fitted:
        characters = sum(len(message.content) for message in request.messages)
        # No tokenizer makes more than one token of two characters of code: then nothing is counted.
        if limit is None or characters // 2 + 64 + request.max_tokens <= limit:
            return Fitted(request.messages, request.max_tokens)
        return fit(request, limit, lambda messages: self._count(messages, request.model, facts))

    def _ask_until_text(self, request: Request, fitted: Fitted, retries: list[str], count: int) -> list[Completion]:
        """Asks again, with another seed, when the model stops without having said anything."""
        for turn in range(EMPTY_ATTEMPTS):
            body = self._body(replace(request, seed=request.seed + turn), fitted)
            if count > 1:
                body["n"] = count
            completions = self._with_retries(partial(self._post, request, body), request, retries)
            if any(each.text.strip() or each.finish_reason != "stop" for each in completions):
                break
            retries.append("empty answer")
        return [replace(each, cuts=fitted.cuts) for each in completions[:count]]

    def _body(self, request: Request, fitted: Fitted) -> dict[str, Any]:
        return {
            **self._extra,
            **request.extra,
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in fitted.messages],
            "seed": request.seed,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_tokens": fitted.max_tokens,
        }

    def _post(self, request: Request, body: dict[str, Any]) -> list[Completion]:
        """Makes one attempt."""
        start_s = time.monotonic()
        with self._deadline.within(self._timeout_s):
            try:
                answer: Any = self._api.post("/chat/completions", body=body, cast_to=object)
                choices = read_choices(answer)
            except openai.APIStatusError as error:
                # The server may have quoted the key, and causes are shown in tracebacks.
                raise self._status_error(error, request) from (None if self._key in str(error) else error)
            except (openai.APIConnectionError, DeadlinePassedError) as error:
                if self._deadline.passed or is_read_timeout(error):
                    message = f"no whole answer from {self.base_url} within {self._timeout_s:g} s (llm.timeout_s)"
                    raise RequestTimeout(message, request) from error
                raise _TryAgainError(cause_of(error)) from error
            except (NotAnAnswerError, ValueError) as error:
                raise _TryAgainError(f"the answer is no chat completion: {one_line(error)}") from error
        latency_s = time.monotonic() - start_s
        return [replace(each, latency_s=latency_s) for each in read_answers(answer, choices)]

    def _status_error(self, error: openai.APIStatusError, request: Request) -> Exception:
        words = self._scrubbed(one_line(told(error)))
        status = error.status_code
        if status in _RETRIED or status >= 500:
            return _TryAgainError(f"HTTP {status}: {words}", retry_after_s(error))
        if status in _WRONG_ADDRESS:
            return ServerMismatch(f"{self.base_url} answers HTTP {status}: {words}; {self._hint(status, request)}")
        if status in {400, 413} and is_context_error(words, error):
            return _TooLongError(words)
        return RequestRejected(f"{self.base_url} refuses the request with HTTP {status}: {words}", request)

    def _hint(self, status: int, request: Request) -> str:
        if status in {401, 403}:
            return "check the key in the variable that llm.api_key_env names"
        offered = self._facts.models if self._facts else ()
        model = request.model or self._model
        if offered and model and model not in offered:
            return f"it offers {', '.join(offered[:5])}: set llm.model"
        return "check llm.base_url: it ends where /chat/completions begins, usually in /v1"

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key != "none" else text

    def _with_retries(self, attempt: Callable[[], Result], request: Request, retries: list[str]) -> Result:
        """Calls ``attempt`` until it does not raise `_TryAgainError`, with exponential pauses."""
        for turn in range(self._attempts):
            try:
                return attempt()
            except _TryAgainError as error:
                retries.append(str(error))
                last = error
                if turn + 1 == self._attempts or self._closed.is_set():
                    break
                self._closed.wait(self._pause_s(turn, error, request))
        message = f"{self.base_url} gave no answer in {len(retries)} attempts (last: {last}); "
        if isinstance(last.__cause__, ValueError):
            raise ServerMismatch(message + self._hint(200, request)) from last
        raise ServerUnreachable(message + "start the server and run the same command again to resume") from last

    def _pause_s(self, turn: int, error: _TryAgainError, request: Request) -> float:
        if error.pause_s is not None:
            return min(error.pause_s, LONGEST_PAUSE_S)
        # Spread by the request, so that threads that failed together do not come back together.
        spread = 0.5 + (request.seed % 1000) / 1000
        return min(self._backoff_s * 2.0**turn * spread, LONGEST_PAUSE_S)
