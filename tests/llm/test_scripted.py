from __future__ import annotations

import pytest

from llm import Completion, Message, Request, ScriptedClient

ASK = Request((Message("user", "one two"),))


def test_replies_come_in_order_and_over_again() -> None:
    client = ScriptedClient(["a", "b"])
    assert ["a", "b", "a"] == [client.complete(ASK).text for _ in range(3)]


def test_a_function_sees_the_request() -> None:
    client = ScriptedClient(lambda request: str(request.seed))
    assert "5" == client.complete(Request(ASK.messages, seed=5)).text


def test_a_completion_is_given_out_as_it_is() -> None:
    reply = Completion("a", finish_reason="length")
    assert reply is ScriptedClient([reply]).complete(ASK)


def test_words_count_as_tokens() -> None:
    answer = ScriptedClient(["x y z"]).complete(ASK)
    assert (2, 3) == (answer.prompt_tokens, answer.completion_tokens)


def test_no_replies_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedClient([])


def test_the_digest_tells_requests_apart() -> None:
    variants = [
        ASK,
        Request(ASK.messages, seed=1),
        Request(ASK.messages, temperature=0.1),
        Request(ASK.messages, model="m"),
    ]
    assert 4 == len({request.digest for request in variants})
