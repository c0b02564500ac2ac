from __future__ import annotations

import pytest

from fake_openai import DRIP, RESET, FakeServer, fake_server
from llm import (
    EmbeddingClient,
    RequestRejected,
    RequestTimeout,
    ScriptedEmbedder,
    ServerMismatch,
    ServerUnreachable,
)

VECTOR = [0.5, -0.25, 1]


def embedding(vector: object = VECTOR) -> tuple[int, dict[str, str], object]:
    return 200, {}, {"object": "list", "model": "small", "data": [{"index": 0, "embedding": vector}]}


@pytest.fixture
def fake():
    with fake_server() as server:
        server.answers = [embedding()]
        yield server


@pytest.fixture
def client(fake: FakeServer):
    with EmbeddingClient(fake.url, "small", timeout_s=5, attempts=3, backoff_s=0.01) as client:
        yield client


def test_a_text_becomes_a_vector(client: EmbeddingClient) -> None:
    assert (0.5, -0.25, 1.0) == client.embed("int x;")


def test_model_and_text_are_sent(fake: FakeServer, client: EmbeddingClient) -> None:
    client.embed("int x;")

    assert ["/v1/embeddings"] == fake.paths
    assert {"model": "small", "input": "int x;", "encoding_format": "float"} == fake.bodies[0]


def test_a_text_that_is_no_unicode_is_sent_nevertheless(fake: FakeServer, client: EmbeddingClient) -> None:
    client.embed("a\ud800")

    assert "a?" == fake.bodies[0]["input"]


@pytest.mark.parametrize("fault", [RESET, (503, {}, {"error": "busy"}), (429, {"Retry-After": "0"}, {}), (200, {}, {})])
def test_what_may_pass_is_tried_again(fake: FakeServer, client: EmbeddingClient, fault) -> None:
    fake.answers = [fault, embedding()]

    assert (0.5, -0.25, 1.0) == client.embed("int x;")


def test_a_server_that_never_answers_is_unreachable(fake: FakeServer, client: EmbeddingClient) -> None:
    fake.answers = [RESET]

    with pytest.raises(ServerUnreachable, match="attempt 3 of 3"):
        client.embed("int x;")


def test_the_whole_answer_has_one_deadline(fake: FakeServer) -> None:
    fake.answers = [DRIP]
    with (
        EmbeddingClient(fake.url, "small", timeout_s=0.3) as client,
        pytest.raises(RequestTimeout, match=r"novelty\.embedder\.timeout_s"),
    ):
        client.embed("int x;")


@pytest.mark.parametrize("status", [400, 413])
def test_a_text_beyond_the_context_is_refused(fake: FakeServer, client: EmbeddingClient, status: int) -> None:
    fake.answers = [(status, {}, {"error": {"message": "maximum context length is 8 tokens"}})]

    with pytest.raises(RequestRejected, match="too long"):
        client.embed("int x;")


def test_a_wrong_address_says_which_key_to_change(fake: FakeServer, client: EmbeddingClient) -> None:
    fake.answers = [(404, {}, {"detail": "Not Found"})]

    with pytest.raises(ServerMismatch, match=r"check novelty\.embedder\.base_url: it ends where /embeddings begins"):
        client.embed("int x;")


@pytest.mark.parametrize("vector", [[], None, "text", [0.0, 0.0], [1.0, None], [True, 1.0], [1.0, float("inf")]])
def test_what_is_no_vector_is_no_answer(fake: FakeServer, client: EmbeddingClient, vector: object) -> None:
    fake.answers = [embedding(vector)]

    with pytest.raises(ServerMismatch, match="the answer is no embedding"):
        client.embed("int x;")


def test_a_model_must_be_named() -> None:
    with pytest.raises(ValueError, match=r"novelty\.embedder\.model"):
        EmbeddingClient("http://127.0.0.1:1/v1", "")


def test_the_key_comes_from_the_environment(fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    with EmbeddingClient(fake.url, "small", api_key_env="SOME_KEY") as client:
        client.embed("int x;")

    assert "Bearer secret" == {name.lower(): value for name, value in fake.headers[0].items()}["authorization"]


def test_the_double_notes_what_it_is_asked() -> None:
    double = ScriptedEmbedder(lambda text: (float(len(text)), 1.0))

    assert (3.0, 1.0) == double.embed("abc")
    assert ["abc"] == double.texts
