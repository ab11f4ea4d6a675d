"""Rows inserted in one statement are those that Django would have made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot, Source
from kschedweb.web import bulk

pytestmark = pytest.mark.django_db


def rows(snapshot: Snapshot) -> list[Any]:
    amounts = dict.fromkeys(("cpu_allocatable", "cpu_requested", "memory_allocatable", "memory_requested"), 2**62)
    node = NodeRow(
        snapshot=snapshot,
        name="ノード",
        taints=["a=b:NoSchedule"],
        labels=None,
        pods_allocatable=3,
        pods_bound=1,
        **amounts,
    )
    pods = [
        PodRow(
            snapshot=snapshot, namespace="default", name=f"pod-{number}", uid="", pending=bool(number), cpu_request=1,
            memory_request=2, scheduler_name="x",
            created_at=datetime(2026, 11, 22, 3, 12, number, 5, tzinfo=UTC) if number else None,
        )
        for number in range(3)
    ]  # fmt: skip
    return [[node], pods]


def test_they_are_as_django_writes_them() -> None:
    cluster = Cluster.objects.create(name="one", source=Source.TOKEN)
    stored = []
    for way in (bulk.insert, None):
        snapshot = Snapshot.objects.create(cluster=cluster, taken_at=timezone.now(), content=b"", size=0)
        for some in rows(snapshot):
            (way or type(some[0]).objects.bulk_create)(some)
        found = [list(model.objects.filter(snapshot=snapshot).values()) for model in (NodeRow, PodRow)]
        assert list(map(len, found)) == [1, 3]
        stored.append([[{**row, "id": 0, "snapshot_id": 0} for row in some] for some in found])
    assert stored[0] == stored[1]


def test_constraints_hold() -> None:
    cluster = Cluster.objects.create(name="one", source=Source.TOKEN)
    snapshot = Snapshot.objects.create(cluster=cluster, taken_at=timezone.now(), content=b"", size=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert([*rows(snapshot)[0], *rows(snapshot)[0]])
    bulk.insert([])
    assert not NodeRow.objects.exists()
