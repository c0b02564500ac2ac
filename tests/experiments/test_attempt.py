"""What ``result.json`` keeps of an evaluation."""

from experiments.attempt import _figures
from fitness import Baseline, Evaluation, Status

PLAIN = Evaluation("0" * 32, Status.OK)


def test_result_states_each_baseline_without_samples():
    evaluation = Evaluation("0" * 32, Status.OK, baselines=(Baseline("eager", speedup=2.0, interval=(1.9, 2.1)),))
    figures = _figures(evaluation.to_json())
    assert [{"name": "eager", "status": "ok", "speedup": 2.0, "interval": [1.9, 2.1]}] == figures["baselines"]


def test_a_result_without_baselines_has_no_such_key():
    assert "baselines" not in _figures(PLAIN.to_json())
