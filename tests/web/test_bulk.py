"""Rows inserted in one statement are those that Django would have made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from kschedweb.clusters.models import Cluster, ClusterSource, NodeRow, PodRow, Snapshot
from kschedweb.web import bulk

pytestmark = pytest.mark.django_db


NODE = {
    **dict.fromkeys(("cpu_allocatable", "cpu_requested", "memory_allocatable", "memory_requested"), 2**62),
    **dict.fromkeys(("zone", "region", "instance_type"), ""), **dict.fromkeys(("ready", "unschedulable"), True),
    **dict.fromkeys(("pods_allocatable", "pods_bound", "cpu_share", "memory_share"), 3),
    "name": "ノード", "taints": ["a=b:NoSchedule"], "extended": {"gpu": [1, 2]}, "labels": None,
}  # fmt: skip
PODS = [
    {
        **dict.fromkeys(("uid", "node", "phase", "owner", "pod_group", "message"), ""), "namespace": "default",
        "name": f"pod-{number}", "pending": bool(number), "gated": False, "scheduler_name": "x", "priority": number,
        "cpu_request": 1, "memory_request": 2,
        "created_at": datetime(2026, 11, 22, 3, 12, number, 5, tzinfo=UTC) if number else None,
    }
    for number in range(3)
]  # fmt: skip


@pytest.fixture
def snapshot() -> Snapshot:
    cluster = Cluster.objects.create(name="one", source=ClusterSource.TOKEN)
    return Snapshot.objects.create(cluster=cluster, taken_at=timezone.now(), content=b"", size=0)


@pytest.mark.parametrize(("model", "rows"), [(NodeRow, [NODE]), (PodRow, PODS)])
def test_they_are_as_django_writes_them(snapshot: Snapshot, model: Any, rows: list[dict[str, Any]]) -> None:
    def stored_rows() -> list[dict[str, Any]]:
        return [{**row, "id": 0} for row in model.objects.filter(snapshot=snapshot).values()]

    bulk.insert_rows(model, rows, snapshot_id=snapshot.pk)
    ours = stored_rows()
    model.objects.all().delete()
    model.objects.bulk_create([model(snapshot=snapshot, **row) for row in rows])
    assert len(ours) == len(rows)
    assert ours == stored_rows()


def test_a_row_replaces_the_stored_one_that_has_its_unique_fields(snapshot: Snapshot) -> None:
    bulk.insert_rows(NodeRow, [NODE, {**NODE, "name": "other"}], snapshot_id=snapshot.pk)
    keys = set(NodeRow.objects.values_list("pk", flat=True))
    bulk.insert_rows(NodeRow, [{**NODE, "zone": "b"}], unique_fields=("snapshot", "name"), snapshot_id=snapshot.pk)
    assert set(NodeRow.objects.values_list("pk", flat=True)) == keys
    assert dict(NodeRow.objects.values_list("name", "zone")) == {NODE["name"]: "b", "other": ""}


def test_constraints_hold(snapshot: Snapshot) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert_rows(NodeRow, [NODE, NODE], snapshot_id=snapshot.pk)
    bulk.insert_rows(NodeRow, [])
    assert not NodeRow.objects.exists()


def test_a_column_without_a_value_is_an_error(snapshot: Snapshot) -> None:
    with pytest.raises(KeyError, match="zone"):
        bulk.insert_rows(
            NodeRow, [{key: value for key, value in NODE.items() if key != "zone"}], snapshot_id=snapshot.pk
        )
