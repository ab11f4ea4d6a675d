"""Evictions of the classic engine, against the recorded answers of kube-scheduler 1.13.0, kept in recorded/."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.conformance.batches import in_batches
from tests.conformance.classic_evictions import RECORDED, engine_answer, recorded, same

pytestmark = pytest.mark.xdist_group("classic-evictions")


@cache
def lines() -> list[dict[str, Any]]:
    return recorded()


@in_batches(8)
def test_the_engine_evicts_as_the_real_classic_scheduler_would(batch: slice) -> None:
    answers = ((line, engine_answer(line["scenario"])) for line in lines()[batch])
    assert [(line, ours) for line, ours in answers if not same(ours, line["expected"])] == []


def test_the_recorded_answers_have_every_kind_of_end() -> None:
    pods = [answer for line in lines() for answer in line["expected"].get("pods", [])]
    assert len(lines()) == RECORDED
    assert sum(bool(answer.get("evicted")) for answer in pods) > 60
    assert any(len(answer.get("evicted", {})) > 1 for answer in pods), "several nodes are equal"
    assert any([] in answer.get("evicted", {}).values() for answer in pods), "nobody has to go"
    assert any("" in answer.get("cleared", {}) for answer in pods), "the pod loses its own node"
    assert any(set(answer.get("cleared", {})) - {""} for answer in pods), "others lose their node"
    assert any(victims["violations"] for answer in pods for victims in answer.get("candidates", {}).values()), (
        "a budget would keep some"
    )
