"""From the JSON of a chat completion to a `Completion`, whatever the server put into it."""

from __future__ import annotations

from collections.abc import Sequence
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


def read_answers(body: dict[str, Any], choices: Sequence[dict[str, Any]]) -> list[Completion]:
    """Makes completions of all choices; the usage, which a server tells of all together, is divided among them."""
    return [_read(body, choice, place, len(choices)) for place, choice in enumerate(choices)]


def _part(total: int, place: int, parts: int) -> int:
    """Returns one of nearly equal whole parts, which sum to the total."""
    return total // parts + (place < total % parts)


def _read(body: dict[str, Any], choice: dict[str, Any], place: int, parts: int) -> Completion:
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    usage = body.get("usage")
    return Completion(
        text=_text(message.get("content")),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        prompt_tokens=_part(_count(usage, "prompt_tokens"), place, parts),
        completion_tokens=_part(_count(usage, "completion_tokens"), place, parts),
        model=str(body.get("model") or ""),
        reasoning=_text(reasoning),
    )
