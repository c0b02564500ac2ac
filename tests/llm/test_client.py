from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fake_openai import DRIP, DRIP_HEADERS, RESET, FakeServer, completion, fake_server
from llm import (
    Completion,
    Message,
    Request,
    RequestRejected,
    RequestTimeout,
    Section,
    ServerClient,
    ServerMismatch,
    ServerUnreachable,
)

PROMPT = (Message("user", "make it fast"),)


@pytest.fixture
def fake():
    with fake_server() as server:
        yield server


@pytest.fixture
def client(fake: FakeServer):
    with ServerClient(fake.url, "tiny", timeout_s=5, attempts=4, backoff_s=0.01) as client:
        yield client


def test_answer_carries_text_usage_and_names(fake: FakeServer, client: ServerClient) -> None:
    fake.pages["/version"] = (200, {"version": "0.9"})
    answer = client.complete(Request(PROMPT))
    told = (
        answer.text,
        answer.finish_reason,
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.model,
        answer.server,
    )
    assert ("hello", "stop", 7, 3, "tiny", "vllm 0.9") == told


def test_body_holds_what_the_request_says(fake: FakeServer, client: ServerClient) -> None:
    client.complete(Request(PROMPT, seed=5, temperature=0.3, top_p=0.5, max_tokens=9, extra={"top_k": 4}))
    expected = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "make it fast"}],
        "seed": 5,
        "temperature": 0.3,
        "top_p": 0.5,
        "max_tokens": 9,
        "top_k": 4,
    }
    assert expected == fake.bodies[0]


def test_the_first_model_on_offer_is_asked_when_none_is_named(fake: FakeServer) -> None:
    with ServerClient(fake.url) as client:
        client.complete(Request(PROMPT))
    assert "tiny" == fake.bodies[0]["model"]


@pytest.mark.parametrize(
    ("content", "message", "text"),
    [
        (None, {}, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {}, "ab"),
        ("code", {"reasoning_content": "hm"}, "code"),
    ],
)
def test_contents_of_every_shape(fake: FakeServer, client: ServerClient, content, message, text) -> None:
    fake.answers = [completion(content, finish_reason="length", **message)]
    assert text == client.complete(Request(PROMPT)).text


def test_reasoning_is_kept_apart(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [completion("code", reasoning_content="hm")]
    assert "hm" == client.complete(Request(PROMPT)).reasoning


def test_three_resets_are_survived_and_recorded(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [RESET, RESET, RESET, completion("at last")]
    answer = client.complete(Request(PROMPT))
    assert ("at last", 3) == (answer.text, len(answer.retries))


def test_retry_after_is_obeyed(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(429, {"Retry-After": "0.4"}, {"error": {"message": "slow down"}}), completion()]
    start_s = time.monotonic()
    client.complete(Request(PROMPT))
    assert time.monotonic() - start_s >= 0.4


def test_an_empty_answer_is_asked_again_with_another_seed(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [completion(""), completion("code")]
    answer = client.complete(Request(PROMPT, seed=3))
    assert ("code", [3, 4], ("empty answer",)) == (answer.text, [body["seed"] for body in fake.bodies], answer.retries)


def test_empty_answers_end_after_two(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [completion("")]
    client.complete(Request(PROMPT))
    assert 2 == len(fake.bodies)


def test_a_dead_server_is_unreachable_after_bounded_attempts(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(503, {}, {"detail": "loading"})]
    with pytest.raises(ServerUnreachable, match=rf"{fake.url} gave no answer \(attempt 4 of 4.*loading.*resume"):
        client.complete(Request(PROMPT))
    assert 4 == len(fake.bodies)


def test_that_a_server_is_waited_for_is_told_once_a_silence(fake: FakeServer, client: ServerClient, caplog) -> None:
    caplog.set_level("WARNING")
    busy = (503, {}, {"detail": "loading"})
    fake.answers = [busy, busy, completion("a"), busy, completion("b")]
    client.complete(Request(PROMPT))
    assert [f"{fake.url}: HTTP 503: loading; asking again, up to 3 times"] == caplog.messages
    client.complete(Request(PROMPT))
    assert 2 == len(caplog.messages)


def test_nobody_there() -> None:
    with (
        ServerClient("http://127.0.0.1:9/v1", "tiny", attempts=2, backoff_s=0.01) as client,
        pytest.raises(ServerUnreachable, match=r"http://127.0.0.1:9/v1 gave no answer \(attempt 2 of 2"),
    ):
        client.complete(Request(PROMPT))


@pytest.mark.parametrize("behaviour", [DRIP, DRIP_HEADERS])
def test_a_dripping_server_does_not_hold_the_slot(fake: FakeServer, behaviour) -> None:
    fake.answers = [behaviour]
    with ServerClient(fake.url, "tiny", timeout_s=0.5) as client, pytest.raises(RequestTimeout, match=r"within 0.5 s"):
        client.complete(Request(PROMPT))
    assert 1 == len(fake.bodies)


def test_a_silent_server_times_out_once(fake: FakeServer) -> None:
    silence = threading.Event()
    fake.answers = [lambda body: (silence.wait(5), completion())[1]]
    with ServerClient(fake.url, "tiny", timeout_s=0.3) as client, pytest.raises(RequestTimeout):
        client.complete(Request(PROMPT))
    silence.set()
    assert 1 == len(fake.bodies)


def test_another_shape_with_status_200_is_one_clear_message(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(200, {}, {"detail": "no such route"})]
    with pytest.raises(ServerMismatch, match=r"no 'choices' but 'no such route'.*check llm.base_url"):
        client.complete(Request(PROMPT))
    assert 4 == len(fake.bodies)


def test_a_doubled_path_is_one_clear_message(fake: FakeServer) -> None:
    with (
        ServerClient(fake.url + "/v1", "tiny") as client,
        pytest.raises(ServerMismatch, match=r"HTTP 404: Not Found; check llm.base_url"),
    ):
        client.complete(Request(PROMPT))


def test_an_unknown_model_is_told_what_there_is(fake: FakeServer) -> None:
    fake.answers = [(404, {}, {"error": {"message": "The model `big` does not exist."}})]
    with ServerClient(fake.url, "big") as client, pytest.raises(ServerMismatch, match=r"it offers tiny: set llm.model"):
        client.complete(Request(PROMPT))


def test_a_page_that_is_no_json(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(200, {}, "<html>Welcome to\nthe proxy</html>")]
    with pytest.raises(ServerMismatch, match="no chat completion"):
        client.complete(Request(PROMPT))


def test_a_refused_request_is_not_repeated(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(422, {}, {"detail": "top_p must be\nat most 1"})]
    with pytest.raises(RequestRejected, match="HTTP 422: top_p must be at most 1") as caught:
        client.complete(Request(PROMPT))
    assert (1, 1) == (len(fake.bodies), str(caught.value).count("\n") + 1)


def test_the_key_is_sent_and_never_shown(fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-123")
    fake.answers = [(401, {}, {"error": {"message": "Incorrect API key provided: sk-secret-123"}})]
    with ServerClient(fake.url, "tiny", api_key_env="SOME_KEY") as client, pytest.raises(ServerMismatch) as caught:
        client.complete(Request(PROMPT))
    assert "Bearer sk-secret-123" == {name.lower(): text for name, text in fake.headers[0].items()}["authorization"]
    assert "sk-secret" not in str(caught.value) + repr(client)


def test_a_key_variable_that_is_not_set() -> None:
    with pytest.raises(ServerMismatch, match=r"NO_SUCH_KEY \(llm.api_key_env\) is not set"):
        ServerClient("http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY")


def test_a_base_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="must start with http"):
        ServerClient("localhost:8000/v1")


def _long_prompt(log: int, elite: int, parent: int) -> tuple[Message, ...]:
    parts = [("task", 300, 0), ("elite", elite, 3), ("parent", parent, 1), ("log", log, 4)]
    content, sections = "", []
    for name, length, priority in parts:
        text = (name + " ") * (length // (len(name) + 1))
        if priority:
            sections.append(Section(name, len(content), len(content) + len(text), priority, name == "elite"))
        content += text
    return (Message("user", content, tuple(sections)),)


def test_a_log_of_two_megabytes_is_cut_and_nothing_else(fake: FakeServer, client: ServerClient) -> None:
    answer = client.complete(Request(_long_prompt(2_000_000, 1500, 3000), max_tokens=1024))
    sent = fake.bodies[0]["messages"][0]["content"]
    assert ["log"] == [cut.split(":")[0] for cut in answer.cuts]
    assert (1024, True) == (fake.bodies[0]["max_tokens"], len(sent) / 3 + 1024 < 4096)


def test_inspirations_go_before_the_parent(fake: FakeServer, client: ServerClient) -> None:
    answer = client.complete(Request(_long_prompt(3000, 9000, 8000), max_tokens=1024))
    assert ["elite", "log"] == [cut.split(":")[0] for cut in answer.cuts]
    assert "parent " * 1142 in fake.bodies[0]["messages"][0]["content"]


def test_the_parent_is_shortened_last_and_the_answer_before_it(fake: FakeServer, client: ServerClient) -> None:
    answer = client.complete(Request(_long_prompt(0, 0, 40_000), max_tokens=1024))
    assert ["parent", "max_tokens"] == [cut.split(":")[0] for cut in answer.cuts]
    assert fake.bodies[0]["messages"][0]["content"].startswith("task task")


def test_a_server_that_counts_tokens_is_asked(fake: FakeServer, client: ServerClient) -> None:
    fake.pages["/version"] = (200, {"version": "0.9"})
    fake.pages["/tokenize"] = (200, {"count": 3500, "max_model_len": 4096})
    answer = client.complete(Request((Message("user", "x" * 7000),), max_tokens=1000))
    assert (596, ("max_tokens: 1000 -> 596",)) == (fake.bodies[0]["max_tokens"], answer.cuts[-1:])


def test_a_limit_that_only_the_refusal_tells(fake: FakeServer, client: ServerClient) -> None:
    def picky(body):
        tokens = len(body["messages"][0]["content"]) / 3 + body["max_tokens"]
        refusal = {"error": {"message": "This model's maximum context length is 3000 tokens.", "code": 400}}
        return completion() if tokens < 3000 else (400, {}, refusal)

    fake.pages.pop("/v1/models")
    fake.answers = [picky]
    answer = client.complete(Request(_long_prompt(9000, 0, 900), max_tokens=512))
    assert ("hello", ["log"]) == (answer.text, [cut.split(":")[0] for cut in answer.cuts])


def test_a_prompt_that_never_fits_is_rejected(fake: FakeServer, client: ServerClient) -> None:
    fake.answers = [(400, {}, {"error": {"message": "max_tokens must be at least 1, got -186"}})]
    with pytest.raises(RequestRejected, match="even a shortened prompt too long"):
        client.complete(Request(PROMPT))


def test_requests_of_many_threads_are_in_flight_together(fake: FakeServer, client: ServerClient) -> None:
    together = threading.Barrier(8, timeout=10)
    fake.answers = [lambda body: (together.wait(), completion(str(body["seed"])))[1]]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda seed: client.complete(Request(PROMPT, seed=seed)).text, range(8)))
    assert [str(seed) for seed in range(8)] == answers


def test_the_gauge_of_running_requests(fake: FakeServer, client: ServerClient) -> None:
    text = '# HELP\nvllm:num_requests_running{model="a"} 3.0\nvllm:num_requests_waiting{model="a"} 9.0\n'
    fake.pages["/metrics"] = (200, text)
    assert 3.0 == client.running_requests()


def test_a_completion_survives_json() -> None:
    answer = Completion("a", cuts=("log: 3 characters",), retries=("reset",), arm="b")
    assert answer == Completion.from_json(answer.to_json())


def test_a_completion_of_an_older_record_is_read() -> None:
    old = {key: value for key, value in Completion("a").to_json().items() if key not in ("retries", "arm")}
    assert Completion("a") == Completion.from_json(old)


def test_sections_survive_json() -> None:
    request = Request(_long_prompt(100, 100, 100))
    assert request == Request.from_json(request.to_json())


def _choices(body: dict) -> tuple:
    count = body.get("n", 1)
    choices = [{"message": {"content": f"{body['seed']}/{i}"}, "finish_reason": "stop"} for i in range(count)]
    usage = {"prompt_tokens": 10, "completion_tokens": 3 * count + 1}
    return 200, {}, {"model": "tiny", "choices": choices, "usage": usage}


def _asked_together(fake: FakeServer, count: int, **different: object) -> list[Completion]:
    with ServerClient(fake.url, "tiny", gather_s=0.3) as client, ThreadPoolExecutor(count) as pool:
        client.complete(Request(PROMPT, seed=999))
        fake.bodies.clear()
        return list(pool.map(lambda seed: client.complete(Request(PROMPT, seed=seed, **different)), range(count)))


def test_requests_that_differ_in_the_seed_alone_become_one(fake: FakeServer) -> None:
    fake.answers = [_choices]
    answers = _asked_together(fake, 4)
    assert ([4], 4) == ([body.get("n") for body in fake.bodies], len({answer.text for answer in answers}))


def test_the_usage_of_several_choices_is_divided(fake: FakeServer) -> None:
    fake.answers = [_choices]
    answers = _asked_together(fake, 4)
    totals = sum(answer.prompt_tokens for answer in answers), sum(answer.completion_tokens for answer in answers)
    assert (10, 13) == totals


def test_a_server_that_gives_one_choice_is_asked_for_the_others(fake: FakeServer) -> None:
    fake.answers = [lambda body: _choices({**body, "n": 1})]
    answers = _asked_together(fake, 3)
    assert (3, 3) == (len(fake.bodies), len({answer.text for answer in answers}))


def test_a_failure_is_met_by_all_that_were_gathered(fake: FakeServer) -> None:
    fake.answers = [completion(), (422, {}, {"detail": "no"})]
    with pytest.raises(RequestRejected):
        _asked_together(fake, 3)
    assert 1 == len(fake.bodies)
