"""Any OpenAI-compatible server of an embedding model."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from .connection import Connection, TooLongError
from .embedding import question, read_embedding
from .errors import RequestRejected


class EmbeddingClient(Connection):
    """Asks ``/v1/embeddings`` of a server that is already there.

    Args:
        base_url: Up to and with the version, e.g. ``"http://127.0.0.1:8001/v1"``.
        model: Its name there.
        api_key_env: Name of the environment variable that holds the key; empty for none.
        timeout_s: For one whole answer, from sending to the last byte.
        attempts: Tries at one answer while the server is unreachable or busy.
        backoff_s: Pause after the first failed try; doubles with every further one.

    Raises:
        ServerMismatch: The environment variable of the key is not set.
        ValueError: The address, the model or a limit is none.
    """

    section: ClassVar[str] = "novelty.embedder"
    path: ClassVar[str] = "/embeddings"
    answer: ClassVar[str] = "embedding"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "",
        timeout_s: float = 60.0,
        attempts: int = 5,
        backoff_s: float = 1.0,
    ) -> None:
        if not model:
            raise ValueError(f"{self.section}.model is empty: name the embedding model")
        super().__init__(
            base_url, model, api_key_env=api_key_env, timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s
        )

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model

    def embed(self, text: str) -> tuple[float, ...]:
        """Returns the vector of a text.

        Raises:
            RequestTimeout: The answer was not complete within ``timeout_s``.
            RequestRejected: The server refuses the text, e.g. as too long.
            ServerUnreachable: Nobody answered, in all attempts.
            ServerMismatch: What answers is not an OpenAI-compatible server with this model.
        """
        request = question(text, self._model)
        # Lone surrogates, which a model may write, are no UTF-8 and would not pass.
        sent = text.encode("utf-8", "replace").decode("utf-8")
        body = {"model": self._model, "input": sent, "encoding_format": "float"}
        try:
            return self._with_retries(partial(self._exchange, body, read_embedding, request), request, [])
        except TooLongError as error:
            raise RequestRejected(f"{self.base_url} calls the text too long: {error}", request) from error
