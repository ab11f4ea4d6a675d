"""The engine decides as Karpenter 1.15.0 does, and says what it says: its recorded answers, in recorded/."""

from __future__ import annotations

from collections import Counter

import pytest

from kschedweb.engine.json_types import Json
from tests.conformance.batches import in_batches
from tests.conformance.karpenter import agreeing, recorded

pytestmark = pytest.mark.xdist_group("karpenter")
RECORDED = 150


@in_batches(6)
def test_the_engine_decides_as_the_real_karpenter(batch: slice) -> None:
    differing = {}
    for line in recorded()[batch]:
        answer, agrees = agreeing(line["scenario"], line["expected"])
        if not agrees:
            differing[line["scenario"]["name"]] = answer, line["expected"]
        invariants(answer, line["scenario"])
    assert differing == {}


def test_the_recorded_answers_hold_every_method_and_every_kind_of_end() -> None:
    assert len(recorded()) == RECORDED
    answers = [line["expected"] for line in recorded()]
    commands = [answer["disruption"]["command"] for answer in answers if answer.get("disruption", {}).get("command")]
    endings = Counter((command["type"], command["decision"]) for command in commands)
    assert set(endings) >= {
        ("Empty", "delete"),
        ("MultiNode", "delete"),
        ("MultiNode", "replace"),
        ("SingleNode", "replace"),
    }
    assert min(endings.values()) >= 3, endings
    reasons = [
        reason.partition(":")[0]
        for answer in answers
        for listed in answer.get("disruption", {}).get("reasons", {}).values()
        for reason in listed
    ]
    assert set(reasons) == {"DisruptionBlocked", "Unconsolidatable", "ConsolidationCandidate", "ConsolidationApproved"}
    errors = [text for answer in answers for text in answer["provisioning"]["podErrors"].values()]
    for words in (
        "did not tolerate",
        "incompatible requirements",
        "exceed limits",
        "enough resources",
        "required offering",
    ):
        assert any(words in text for text in errors), words
    assert sum(bool(answer.get("alternatives")) for answer in answers) >= 5, "something is left to chance"


def invariants(first_answer: Json, scenario: Json) -> None:
    """Check the invariants of every result: each pod has one place, and only offered nodes are launched."""
    type_names = {claim["name"] for claim in scenario["instanceTypes"]}
    for answer in (first_answer, *first_answer.get("alternatives", ())):
        provisioning = answer["provisioning"]
        placed = [
            *(pod for claim in provisioning["newNodeClaims"] for pod in claim["pods"]),
            *(pod for pods in provisioning["existing"].values() for pod in pods),
            *provisioning["podErrors"],
        ]
        assert len(placed) == len(set(placed))
        for claim in provisioning["newNodeClaims"]:
            assert claim["pods"]
            assert set(claim["instanceTypes"]) <= type_names
