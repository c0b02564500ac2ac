"""Any OpenAI-compatible server as a `Client`: deadlines, bounded retries, prompts that fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import openai

from .answer import one_line, read_answers, read_choices
from .connection import Connection, TooLongError, TryAgainError
from .context import Fitted, estimate_tokens, fit
from .deadline import DeadlinePassedError
from .errors import RequestRejected, ServerMismatch
from .facts import Facts, ask_facts, count_tokens, running_requests
from .gathering import Gathering
from .metering import Meter
from .refusal import cause_of
from .request import Completion, Message, Request

EMPTY_ATTEMPTS = 2
"""How often an empty answer is asked again; each costs tokens."""

MOST_CHOICES = 64
"""Choices in one request."""

CONTEXT_ATTEMPTS = 4
"""How often a prompt is shrunk that a server calls too long without telling its limit."""


class ServerClient(Connection):
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
        was_there: The server runs without the run.

    Raises:
        ServerMismatch: The environment variable of the key is not set.
    """

    was_there = True

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
        super().__init__(
            base_url, model, api_key_env=api_key_env, timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s
        )
        self.gpus = tuple(gpus)
        self.turns = turns
        self._context_tokens = context_tokens
        self._extra = dict(extra or {})
        self._meter = Meter(len(self.gpus))
        self._gathering = Gathering(self._complete, gather_s, MOST_CHOICES) if gather_s > 0 else None
        self._lock = threading.Lock()
        self._facts: Facts | None = None

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
            except TooLongError as error:
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
                        raise TryAgainError(cause_of(error)) from error
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
        answer, choices = self._exchange(body, lambda answer: (answer, read_choices(answer)), request)
        latency_s = time.monotonic() - start_s
        return [replace(each, latency_s=latency_s) for each in read_answers(answer, choices)]

    def _offered(self) -> tuple[str, ...]:
        return tuple(self._facts.models) if self._facts else ()
