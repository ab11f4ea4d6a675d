"""A recording of an hour, made by the code that records, without a cluster behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.playground.recordings.models import Recording

BEGUN_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
PODS = 6


def cluster(name: str = "recorded") -> Cluster:
    """A cluster that counts as connected; nobody answers there."""
    from kschedweb.clusters.models import Cluster, ClusterSource

    return Cluster.objects.get_or_create(
        name=name, defaults={"source": ClusterSource.TOKEN, "server": "https://192.0.2.1"}
    )[0]


def started(user: User | None, cluster_row: Cluster | None = None, seconds: int = 3600) -> Recording:
    """A recording that waits for a worker."""
    from kschedweb.playground.recordings import services

    return services.recording_start(user=user, cluster=cluster_row or cluster(), seconds=seconds)


def recording(user: User | None, cluster_row: Cluster | None = None, pods: int = PODS, hours: float = 1) -> Recording:
    """One that is done: two nodes and a pod, then ``pods``, one a minute, of which every other one went again."""
    from kschedweb.engine.studies.traces.ledger import Ledger
    from kschedweb.jobs import services as jobs
    from kschedweb.playground.recordings.models import Recording
    from kschedweb.playground.recordings.services import recording_begin
    from kschedweb.playground.recordings.storage import Writer

    row = started(user, cluster_row)
    job = jobs.job_claim(str(row.job_id))
    assert job is not None
    start = recording_begin(recording=row, at=BEGUN_AT).timestamp()
    ledger, writer = Ledger(start), Writer(row, job)
    lines = ledger.sync_list("Node", [node(f"n{number}") for number in range(2)], start)
    lines += ledger.sync_list("Pod", [pod(99, start - 3600, "n1")], start)
    for number in range(pods):
        arrived = start + 60 * number + 0.5
        lines += ledger.record_change(pod(number, arrived), arrived)
        lines += ledger.record_change(pod(number, arrived, f"n{number % 2}"), arrived + 1)
        if number % 2:
            lines += ledger.record_removal(pod(number, arrived), arrived + 31)
    for line in lines:
        writer.add_line(line)
    writer.store_lines(
        BEGUN_AT + timedelta(hours=hours), nodes=ledger.nodes, pods=ledger.pods, notes=["storageclasses: missing."]
    )
    jobs.job_succeed(job, {"recording": str(row.pk)})
    return Recording.objects.select_related("cluster", "job").get(pk=row.pk)


def everything(rows: int, user: User) -> str:
    """About ``rows`` recordings, of which one is being made; the id of one that is done."""
    recordings = [recording(user) for _ in range(rows)]
    started(user)
    return str(recordings[0].pk)


def node(name: str) -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(number: int, created_at: float, on: str = "") -> dict[str, Any]:
    name = f"web-{number}"
    container = {"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    created = datetime.fromtimestamp(int(created_at), UTC).isoformat()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "uid": name, "creationTimestamp": created},
        "spec": {"containers": [container], "priority": 0, **({"nodeName": on} if on else {})},
    }
