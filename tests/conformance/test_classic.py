"""The classic engine's answers against those of the real kube-scheduler 1.13.0, kept in recorded/."""

from __future__ import annotations

import pytest

from kschedweb.engine.scenario.classic import ClassicScenario
from tests.conformance.classic import comparable, recorded, sequences

NUMBER, SEQUENCES = 240, 41
pytestmark = pytest.mark.xdist_group("classic")  # all answers are given at once, in one process


@pytest.mark.parametrize("number", range(NUMBER))
def test_the_engine_answers_as_the_real_classic_scheduler_did(number: int) -> None:
    line = recorded()[number]
    assert comparable(line["ours"]) == comparable(line["expected"]), line["scenario"]["name"]


def test_every_recorded_scenario_is_asked() -> None:
    assert len(recorded()) == NUMBER


@pytest.mark.parametrize("number", range(SEQUENCES))
def test_pods_are_placed_one_after_the_other_as_the_real_classic_scheduler_did(number: int) -> None:
    """With its walk over zones, a part of the nodes, and equal ones in turn."""
    line = sequences()[number]
    placements = ClassicScenario.from_json(line["scenario"], {}).schedule()["placements"]
    assert [one.get("node") or one["message"] for one in placements] == line["expected"]


def test_every_recorded_sequence_is_asked() -> None:
    assert len(sequences()) == SEQUENCES
