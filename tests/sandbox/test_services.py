"""Changes that people make in the sandbox, and the state in which a site begins."""

from __future__ import annotations

import json

import pytest
from pytest_django import Settings

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.clusters.connecting.errors import ClusterError
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.policies.models import Policy
from kschedweb.sandbox import selectors, services, tasks
from kschedweb.sandbox.running.process import Sandbox
from kschedweb.watermarks.models import WatermarkSource
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from tests.support.sandbox import pod, use_sandbox

pytestmark = pytest.mark.django_db

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: pair}
spec:
  replicas: 2
  selector: {matchLabels: {app: pair}}
  template:
    metadata: {labels: {app: pair}}
    spec: {schedulerName: nobody, containers: [{name: main, image: "example/app:1"}]}
"""


def list_audit_entries() -> list[tuple[str, dict[str, object]]]:
    return [(entry.verb, entry.details) for entry in AuditEntry.objects.filter(verb__startswith="sandbox.")]


def test_its_time_is_stopped_and_set_and_both_are_in_the_audit_log(cluster: Cluster, editor: User) -> None:
    services.pace_set(user=editor, cluster=cluster, paused=True, speed=30)
    assert selectors.get_pace() == selectors.SandboxPace(paused=True, speed=30)
    services.pace_set(user=editor, cluster=cluster, speed=2)
    assert selectors.get_pace() == selectors.SandboxPace(paused=True, speed=2)
    entries = list_audit_entries()
    assert len(entries) == 2
    assert ("sandbox.pace-set", {"paused": True, "speed": 30}) in entries
    assert ("sandbox.pace-set", {"speed": 2}) in entries
    for speed in (0, 61):
        with pytest.raises(Unprocessable) as refused:
            services.pace_set(user=editor, cluster=cluster, speed=speed)
        assert refused.value.errors[0]["path"] == "speed"


def test_what_is_created_says_by_whom_and_is_found_with_its_pods(cluster: Cluster, editor: User) -> None:
    (created,) = services.objects_create(user=editor, cluster=cluster, text=DEPLOYMENT)
    assert created == "Deployment default/pair"
    (row,) = [entry for entry in selectors.list_created(cluster) if entry.name == "pair"]
    assert (row.kind, row.by) == ("Deployment", editor.username)
    services.object_delete(
        user=editor, cluster=cluster, kind="Deployment", api_version="apps/v1", namespace="default", name="pair"
    )
    assert [verb for verb, _ in list_audit_entries()].count("sandbox.objects-created") == 1
    assert ("sandbox.object-deleted", {"object": "Deployment default/pair"}) in list_audit_entries()


def test_all_objects_are_created_or_none(cluster: Cluster, editor: User) -> None:
    good, bad = pod("good"), pod("bad", cpu=1)
    bad["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "-1"
    bad["spec"]["containers"].append({"image": "example/app:1"})
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [good, bad]})
    with pytest.raises(Unprocessable) as refused:
        services.objects_create(user=editor, cluster=cluster, text=text)
    assert refused.value.detail.startswith("Object 2: ")
    assert refused.value.errors[0]["path"] == "text"
    assert "good" not in [created.name for created in selectors.list_created(cluster)]
    assert list_audit_entries() == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The text is empty."),
        ("kind: List\nitems: []", "There is no object in this text"),
        ("a: [", "line 2"),
        ("kind: Unicorn\napiVersion: v1\nmetadata: {name: x}", "does not serve Unicorn of apiVersion v1"),
        ("kind: Pod\napiVersion: v1", "Object 1 (Pod): metadata is missing"),
        ("- 1", "does not serve"),
        ("---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n" * 51, "At most 50 objects"),
    ],
)
def test_a_text_that_cannot_be_created_says_why_at_its_field(
    cluster: Cluster, editor: User, text: str, words: str
) -> None:
    with pytest.raises(Unprocessable) as refused:
        services.objects_create(user=editor, cluster=cluster, text=text)
    assert words in refused.value.errors[0]["message"]
    assert refused.value.errors[0]["path"] == "text"


def test_a_name_that_is_taken_is_said_in_the_api_server_s_words(cluster: Cluster, editor: User) -> None:
    with pytest.raises(ApplicationError, match='pods "seed" already exists'):
        services.objects_create(user=editor, cluster=cluster, text=json.dumps(pod("seed")))


def test_without_a_process_it_says_so(cluster: Cluster, editor: User, settings: Settings) -> None:
    use_sandbox(settings, "http://127.0.0.1:9")
    with pytest.raises(ClusterError, match="refuses connections"):
        services.pace_set(user=editor, cluster=cluster, paused=True)
    use_sandbox(settings, "")
    with pytest.raises(ApplicationError, match="KSCHEDWEB_SANDBOX=true"):
        services.pace_set(user=editor, cluster=cluster, paused=True)


def test_a_site_begins_with_schedulers_at_work_and_a_second_start_makes_nothing_twice(
    db: None, sandbox: Sandbox
) -> None:
    cluster = services.sandbox_load(site="http://127.0.0.1:8000")
    assert cluster.source == ClusterSource.SANDBOX
    snapshot = cluster.snapshots.get()
    assert snapshot.counts["Node"] >= 40
    modes = dict(LiveScheduler.objects.filter(cluster=cluster).values_list("scheduler_name", "mode"))
    assert modes == {"guarded": Mode.SCHEDULING, "default-scheduler": Mode.SHADOW, "extended": Mode.EXTENDER}
    assert WatermarkSource.objects.filter(cluster=cluster).count() == 1
    first = extender_of()
    assert services.sandbox_load(site="http://127.0.0.1:8001") == cluster
    assert LiveScheduler.objects.filter(cluster=cluster).count() == 3
    assert Policy.objects.filter(name__startswith="sandbox-").count() == 2
    # The site may answer elsewhere after a start, and its secret is a new one.
    assert "@127.0.0.1:8000/" in first
    assert "@127.0.0.1:8001/" in extender_of()


def extender_of() -> str:
    with selectors.open_client() as client:
        return str(client.get(services.EXTENDED)["data"]["config.yaml"])


def test_another_cluster_of_its_name_is_left_alone(db: None, sandbox: Sandbox) -> None:
    Cluster.objects.create(name="sandbox", source=ClusterSource.IMPORT)
    with pytest.raises(Conflict, match="which is not the sandbox"):
        services.sandbox_load()


@pytest.mark.django_db(transaction=True)
def test_the_task_reads_it_and_does_nothing_where_none_runs(cluster: Cluster, settings: Settings) -> None:
    assert tasks.read_sandboxes() == 1
    assert cluster.snapshots.count() == 1
    use_sandbox(settings, "")
    assert tasks.read_sandboxes() == 0
    use_sandbox(settings, "http://127.0.0.1:9")
    assert tasks.read_sandboxes() == 1
    assert cluster.snapshots.count() == 1
