"""What is sent to a model and what comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .errors import RequestError, RequestTimeout

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a message that may be shortened when the prompt does not fit the model.

    Attributes:
        name: What it holds, e.g. ``"log"``; appears in `Completion.cuts`.
        start: First character, as an index of the message's content.
        end: One past the last character.
        priority: The highest are cut first; what lies in no section is never cut.
        whole: Whether it goes as a whole or not at all.
    """

    name: str
    start: int
    end: int
    priority: int
    whole: bool = False

    def to_json(self) -> list[Any]:
        """Returns the fields as a list, since a prompt has many of them."""
        return [self.name, self.start, self.end, self.priority, self.whole]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: ``"system"``, ``"user"`` or ``"assistant"``.
        content: Text.
        sections: What of it may be cut, in the order of the text, without overlaps.
    """

    role: str
    content: str
    sections: tuple[Section, ...] = ()

    def to_json(self) -> JSON:
        """Returns a JSON object; ``sections`` is there only when there are any."""
        marks = {"sections": [section.to_json() for section in self.sections]} if self.sections else {}
        return {"role": self.role, "content": self.content, **marks}

    @classmethod
    def from_json(cls, data: JSON) -> Message:
        """Reads what `to_json` wrote."""
        sections = tuple(Section(*section) for section in data.get("sections", ()))
        return cls(data["role"], data["content"], sections)


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. Its content is its identity.

    Attributes:
        messages: The conversation so far.
        model: Which model of the client is meant; empty for the client's own.
        seed: Of the sampling; drawn from the run's streams, so that no two requests are equal.
        temperature: Of the sampling.
        top_p: Of the sampling.
        max_tokens: Of the answer.
        extra: Further fields of the OpenAI-compatible body, e.g. ``{"structured_outputs": …}``.
    """

    messages: tuple[Message, ...]
    model: str = ""
    seed: int = 0
    temperature: float = 0.8
    top_p: float = 0.95
    max_tokens: int = 2048
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        messages = [message.to_json() for message in self.messages]
        scalars = {name: getattr(self, name) for name in ("model", "seed", "temperature", "top_p", "max_tokens")}
        return {"messages": messages, **scalars, "extra": dict(self.extra)}

    @classmethod
    def from_json(cls, data: JSON) -> Request:
        """Reads what `to_json` wrote."""
        return cls(**{**data, "messages": tuple(Message.from_json(message) for message in data["messages"])})

    @property
    def digest(self) -> str:
        """Hex digest of the canonical JSON text."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: What the model said; empty when it said nothing.
        finish_reason: ``"stop"``, ``"length"``, or what else the server says; ``"timeout"`` and
            ``"rejected"`` when the request failed for good.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written, reasoning included.
        latency_s: From sending to the last byte.
        device_s: Seconds of the server's devices that it used; requests that are open at the same
            time share them. 0 where it is not known what the server has.
        model: Name and, where the server tells it, revision of the model that answered.
        server: Name and version of the server.
        reasoning: Text of a separate reasoning field, where the server has one.
        cuts: What was left out so that prompt and answer fit, e.g. ``("log: 1200 characters",)``.
        retries: Why earlier attempts at this answer failed, oldest first.
        arm: Which member of an ensemble answered; empty outside of one.
        silent: Which members were asked before it, and their servers gave no answer.
    """

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0
    device_s: float = 0.0
    model: str = ""
    server: str = ""
    reasoning: str = ""
    cuts: tuple[str, ...] = ()
    retries: tuple[str, ...] = ()
    arm: str = ""
    silent: tuple[str, ...] = ()

    @classmethod
    def failed(cls, error: RequestError) -> Completion:
        """Makes a record of a request that failed for good, so that a replay meets the same failure."""
        reason = "timeout" if isinstance(error, RequestTimeout) else "rejected"
        return cls("", finish_reason=reason, retries=(str(error),), arm=error.arm, silent=error.silent)

    @property
    def tokens(self) -> int:
        """Prompt and completion together: what a budget is charged."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> JSON:
        """Returns a JSON object with the field names as keys."""
        data = {name: getattr(self, name) for name in self.__slots__}
        return {**data, **{name: list(data[name]) for name in ("cuts", "retries", "silent")}}

    @classmethod
    def from_json(cls, data: JSON) -> Completion:
        """Reads what `to_json` wrote."""
        tuples = {name: tuple(data.get(name, ())) for name in ("cuts", "retries", "silent")}
        return cls(**{**data, **tuples})


class Client(Protocol):
    """The model's door: one method wide, called from several threads at once."""

    def complete(self, request: Request) -> Completion:
        """Answers one request.

        Raises:
            LLMError: No answer can be had.
        """
        ...
