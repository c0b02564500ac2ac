"""A declared experiment from its file to its comparison, with real runs on this machine."""

import json
from pathlib import Path

import pytest

from experiments.analysis.result import analyse

EXPERIMENT = """
arms:
  identity: [operators=identity]
  syntactic: [operators=syntactic]
  broken: [operators=llm, llm=server, "llm.base_url=http://127.0.0.1:9/v1", llm.model=none, llm.attempts=1]
tasks: [row_sum]
seeds: 1
overrides: [evaluator=quick, mu=1, lambda_=2]
budget: {evaluations: 2}
comparisons: [[syntactic, identity]]
"""
"""Nobody serves the model of the third arm."""


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [[], ["hydra/launcher=basic"]], ids=["processes", "hydra"])
def test_an_experiment_runs_resumes_and_is_compared(tmp_path: Path, command, launcher: list[str]) -> None:
    declaration = tmp_path / "demo.yaml"
    declaration.write_text(EXPERIMENT)
    arguments = [f"experiment={declaration}", f"hydra.sweep.dir={tmp_path / 'a sweep'}", *launcher]
    first = command("sweep", *arguments, timeout_s=600)
    second = command("sweep", *arguments, "seeds=2", timeout_s=600)
    result = analyse(tmp_path / "a sweep")
    states = result.scored.groupby("arm")["state"].agg(list).to_dict()

    assert (1, 1) == (first.returncode, second.returncode), first.stderr + second.stderr
    assert "demo: 6 runs, 4 to do" in second.stdout
    assert {"broken": ["failed"] * 2, "identity": ["finished"] * 2, "syntactic": ["finished"] * 2} == states
    assert "After the first run: seeds added: 1" in " ".join(result.warnings)
    assert json.loads((tmp_path / "a sweep" / "broken" / "row_sum" / "seed_0" / "failed.json").read_text())["error"]
