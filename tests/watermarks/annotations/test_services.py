"""Switching annotations on and off; what is done to a real server is in tests/live."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.celery import app
from kschedweb.clusters import services as clusters
from kschedweb.clusters.connecting.credentials import Secret, credential_save
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.state.watermarks.annotations import KEY
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.tasks import Cancelled
from kschedweb.watermarks import storage
from kschedweb.watermarks.annotations import services, tasks
from kschedweb.watermarks.annotations.selectors import annotating_get, lint_get
from kschedweb.watermarks.figures import NODE, Figure
from kschedweb.watermarks.models import Annotating, SourceKind, WatermarkSource
from kschedweb.watermarks.tasks import collect
from kschedweb.web.errors import ApplicationError, Conflict
from tests.clusters.conftest import OddServer, Request, odd_server
from tests.watermarks.conftest import OBJECTS, node

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

__all__ = ["odd_server"]

pytestmark = pytest.mark.django_db

SETTINGS: dict[str, Any] = {"time_zone": "Asia/Shanghai", "rate": 200, "renew": 300}


class AllowingServer:
    """An API server that allows everything unless told otherwise."""

    def __init__(self, server: OddServer) -> None:
        self.server, self.allowed, self.status, self.nodes = server, True, 200, ["node-a", "node-b"]
        server.json(self.answer)

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        if request.method == "POST":
            return 201, {"status": {"allowed": self.allowed}}
        if request.method == "PATCH":
            return self.status, {}
        if request.path.startswith("/api/v1/nodes"):
            items = [{"metadata": {"name": name}} for name in self.nodes]
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        return 200, {"metadata": {"resourceVersion": "1"}, "items": []}

    def patched_paths(self) -> list[str]:
        return [request.path for request in self.server.requests if request.method == "PATCH"]


@pytest.fixture
def answers(odd_server: OddServer) -> AllowingServer:
    return AllowingServer(odd_server)


@pytest.fixture
def cluster(answers: AllowingServer) -> Cluster:
    """A cluster that is connected to the answering server, with figures of three nodes."""
    cluster = Cluster.objects.create(name="far", source=ClusterSource.TOKEN, server=answers.server.url)
    credential_save(cluster=cluster, secret=Secret(server=answers.server.url, token="x"))
    clusters.snapshot_store(cluster=cluster, objects=OBJECTS, problems=[])
    values = {Figure(NODE, "cpu", "15m"): [40.0, 50.0, 60.0]}
    rows = [(int(timezone.now().timestamp()), values)]
    names = ("node-a", "node-b", "node-c")
    storage.samples_store(cluster=cluster, kind=NODE, names=names, rows=rows, origin="prometheus")
    return cluster


def save_settings(cluster: Cluster, user: User | None = None, **changes: Any) -> tuple[Annotating, Job | None]:
    return services.annotating_save(user=user, cluster=cluster, **{"own": False, "crane": False, **SETTINGS, **changes})


def test_nothing_is_written_unless_somebody_switches_it_on(cluster: Cluster, answers: AllowingServer) -> None:
    assert not annotating_get(cluster).writes
    assert services.annotations_update(cluster=cluster, seconds=10.0) is None
    with pytest.raises(Conflict, match="switch annotations on first"):
        services.write_start(user=None, cluster=cluster)
    assert answers.server.requests == []


def test_switching_on_asks_what_is_allowed_and_leaves_an_audit_entry(cluster: Cluster, admin: User) -> None:
    annotating, job = save_settings(cluster, admin, own=True)
    assert job is None
    assert annotating.permissions[0] == {"resource": "nodes", "allowed": True}
    assert annotating.changed_by == admin
    entry = AuditEntry.objects.get(verb="annotations.set")
    assert (entry.actor, entry.object_name, entry.details["own"]) == (admin, "far", True)


def test_without_the_right_to_patch_nodes_nothing_is_switched_on(cluster: Cluster, answers: AllowingServer) -> None:
    answers.allowed = False
    with pytest.raises(ApplicationError, match="may not patch nodes") as caught:
        save_settings(cluster, crane=True)
    assert [error["path"] for error in caught.value.errors] == ["crane"]
    assert not Annotating.objects.exists()


def test_a_time_zone_is_kept_for_a_cluster_that_nothing_can_be_written_to() -> None:
    imported_cluster = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    with pytest.raises(Conflict, match="is not connected"):
        save_settings(imported_cluster, own=True)
    save_settings(imported_cluster, time_zone="UTC")
    assert annotating_get(imported_cluster).time_zone == "UTC"
    with pytest.raises(ApplicationError, match="There is no time zone Mars/Olympus"):
        save_settings(imported_cluster, time_zone="Mars/Olympus")


def test_a_run_writes_what_is_there_and_says_how_it_went(cluster: Cluster, answers: AllowingServer) -> None:
    save_settings(cluster, own=True)
    annotating = services.annotations_update(cluster=cluster, seconds=10.0)
    assert annotating is not None
    assert annotating.outcome == {"patched": 2, "unchanged": 0, "gone": 1, "left": 0, "failures": 0, "failed": []}
    assert (annotating.error, annotating.running_until) == ("", None)
    assert sorted(answers.patched_paths()) == ["/api/v1/nodes/node-a", "/api/v1/nodes/node-b"]


def test_a_run_that_fails_is_told_and_the_next_one_begins_anew(cluster: Cluster, answers: AllowingServer) -> None:
    save_settings(cluster, own=True)
    answers.status = 422
    annotating = services.annotations_update(cluster=cluster, seconds=10.0)
    assert annotating is not None
    assert (annotating.outcome["patched"], annotating.outcome["failures"]) == (0, 2)
    assert annotating.outcome["failed"][0]["reason"].endswith("with status 422.")
    answers.status = 200
    second_run = services.annotations_update(cluster=cluster, seconds=10.0)
    assert second_run is not None
    assert second_run.outcome["patched"] == 2


def test_a_cluster_that_cannot_be_reached_is_told(cluster: Cluster, answers: AllowingServer) -> None:
    save_settings(cluster, own=True)
    answers.server.server.server_close()
    annotating = services.annotations_update(cluster=cluster, seconds=0.1)
    assert annotating is not None
    reasons = [entry["reason"] for entry in annotating.outcome.get("failed", [])]
    assert annotating.error or reasons
    assert annotating.running_until is None


def test_a_cluster_without_figures_is_told(answers: AllowingServer, cluster: Cluster) -> None:
    save_settings(cluster, own=True)
    cluster.watermark_series.all().delete()
    annotating = services.annotations_update(cluster=cluster, seconds=10.0)
    assert annotating is not None
    assert annotating.error == "No figures of cluster far were collected yet."
    assert answers.patched_paths() == []


def test_two_runs_never_write_at_once_and_a_run_that_died_holds_nobody_up(
    cluster: Cluster, answers: AllowingServer
) -> None:
    save_settings(cluster, own=True)
    row = Annotating.objects.filter(cluster=cluster)
    row.update(running_until=timezone.now() + timedelta(seconds=30))
    assert services.annotations_update(cluster=cluster, seconds=10.0) is None
    assert answers.patched_paths() == []
    row.update(running_until=timezone.now() - timedelta(seconds=1))
    assert services.annotations_update(cluster=cluster, seconds=10.0) is not None
    assert len(answers.patched_paths()) == 2


def test_switching_off_with_removal_starts_a_job_for_the_forms_that_were_on(cluster: Cluster) -> None:
    save_settings(cluster, own=True, crane=True)
    _, job = save_settings(cluster, crane=True, remove=True)
    assert job is not None
    assert (job.kind, job.params) == (
        "watermarks.remove_annotations",
        {"cluster": str(cluster.pk), "own": True, "crane": False},
    )
    assert save_settings(cluster, crane=True, remove=True)[1] is None
    assert save_settings(cluster, remove=False)[1] is None


def test_the_task_writes_where_it_is_on_and_lives_with_a_cluster_that_is_gone(
    cluster: Cluster, answers: AllowingServer
) -> None:
    save_settings(cluster, own=True)
    tasks.annotate(str(cluster.pk), 10.0)
    assert len(answers.patched_paths()) == 2
    pk = str(cluster.pk)
    cluster.delete()
    tasks.annotate(pk, 10.0)


@pytest.mark.django_db(transaction=True)
def test_each_collection_is_followed_by_a_writing(
    cluster: Cluster, answers: AllowingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.conf, "task_always_eager", True)
    WatermarkSource.objects.create(cluster=cluster, kind=SourceKind.METRICS, changed_at=timezone.now())
    assert collect(str(cluster.pk))
    assert answers.patched_paths() == []
    save_settings(cluster, own=True)
    assert collect(str(cluster.pk), due_only=False)
    assert len(answers.patched_paths()) == 2


def test_what_nobody_foresaw_is_told_and_what_a_person_stopped_is_stopped(
    cluster: Cluster, answers: AllowingServer
) -> None:
    save_settings(cluster, own=True)

    def raise_error(completed: int, total: int) -> None:
        raise RuntimeError

    def raise_cancelled(completed: int, total: int) -> None:
        raise Cancelled

    annotating = services.annotations_update(cluster=cluster, seconds=10.0, step=raise_error)
    assert annotating is not None
    assert annotating.error == "Writing failed for a reason it did not foresee; the log has it."
    with pytest.raises(Cancelled):
        services.annotations_update(cluster=cluster, seconds=10.0, step=raise_cancelled)
    assert annotating_get(cluster).running_until is None
    second_run = services.annotations_update(cluster=cluster, seconds=10.0)
    assert second_run is not None
    assert second_run.error == ""


@pytest.mark.django_db(transaction=True)
def test_jobs_write_and_remove_and_say_what_they_did(cluster: Cluster, answers: AllowingServer) -> None:
    save_settings(cluster, own=True)
    job = services.write_start(user=None, cluster=cluster)
    tasks.write.run(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.result["patched"], job.result["gone"]) == (JobState.SUCCEEDED, 2, 1)
    _, removing = save_settings(cluster, remove=True)
    assert removing is not None
    tasks.remove.run(str(removing.pk))
    removing.refresh_from_db()
    assert (removing.state, removing.result["patched"]) == (JobState.SUCCEEDED, 0)


def test_the_linter_looks_at_the_newest_snapshot_as_of_its_own_time(db: None) -> None:
    cluster = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    assert lint_get(cluster, "UTC") is None
    raw = node("node-a")
    taken_at = timezone.now()
    raw["metadata"]["annotations"] = {KEY: f'{{"updated":"{taken_at:%Y-%m-%dT%H:%M:%SZ}","cpu":{{"15m":41}}}}'}
    clusters.snapshot_store(cluster=cluster, objects=[raw, node("node-b")], problems=[])
    lint = lint_get(cluster, "UTC")
    assert lint is not None
    assert (lint.nodes, lint.own, lint.crane, lint.workloads) == (2, 1, 0, 0)
    assert [finding.code for finding in lint.findings] == ["partial"]
