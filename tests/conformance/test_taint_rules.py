"""Devices that DeviceTaintRules taint: the recorded answers of kube-scheduler 1.37."""

from __future__ import annotations

import pytest

from tests.conformance.hunting import same
from tests.conformance.record import read
from tests.conformance.reference import engine_answer
from tests.conformance.taint_rules import RECORDED

LINES = read(RECORDED)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['ask']}-{line['scenario']['name']}")
def test_the_engine_says_what_kube_scheduler_said(line: dict) -> None:
    assert same(line["scenario"], engine_answer(line["ask"], line["scenario"]), line["expected"])


def test_the_rules_decide_in_many_of_them() -> None:
    asked = [line["scenario"] for line in LINES if line["ask"] == "explain"]
    differ = [scenario["name"] for scenario in asked if with_gate(scenario, True) != with_gate(scenario, False)]
    assert len(differ) > len(asked) // 10


def with_gate(scenario: dict, on: bool) -> dict:
    return engine_answer("explain", scenario | {"featureGates": {"DRADeviceTaintRules": on}})
