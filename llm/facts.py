"""What a server tells about itself, where it does: models, context length, version, token counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import openai

from .answer import one_line
from .context import estimate_tokens
from .deadline import DeadlinePassedError
from .request import Message


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server tells about itself.

    Attributes:
        models: Names on offer; empty where it does not say.
        context_tokens: Of prompt and answer together, of the model that is asked; None if unknown.
        server: Name and version, as far as they are known.
        counts_tokens: Whether it has vLLM's ``/tokenize``.
    """

    models: tuple[str, ...] = ()
    context_tokens: int | None = None
    server: str = "openai-compatible"
    counts_tokens: bool = False


def _get(api: openai.OpenAI, path: str) -> Any:
    """Returns the JSON at ``path``, or None where the server has none there."""
    try:
        return api.get(path, cast_to=object)
    except openai.APIStatusError:
        return None
    except ValueError:  # not JSON, whatever its content type says
        return None


def root_of(api: openai.OpenAI) -> str:
    """Returns the server's address without the ``/v1`` of its OpenAI-compatible part."""
    return str(api.base_url).rstrip("/").removesuffix("/v1")


def ask_facts(api: openai.OpenAI, model: str) -> Facts:
    """Asks a server about itself.

    Args:
        api: The connection.
        model: Which model is meant; empty for the first on offer.

    Raises:
        openai.APIConnectionError: Nobody is there.
    """
    listing = _get(api, "/models")
    entries = listing.get("data") if isinstance(listing, dict) else None
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    names = tuple(str(entry["id"]) for entry in entries if "id" in entry)
    chosen: dict[str, Any] = next((entry for entry in entries if model in ("", entry.get("id"))), {})
    length = chosen.get("max_model_len")
    version = _get(api, f"{root_of(api)}/version")
    is_vllm = isinstance(version, dict) and "version" in version
    return Facts(
        models=names,
        context_tokens=length if isinstance(length, int) and length > 0 else None,
        server=f"vllm {one_line(version['version'], 40)}" if is_vllm else "openai-compatible",
        counts_tokens=is_vllm,
    )


def count_tokens(api: openai.OpenAI, model: str, messages: Sequence[Message]) -> int:
    """Counts a prompt's tokens with vLLM's ``/tokenize``; estimates them where that fails."""
    body = {"model": model, "messages": [{"role": each.role, "content": each.content} for each in messages]}
    try:
        answer: Any = api.post(f"{root_of(api)}/tokenize", body=body, cast_to=object)
    except (openai.APIError, DeadlinePassedError, ValueError):
        return estimate_tokens(messages)
    count = answer.get("count") if isinstance(answer, dict) else None
    return count if isinstance(count, int) else estimate_tokens(messages)


def running_requests(api: openai.OpenAI) -> float | None:
    """Reads vLLM's gauge of the requests that are in its batch now; None where there is no such gauge."""
    try:
        text = api.get(f"{root_of(api)}/metrics", cast_to=str)
    except (openai.APIError, ValueError):
        return None
    lines = [line for line in text.splitlines() if line.startswith("vllm:num_requests_running")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines) if lines else None
