"""The engine's kubelets against the kubelet's own code of 1.37.2, whose answers are kept in recorded/."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.kubelets import RECORDED, engine_answer, same
from tests.conformance.record import read

LINES = read(RECORDED)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["question"]["name"])
def test_the_engine_admits_pods_as_the_kubelet_did(line: dict) -> None:
    ours = engine_answer(line["question"])
    assert same(ours, line["expected"]) or ours == line["expected"]  # the latter shows where they differ


def test_the_recorded_answers_hold_all_that_a_kubelet_says() -> None:
    said = Counter(line["expected"].get("reason", "") for line in LINES)
    wanted = {"", "OutOfpods", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfnvidia.com/gpu"}
    wanted |= {"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "PodOSNotSupported"}
    wanted |= {"PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported", "UnexpectedAdmissionError"}
    assert wanted <= said.keys()
    assert sum("ended" in line["expected"] for line in LINES) > 10
