"""Copies of a snapshot: those that share its computed values, and those that begin anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from kschedweb.engine import Node, Pod, Snapshot
from kschedweb.engine.state.caches import Caches, SnapshotPart
from kschedweb.engine.state.watermarks.recent_pods import PodContribution
from tests.engine.builders import node, pod

BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}}


def measured(snapshot: Snapshot) -> Snapshot:
    other = snapshot.copy()
    other.watermarks = None
    return other


def budgeted(snapshot: Snapshot) -> Snapshot:
    other = snapshot.copy()
    other.objects.add(BUDGET)
    return other


COPIES: dict[str, tuple[Callable[[Snapshot], Snapshot], set[str]]] = {
    "copy": (Snapshot.copy, {"recent"}),
    "own amounts": (Snapshot.with_own_amounts, set()),
    "other nodes": (
        lambda snapshot: snapshot.with_nodes([Node.from_json(node("a"))]),
        {"memo", "related", "derived", "recent"},
    ),
    "emptied": (
        lambda snapshot: snapshot.with_emptied_nodes({0: snapshot.nodes[0]}),
        {"memo", "related", "derived", "recent"},
    ),
    "other figures": (measured, {"derived", "recent"}),
    "other budgets": (budgeted, {"related", "recent"}),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_begins_anew_with_what_depends_on_the_parts_that_are_others(name: str) -> None:
    make, anew = COPIES[name]
    snapshot = Snapshot.from_objects([node("a"), pod("p", on="a")])
    numbers = count()

    def worked_out(snapshot: Snapshot) -> dict[str, float]:
        drawn = next(numbers)
        cached: dict[str, float] = {
            kind: getattr(snapshot, f"cached_by_{part}")("key", lambda: drawn)
            for kind, part in (("memo", "nodes"), ("related", "objects"), ("derived", "watermarks"))
        }
        return cached | {
            "recent": float(snapshot.recent_sums("key", 1, lambda pod, node, time: PodContribution([drawn]))[0, 0])
        }

    before = worked_out(snapshot)
    after = worked_out(make(snapshot))
    assert {kind for kind, value in after.items() if value != before[kind]} == anew
    assert worked_out(snapshot) == before, "the original keeps what it has"


def test_caches_that_depend_on_nothing_that_changed_are_shared() -> None:
    caches = Caches()
    after = caches.copy_after_change(SnapshotPart.OBJECTS)
    assert after.related is not caches.related
    assert (after.memo, after.derived, after.recent) == (caches.memo, caches.derived, caches.recent)


def test_amounts_of_its_own_leave_the_others_as_they_are() -> None:
    snapshot = Snapshot.from_objects([node("a"), pod("p", on="a", requests={"cpu": "1"})])
    trial = snapshot.with_own_amounts()
    trial.requested[:] = trial.nonzero[:] = trial.pod_count[:] = 0
    assert snapshot.resource_row(snapshot.requested, "cpu").tolist() == [1000]
    assert snapshot.nonzero.all()
    assert snapshot.pod_count.tolist() == [1]
    assert trial.pods is snapshot.pods


def test_a_pod_that_takes_what_no_node_has_adds_a_row_to_both_parts() -> None:
    snapshot = Snapshot.from_objects([node("a"), node("b")])
    other = snapshot.copy()
    row_count = len(snapshot.resources)
    other.add_pod(Pod.from_json(pod("p", requests={"example.com/gpu": "2", "unknown": "3"})), 1)
    assert other.resources["example.com/gpu"] == row_count
    assert len(other.resources) == len(other.allocatable) == len(other.requested) == row_count + 1
    assert other.requested[row_count].tolist() == [0, 2]
    assert not np.any(other.allocatable[row_count])
    assert len(snapshot.resources) == len(snapshot.allocatable) == len(snapshot.requested) == row_count
    further = other.with_nodes([Node.from_json(node("a", allocatable={"cpu": "1", "example.com/fpga": "4"}))])
    assert len(further.allocatable) == len(further.requested) == row_count + 2
    assert further.allocatable[row_count + 1].tolist() == [4, 0]
    assert further.requested[row_count].tolist() == [0, 2]
