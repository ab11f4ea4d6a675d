"""The pods that go first where a ReplicaSet has too many."""

from __future__ import annotations

import pytest

from kschedweb.engine.controllers.deletion_order import DeletionCandidate, deletion_cost, rank_for_deletion

OLD, NEW = 0.0, 900.0


def order(*candidates: DeletionCandidate) -> list[str]:
    return [pod.key for pod in rank_for_deletion(candidates, [pod.node for pod in candidates], 1000.0)]


def test_each_rule_counts_before_the_next() -> None:
    assert order(
        DeletionCandidate("old", "u5", "a", ready=OLD),
        DeletionCandidate("new", "u4", "b", ready=NEW),
        DeletionCandidate("crowded", "u3", "c", ready=OLD),
        DeletionCandidate("crowded too", "u3b", "c", ready=NEW),
        DeletionCandidate("cheap", "u2", "d", ready=OLD, cost=-1),
        DeletionCandidate("not ready", "u1", "e"),
        DeletionCandidate("pending", "u0", "f", phase="Pending"),
        DeletionCandidate("nowhere", "u", phase="Pending"),
    ) == ["nowhere", "pending", "not ready", "cheap", "crowded too", "crowded", "new", "old"]


def test_pods_of_about_the_same_age_go_by_their_uid() -> None:
    pods = [
        DeletionCandidate(name, uid, name, ready=time) for name, uid, time in (("x", "1", 100.0), ("y", "0", 110.0))
    ]
    assert order(*pods) == ["y", "x"]
    assert order(*reversed(pods)) == ["y", "x"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [("7", 7), ("-08", -8), ("+3", 0), ("007", 0), ("x", 0), ("2147483648", 0), ("-2147483648", -(1 << 31))],
)
def test_a_cost_that_cannot_be_read_is_none(text: str, cost: int) -> None:
    assert deletion_cost({"controller.kubernetes.io/pod-deletion-cost": text}) == cost
