"""From the JSON of a chat completion to a `Completion`, whatever the server put into it."""

from __future__ import annotations

from typing import Any

from .request import Completion


class NotAnAnswerError(ValueError):
    """The JSON is not a chat completion; the message says in one line what it is."""


def one_line(value: object, most: int = 200) -> str:
    """Returns a text in one line of at most ``most`` characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def read_choices(body: object) -> list[dict[str, Any]]:
    """Returns the choices of a chat completion.

    Raises:
        NotAnAnswerError: It is none.
    """
    if not isinstance(body, dict):
        raise NotAnAnswerError(f"an object was expected, not {one_line(body, 80)!r}")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        told = body.get("detail") or body.get("error") or body.get("message") or f"the keys {sorted(body)}"
        raise NotAnAnswerError(f"no 'choices' but {one_line(told)!r}")
    return choices


def _text(content: object) -> str:
    """Returns the text of a content that is a string, null, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(usage: object, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value >= 0 else 0


def read_answer(body: dict[str, Any], choice: dict[str, Any], share: int = 1) -> Completion:
    """Makes a completion of one choice.

    Args:
        body: The whole answer, of which `read_choices` gave ``choice``.
        choice: One of its choices.
        share: Among how many choices the usage is divided.
    """
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    usage = body.get("usage")
    return Completion(
        text=_text(message.get("content")),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        prompt_tokens=_count(usage, "prompt_tokens") // share,
        completion_tokens=_count(usage, "completion_tokens") // share,
        model=str(body.get("model") or ""),
        reasoning=_text(reasoning),
    )
