"""The engine evicts what the descheduler 0.36.0 evicts, and says what it says: its recorded answers, in recorded/."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.batches import differing, in_batches
from tests.conformance.descheduler import engine_answer, policies, recorded, validated

pytestmark = pytest.mark.xdist_group("descheduler")
RECORDED, POLICIES = 240, 60


@in_batches(4)
def test_the_engine_evicts_as_the_real_descheduler(batch: slice) -> None:
    answered = ((line["scenario"], line["expected"]) for line in recorded()[batch])
    assert differing((scenario["name"], engine_answer(scenario), expected) for scenario, expected in answered) == {}


def test_the_engine_reads_a_policy_as_the_real_descheduler() -> None:
    assert differing((line["name"], validated(line["policy"]), line["expected"]) for line in policies()) == {}


def test_the_recorded_answers_hold_every_plugin_and_every_kind_of_end() -> None:
    assert (len(recorded()), len(policies())) == (RECORDED, POLICIES)
    answers = [line["expected"] for line in recorded()]
    evicted = Counter(entry["plugin"] for answer in answers for entry in answer["evicted"])
    assert len(evicted) == 10, evicted
    assert min(evicted.values()) >= 5, evicted
    error_kinds = {entry["error"].partition(" ")[0] for answer in answers for entry in answer.get("failures", ())}
    assert {"maximum", "error"} <= error_kinds
    assert any(not answer["ordered"] for answer in answers), "the order is left to chance"
    assert any(answer.get("skipped") for answer in answers), "too few nodes"
    assert any(not line["expected"]["valid"] for line in policies())
