"""What a server's error answer says, in whichever shape it says it."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import openai

from .answer import one_line


def told(error: openai.APIStatusError) -> object:
    """Returns what the server says in its error body, in whichever shape."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        words = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
        return words or body.get("detail") or body
    return body or error.message


def is_context_error(text: str, error: openai.APIStatusError) -> bool:
    """Whether a 400 means that the prompt is too long; servers agree on no code, only on the words."""
    text = text.lower()
    return error.code == "context_length_exceeded" or "context" in text or "max_tokens" in text or "too long" in text


def is_read_timeout(error: Exception) -> bool:
    """Whether the connection stood and nothing came through it."""
    return isinstance(error, openai.APITimeoutError) and "Read" in type(error.__cause__).__name__


def cause_of(error: Exception) -> str:
    """Returns the HTTP library's reason in one line."""
    cause = error.__cause__
    return one_line(f"{type(cause).__name__}: {cause}" if cause is not None else error)


def retry_after_s(error: openai.APIStatusError) -> float | None:
    """Returns the pause that the server asks for, given in seconds or as a date."""
    value = error.response.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
