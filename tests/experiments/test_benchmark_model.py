from __future__ import annotations

import json
import time

from experiments.benchmarks.model import main
from fake_openai import completion, fake_server


def told(capsys, *arguments: str) -> dict:
    assert 0 == main(["--requests", "8", "--in-flight", "4", *arguments])
    return json.loads(capsys.readouterr().out)


def test_the_clients_cost_is_told_for_one_request_and_for_many_at_once(capsys) -> None:
    found = told(capsys)
    assert all(found[key] > 0 for key in ("client_cpu_ms", "client_cpu_ms_in_flight", "reader_cpu_ms"))


def slow(body: dict) -> object:
    time.sleep(0.2)
    return completion("x")


def test_the_gauge_of_running_requests_is_read_while_many_are_open(capsys) -> None:
    with fake_server() as fake:
        fake.answers = [slow]
        fake.pages["/metrics"] = (200, 'vllm:num_requests_running{engine="0"} 3.0\n')
        batch = told(capsys, "--url", fake.url)["batch"]
    assert (4, 3.0, 12) == (batch["in_flight"], batch["running_max"], len(fake.bodies))
