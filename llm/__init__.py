"""From a prompt to an answer: requests, completions and the servers that give them.

`Client` is the seam: one method, `complete`. `ServerClient` asks any OpenAI-compatible server;
`ScriptedClient` is the double for tests. `Request` and `Completion` are what passes through;
`errors` has the tree of what can go wrong.
"""

from typing import TYPE_CHECKING, Any

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
from .request import Client, Completion, Message, Request, Section
from .scripted import ScriptedClient

if TYPE_CHECKING:
    from .client import ServerClient

__all__ = [
    "Client",
    "Completion",
    "Message",
    "Request",
    "Section",
    "ServerClient",
    "ScriptedClient",
    "LLMError",
    "RequestError",
    "RequestRejected",
    "RequestTimeout",
    "ServerError",
    "ServerMismatch",
    "ServerStartError",
    "ServerUnreachable",
]


def __getattr__(name: str) -> Any:
    """Loads what needs ``openai`` when it is first asked for: half a second that a run without a model saves."""
    if name == "ServerClient":
        from .client import ServerClient

        return ServerClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
