"""The model's door: requests in, completions out.

`Client` is the seam: one method, `complete`. `ScriptedClient` is its double for tests.
`Request` and `Completion` are what passes through; `errors` has the tree of what can go wrong.
"""

from .errors import (
    LLMError,
    RequestError,
    RequestRejected,
    RequestTimeout,
    ServerError,
    ServerStartError,
    ServerUnreachable,
)
from .request import Client, Completion, Message, Request
from .scripted import ScriptedClient

__all__ = [
    "Client",
    "Completion",
    "Message",
    "Request",
    "ScriptedClient",
    "LLMError",
    "RequestError",
    "RequestRejected",
    "RequestTimeout",
    "ServerError",
    "ServerStartError",
    "ServerUnreachable",
]
