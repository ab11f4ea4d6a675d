"""The classic engine's answers against those of the real kube-scheduler 1.13.0, kept in recorded/."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.scenario.classic import ClassicScenario
from tests.conformance.batches import differing, in_batches
from tests.conformance.classic import comparable, recorded, sequences

NUMBER, SEQUENCES = 240, 41
pytestmark = pytest.mark.xdist_group("classic")  # all answers are given at once, in one process


def test_the_engine_answers_as_the_real_classic_scheduler_did() -> None:
    assert len(recorded()) == NUMBER
    answers = ((line["scenario"]["name"], line["ours"], line["expected"]) for line in recorded())
    assert differing((name, comparable(ours), comparable(expected)) for name, ours, expected in answers) == {}


@in_batches(4)
def test_pods_are_placed_one_after_the_other_as_the_real_classic_scheduler_did(batch: slice) -> None:
    """With its walk over zones, a part of the nodes, and equal ones in turn."""
    assert len(sequences()) == SEQUENCES
    answered = ((line["scenario"], line["expected"]) for line in sequences()[batch])
    assert differing((scenario["name"], placed(scenario), expected) for scenario, expected in answered) == {}


def placed(scenario: Json) -> list[str]:
    """Return each pod's node, or the message why it has none."""
    placements = ClassicScenario.from_json(scenario, {}).schedule()["placements"]
    return [placement.get("node") or placement["message"] for placement in placements]
