"""Texts as vectors: what an embedding model makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from .answer import NotAnAnswerError, one_line
from .request import Message, Request


class Embedder(Protocol):
    """Makes a vector of a text.

    Attributes:
        model: Its name; vectors of different models cannot be compared.
    """

    @property
    def model(self) -> str: ...  # noqa: D102 - said above

    def embed(self, text: str) -> tuple[float, ...]:
        """Returns the vector of a text; all of one model have the same length.

        Raises:
            RequestError: This text cannot be embedded.
            ServerError: The server cannot be asked, whatever the text.
        """
        ...


class ScriptedEmbedder:
    """An embedder without a model, for tests and documentation.

    Args:
        vector: Makes the vector of a text.
        model: Its name.

    Attributes:
        texts: Every text so far, in order of arrival.
    """

    def __init__(self, vector: Callable[[str], tuple[float, ...]], model: str = "scripted") -> None:
        self.model = model
        self.texts: list[str] = []
        self._vector = vector

    def embed(self, text: str) -> tuple[float, ...]:
        """Returns the vector of a text."""
        self.texts.append(text)
        return self._vector(text)


def question(text: str, model: str) -> Request:
    """Returns what is asked when a text is to be embedded, as errors tell it."""
    return Request((Message("user", text),), model=model)


def read_embedding(body: Any) -> tuple[float, ...]:
    """Returns the vector of an answer to one text.

    Raises:
        NotAnAnswerError: There is none, or it is empty, zero or not finite.
    """
    data = body.get("data") if isinstance(body, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    if not isinstance(vector, list) or not vector:
        raise NotAnAnswerError(f"no 'data' with an 'embedding' but {one_line(body, 80)!r}")
    numbers = [each for each in vector if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < len(vector) or not all(map(math.isfinite, numbers)) or not any(numbers):
        raise NotAnAnswerError("an embedding of finite numbers, not all zero, was expected")
    return tuple(map(float, numbers))
