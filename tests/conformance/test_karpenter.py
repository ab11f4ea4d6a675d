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
        told, agrees = agreeing(line["scenario"], line["expected"])
        if not agrees:
            differing[line["scenario"]["name"]] = told, line["expected"]
        invariants(told, line["scenario"])
    assert differing == {}


def test_the_recorded_answers_hold_every_method_and_every_kind_of_end() -> None:
    assert len(recorded()) == RECORDED
    answers = [line["expected"] for line in recorded()]
    commands = [one["disruption"]["command"] for one in answers if one.get("disruption", {}).get("command")]
    known = Counter((one["type"], one["decision"]) for one in commands)
    assert set(known) >= {
        ("Empty", "delete"),
        ("MultiNode", "delete"),
        ("MultiNode", "replace"),
        ("SingleNode", "replace"),
    }
    assert min(known.values()) >= 3, known
    reasons = [
        said.partition(":")[0]
        for one in answers
        for listed in one.get("disruption", {}).get("reasons", {}).values()
        for said in listed
    ]
    assert set(reasons) == {"DisruptionBlocked", "Unconsolidatable", "ConsolidationCandidate", "ConsolidationApproved"}
    errors = [text for one in answers for text in one["provisioning"]["podErrors"].values()]
    for words in (
        "did not tolerate",
        "incompatible requirements",
        "exceed limits",
        "enough resources",
        "required offering",
    ):
        assert any(words in text for text in errors), words
    assert sum(bool(one.get("alternatives")) for one in answers) >= 5, "something is left to chance"


def invariants(told: Json, scenario: Json) -> None:
    """What holds whatever chance decides: each pod has one place, and what is launched is offered."""
    known = {one["name"] for one in scenario["instanceTypes"]}
    for answer in (told, *told.get("alternatives", ())):
        provisioning = answer["provisioning"]
        placed = [
            *(pod for one in provisioning["newNodeClaims"] for pod in one["pods"]),
            *(pod for pods in provisioning["existing"].values() for pod in pods),
            *provisioning["podErrors"],
        ]
        assert len(placed) == len(set(placed))
        for one in provisioning["newNodeClaims"]:
            assert one["pods"]
            assert set(one["instanceTypes"]) <= known
