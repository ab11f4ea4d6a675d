"""The engine's kubelets against the kubelet's own code of 1.37.2, whose answers are kept in recorded/."""

from __future__ import annotations

from collections import Counter

from tests.conformance.batches import recorded_lines
from tests.conformance.kubelets import RECORDED, engine_answer, same


def test_the_engine_admits_pods_as_the_kubelet_did() -> None:
    answers = ((line, engine_answer(line["question"])) for line in recorded_lines(RECORDED))
    assert [(line, ours) for line, ours in answers if not same(ours, line["expected"])] == []


def test_the_recorded_answers_hold_all_that_a_kubelet_says() -> None:
    reasons = Counter(line["expected"].get("reason", "") for line in recorded_lines(RECORDED))
    expected = {"", "OutOfpods", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfnvidia.com/gpu"}
    expected |= {"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "PodOSNotSupported"}
    expected |= {
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SupplementalGroupsPolicyNotSupported",
        "UnexpectedAdmissionError",
    }
    assert expected <= reasons.keys()
    assert sum("ended" in line["expected"] for line in recorded_lines(RECORDED)) > 10
