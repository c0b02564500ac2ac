"""From a prompt to an answer: requests, completions and the servers that give them.

`Client` is the seam: one method, `complete`. `ServerClient` asks any OpenAI-compatible server,
`VLLMServer` starts one of its own, `Ensemble` chooses among several; `ReplayedClient` plays what a model once answered,
and `ScriptedClient` is the double for tests. `Request` and `Completion` are what passes through; `errors` has the tree
of what can go wrong. `Turns` and `check_gpus` keep model and timing apart. `Embedder` is the seam to embedding models:
`EmbeddingClient` asks a server, `ScriptedEmbedder` is the double.
"""

from typing import TYPE_CHECKING, Any

from .embedding import Embedder, ScriptedEmbedder
from .ensemble import Arm, Ensemble, Placed, Rewarded
from .errors import (
    LLMError,
    RequestError,
    RequestRejected,
    RequestTimeout,
    ServerError,
    ServerMismatch,
    ServerStartError,
    ServerUnreachable,
)
from .replayed import ReplayedClient
from .request import Client, Completion, Message, Request, Section
from .scripted import ScriptedClient
from .turns import TakingTurns, Turns, check_gpus

if TYPE_CHECKING:
    from .client import ServerClient
    from .embedding_client import EmbeddingClient
    from .server import VLLMServer

__all__ = [
    "Client",
    "Completion",
    "Message",
    "Request",
    "Section",
    "ServerClient",
    "VLLMServer",
    "Ensemble",
    "Arm",
    "Placed",
    "Rewarded",
    "ReplayedClient",
    "ScriptedClient",
    "Embedder",
    "EmbeddingClient",
    "ScriptedEmbedder",
    "Turns",
    "TakingTurns",
    "check_gpus",
    "LLMError",
    "RequestError",
    "RequestRejected",
    "RequestTimeout",
    "ServerError",
    "ServerMismatch",
    "ServerStartError",
    "ServerUnreachable",
]

_LATE = {"ServerClient": "client", "EmbeddingClient": "embedding_client", "VLLMServer": "server"}


def __getattr__(name: str) -> Any:
    """Loads what needs ``openai`` when it is first asked for: half a second that a run without a model saves."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATE[name]}", __name__), name)
