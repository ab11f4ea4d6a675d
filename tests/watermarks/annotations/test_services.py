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

GIVEN: dict[str, Any] = {"time_zone": "Asia/Shanghai", "rate": 200, "renew": 300}


class Answers:
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

    def patched(self) -> list[str]:
        return [request.path for request in self.server.requests if request.method == "PATCH"]


@pytest.fixture
def answers(odd_server: OddServer) -> Answers:
    return Answers(odd_server)


@pytest.fixture
def cluster(answers: Answers) -> Cluster:
    """A cluster that is connected to the answering server, with figures of three nodes."""
    made = Cluster.objects.create(name="far", source=ClusterSource.TOKEN, server=answers.server.url)
    credential_save(cluster=made, secret=Secret(server=answers.server.url, token="x"))
    clusters.snapshot_store(cluster=made, objects=OBJECTS, problems=[])
    values = {Figure(NODE, "cpu", "15m"): [40.0, 50.0, 60.0]}
    rows = [(int(timezone.now().timestamp()), values)]
    names = ("node-a", "node-b", "node-c")
    storage.samples_store(cluster=made, kind=NODE, names=names, rows=rows, origin="prometheus")
    return made


def save(cluster: Cluster, user: User | None = None, **changes: Any) -> tuple[Annotating, Job | None]:
    return services.annotating_save(user=user, cluster=cluster, **{"own": False, "crane": False, **GIVEN, **changes})


def test_nothing_is_written_unless_somebody_switches_it_on(cluster: Cluster, answers: Answers) -> None:
    assert not annotating_get(cluster).writes
    assert services.annotations_update(cluster=cluster, seconds=10.0) is None
    with pytest.raises(Conflict, match="switch annotations on first"):
        services.write_start(user=None, cluster=cluster)
    assert answers.server.requests == []


def test_switching_on_asks_what_is_allowed_and_leaves_an_audit_entry(cluster: Cluster, admin: User) -> None:
    annotating, job = save(cluster, admin, own=True)
    assert job is None
    assert annotating.permissions[0] == {"resource": "nodes", "allowed": True}
    assert annotating.changed_by == admin
    entry = AuditEntry.objects.get(verb="annotations.set")
    assert (entry.actor, entry.object_name, entry.details["own"]) == (admin, "far", True)


def test_without_the_right_to_patch_nodes_nothing_is_switched_on(cluster: Cluster, answers: Answers) -> None:
    answers.allowed = False
    with pytest.raises(ApplicationError, match="may not patch nodes") as caught:
        save(cluster, crane=True)
    assert [error["path"] for error in caught.value.errors] == ["crane"]
    assert not Annotating.objects.exists()


def test_a_time_zone_is_kept_for_a_cluster_that_nothing_can_be_written_to() -> None:
    imported = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    with pytest.raises(Conflict, match="is not connected"):
        save(imported, own=True)
    save(imported, time_zone="UTC")
    assert annotating_get(imported).time_zone == "UTC"
    with pytest.raises(ApplicationError, match="There is no time zone Mars/Olympus"):
        save(imported, time_zone="Mars/Olympus")


def test_a_run_writes_what_is_there_and_says_how_it_went(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)
    found = services.annotations_update(cluster=cluster, seconds=10.0)
    assert found is not None
    assert found.outcome == {"patched": 2, "unchanged": 0, "gone": 1, "left": 0, "failures": 0, "failed": []}
    assert (found.error, found.running_until) == ("", None)
    assert sorted(answers.patched()) == ["/api/v1/nodes/node-a", "/api/v1/nodes/node-b"]


def test_a_run_that_fails_is_told_and_the_next_one_begins_anew(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)
    answers.status = 422
    found = services.annotations_update(cluster=cluster, seconds=10.0)
    assert found is not None
    assert (found.outcome["patched"], found.outcome["failures"]) == (0, 2)
    assert found.outcome["failed"][0]["reason"].endswith("with status 422.")
    answers.status = 200
    again = services.annotations_update(cluster=cluster, seconds=10.0)
    assert again is not None
    assert again.outcome["patched"] == 2


def test_a_cluster_that_cannot_be_reached_is_told(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)
    answers.server.server.server_close()
    found = services.annotations_update(cluster=cluster, seconds=0.1)
    assert found is not None
    said = [entry["reason"] for entry in found.outcome.get("failed", [])]
    assert found.error or said
    assert found.running_until is None


def test_a_cluster_without_figures_is_told(answers: Answers, cluster: Cluster) -> None:
    save(cluster, own=True)
    cluster.watermark_series.all().delete()
    found = services.annotations_update(cluster=cluster, seconds=10.0)
    assert found is not None
    assert found.error == "No figures of cluster far were collected yet."
    assert answers.patched() == []


def test_two_runs_never_write_at_once_and_a_run_that_died_holds_nobody_up(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)
    row = Annotating.objects.filter(cluster=cluster)
    row.update(running_until=timezone.now() + timedelta(seconds=30))
    assert services.annotations_update(cluster=cluster, seconds=10.0) is None
    assert answers.patched() == []
    row.update(running_until=timezone.now() - timedelta(seconds=1))
    assert services.annotations_update(cluster=cluster, seconds=10.0) is not None
    assert len(answers.patched()) == 2


def test_switching_off_with_removal_starts_a_job_for_the_forms_that_were_on(cluster: Cluster) -> None:
    save(cluster, own=True, crane=True)
    _, job = save(cluster, crane=True, remove=True)
    assert job is not None
    assert (job.kind, job.params) == (
        "watermarks.remove_annotations",
        {"cluster": str(cluster.pk), "own": True, "crane": False},
    )
    assert save(cluster, crane=True, remove=True)[1] is None
    assert save(cluster, remove=False)[1] is None


def test_the_task_writes_where_it_is_on_and_lives_with_a_cluster_that_is_gone(
    cluster: Cluster, answers: Answers
) -> None:
    save(cluster, own=True)
    tasks.annotate(str(cluster.pk), 10.0)
    assert len(answers.patched()) == 2
    pk = str(cluster.pk)
    cluster.delete()
    tasks.annotate(pk, 10.0)


@pytest.mark.django_db(transaction=True)
def test_each_collection_is_followed_by_a_writing(
    cluster: Cluster, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.conf, "task_always_eager", True)
    WatermarkSource.objects.create(cluster=cluster, kind=SourceKind.METRICS, changed_at=timezone.now())
    assert collect(str(cluster.pk))
    assert answers.patched() == []
    save(cluster, own=True)
    assert collect(str(cluster.pk), due_only=False)
    assert len(answers.patched()) == 2


def test_what_nobody_foresaw_is_told_and_what_a_person_stopped_is_stopped(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)

    def broken(done: int, total: int) -> None:
        raise RuntimeError

    def cancelled(done: int, total: int) -> None:
        raise Cancelled

    found = services.annotations_update(cluster=cluster, seconds=10.0, step=broken)
    assert found is not None
    assert found.error == "Writing failed for a reason it did not foresee; the log has it."
    with pytest.raises(Cancelled):
        services.annotations_update(cluster=cluster, seconds=10.0, step=cancelled)
    assert annotating_get(cluster).running_until is None
    again = services.annotations_update(cluster=cluster, seconds=10.0)
    assert again is not None
    assert again.error == ""


@pytest.mark.django_db(transaction=True)
def test_jobs_write_and_remove_and_say_what_they_did(cluster: Cluster, answers: Answers) -> None:
    save(cluster, own=True)
    job = services.write_start(user=None, cluster=cluster)
    tasks.write.run(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.result["patched"], job.result["gone"]) == (JobState.SUCCEEDED, 2, 1)
    _, removing = save(cluster, remove=True)
    assert removing is not None
    tasks.remove.run(str(removing.pk))
    removing.refresh_from_db()
    assert (removing.state, removing.result["patched"]) == (JobState.SUCCEEDED, 0)


def test_the_linter_looks_at_the_newest_snapshot_as_of_its_own_time(db: None) -> None:
    made = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    assert lint_get(made, "UTC") is None
    raw = node("node-a")
    taken = timezone.now()
    raw["metadata"]["annotations"] = {KEY: f'{{"updated":"{taken:%Y-%m-%dT%H:%M:%SZ}","cpu":{{"15m":41}}}}'}
    clusters.snapshot_store(cluster=made, objects=[raw, node("node-b")], problems=[])
    found = lint_get(made, "UTC")
    assert found is not None
    assert (found.nodes, found.own, found.crane, found.workloads) == (2, 1, 0, 0)
    assert [finding.code for finding in found.findings] == ["partial"]
