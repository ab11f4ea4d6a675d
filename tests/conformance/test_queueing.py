"""The engine does with queues and workloads what Kueue 0.19.2 does, cycle by cycle, and says what it says."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.batches import in_batches
from tests.conformance.queueing import engine_answer, group_name, list_answers, recorded

pytestmark = pytest.mark.xdist_group("queueing")
RECORDED = 289
# Scenarios by group: every group that was recorded is answered.
GROUPS = {
    "borrow": 10, "checks": 10, "classes": 10, "events": 15, "fair": 21, "fairtree": 15, "fit": 10, "flavors": 15,
    "gates": 10, "issue": 18, "partial": 10, "preempt": 13, "ready": 10, "reasons": 14, "reclaim": 21, "refused": 6,
    "stopped": 10, "tas": 31, "tasgroups": 25, "tree": 15,
}  # fmt: skip


@in_batches(4)
def test_the_engine_queues_as_the_real_kueue(batch: slice) -> None:
    answers = ((line, engine_answer(line["scenario"])) for line in recorded()[batch])
    # Where Kueue leaves it to chance, one of its answers is enough.
    assert [(line, ours) for line, ours in answers if ours not in list_answers(line["answer"])] == []


def test_the_recorded_answers_are_of_every_group() -> None:
    assert len(recorded()) == RECORDED
    assert Counter(group_name(line["scenario"]) for line in recorded()) == GROUPS
