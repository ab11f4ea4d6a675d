"""The engine on groups of pods against the real kube-scheduler 1.37.2 and 1.38, whose answers are kept in recorded/."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from tests.conformance.batches import in_batches, recorded_lines
from tests.conformance.groups import FIRST, GOLDEN, engine_answer, same


@in_batches(8)
@pytest.mark.parametrize("golden", GOLDEN.values())
def test_the_engine_tries_groups_as_the_real_scheduler_did(golden: str, batch: slice) -> None:
    answers = ((line, engine_answer(line["scenario"])) for line in recorded_lines(golden)[batch])
    assert [(line, ours) for line, ours in answers if not same(ours, line["expected"])] == []


def test_the_recorded_answers_hold_what_can_become_of_a_tree() -> None:
    attempts = [attempt for line in recorded_lines(GOLDEN["1.38"]) for attempt in line["expected"]["attempts"]]
    trees = [attempt for attempt in attempts if "groups" in attempt]
    assert {attempt["group"]["reason"] for attempt in trees} == {
        "Scheduled",
        "Unschedulable",
        "SchedulerError",
        "CompositePodGroupError",
    }
    assert any(in_part(attempt) for attempt in trees)
    assert any("evicted" in attempt for attempt in trees)


def test_the_recorded_answers_hold_what_can_become_of_a_group() -> None:
    attempts = [attempt for line in recorded_lines(GOLDEN[FIRST]) for attempt in line["expected"]["attempts"]]
    groups = [attempt for attempt in attempts if attempt["entity"].startswith("group ")]
    assert {attempt["group"]["reason"] for attempt in groups if "group" in attempt} == {
        "Scheduled",
        "Unschedulable",
        "SchedulerError",
    }
    assert any(in_part(attempt) for attempt in groups)
    assert any("evicted" in attempt for attempt in groups)
    assert any(len(attempt.get("evicted", [])) > 1 for attempt in attempts if attempt not in groups)
    assert any("placements are available" in attempt.get("group", {}).get("message", "") for attempt in groups)


def in_part(attempt: Json) -> bool:
    """Return whether only some of the pods got a node."""
    return len({"node" in pod for pod in attempt["pods"]}) == 2
