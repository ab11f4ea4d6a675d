"""Devices that DeviceTaintRules taint: the recorded answers of kube-scheduler 1.37."""

from __future__ import annotations

from tests.conformance.batches import in_batches, recorded_lines
from tests.conformance.hunting import same
from tests.conformance.reference import engine_answer
from tests.conformance.taint_rules import RECORDED


@in_batches(4)
def test_the_engine_says_what_kube_scheduler_said(batch: slice) -> None:
    answers = ((line, engine_answer(line["ask"], line["scenario"])) for line in recorded_lines(RECORDED)[batch])
    assert [(line, ours) for line, ours in answers if not same(line["scenario"], ours, line["expected"])] == []


def test_the_rules_decide_in_many_of_them() -> None:
    scenarios = [line["scenario"] for line in recorded_lines(RECORDED) if line["ask"] == "explain"]
    differ = [scenario["name"] for scenario in scenarios if with_gate(scenario, True) != with_gate(scenario, False)]
    assert len(differ) > len(scenarios) // 10


def with_gate(scenario: dict, on: bool) -> dict:
    return engine_answer("explain", scenario | {"featureGates": {"DRADeviceTaintRules": on}})
