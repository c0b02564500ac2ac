"""A whole run with an embedding model in front of the evaluator."""

import json

from fake_openai import fake_server


def test_embeddings_are_asked_once_and_a_replay_asks_nobody(command, tmp_path):
    small = ["task=row_sum", "evaluator=quick", "generations=1", "mu=2", "lambda_=3", "verify=false"]
    chosen = ["operators=syntactic", "novelty=embedding", "novelty.embedder.model=small"]
    with fake_server() as fake:
        fake.answers = [(200, {}, {"data": [{"embedding": [1.0, 2.0]}]})]
        address = f"novelty.embedder.base_url={fake.url}"
        done = command("run", *small, *chosen, address, f"hydra.run.dir={tmp_path / 'run'}")
        asked = [body["model"] for body in fake.bodies]
    last = json.loads((tmp_path / "run" / "generations.jsonl").read_text().splitlines()[-1])

    assert 0 == done.returncode, done.stderr
    assert {"small"} == set(asked)
    assert 1 == last["evaluations"]
    assert 0 == command("replay", str(tmp_path / "run")).returncode


def test_an_embedding_model_must_be_named(command, tmp_path):
    done = command("run", "task=row_sum", "novelty=embedding", f"hydra.run.dir={tmp_path / 'run'}")

    assert "novelty.embedder.model is empty: name the embedding model" in done.stderr
    assert 2 == done.returncode
