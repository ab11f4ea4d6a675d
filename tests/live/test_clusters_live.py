"""Clusters against the real API server: connecting, reading, refreshing by watching, and everything that goes wrong."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from django.conf import settings
from pytest_django import Settings

from kschedweb.clusters import reader, selectors, services, tasks
from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.connecting.credentials import Secret, credential_open
from kschedweb.clusters.connecting.errors import ResourceExpired
from kschedweb.clusters.events.reading import FORBIDDEN
from kschedweb.clusters.kinds import BY_NAME, EVENT, KINDS
from kschedweb.clusters.models import Cluster, Credential, EventRow, NodeRow, PodRow, Snapshot
from kschedweb.jobs.models import Job
from kschedweb.web.errors import ApplicationError
from tests.support.certificates import certificate
from tests.support.controlplane import READ_EVERYTHING
from tests.support.processes import free_port, running, wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]

PODS = BY_NAME["Pod"]


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "zone-a"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cpu: str = "100m") -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    container = {"name": "main", "image": "web:1", "resources": resources, "env": [{"name": "A", "value": "hunter2"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with three nodes, one bound and two pending pods, cleared afterwards."""
    control_plane.create_nodes([node(f"node-{index}") for index in range(3)])
    control_plane.create_all("/api/v1/namespaces/default/pods", [pod(f"pod-{index}") for index in range(3)])
    control_plane.bind("default", "pod-0", "node-1")
    yield control_plane
    control_plane.wipe()


def by_token(plane: ControlPlane, user: str = "reader", **more: str) -> tuple[Cluster, Job]:
    fields = {"name": "live", "source": "token", "server": plane.url, "token": plane.tokens[user], "ca": plane.ca}
    return services.cluster_connect(user=None, **(fields | more))


def secret(plane: ControlPlane, user: str = "reader") -> Secret:
    return Secret(server=plane.url, token=plane.tokens[user], ca=plane.ca)


def silent(text: str, count: int, total: int) -> None:
    pass


def test_connecting_by_token_reads_the_cluster(plane: ControlPlane) -> None:
    cluster, job = by_token(plane)
    assert cluster.server_version == f"v{plane.release.version}"
    assert selectors.permissions_missing(cluster) == []
    served = [kind for kind in (*KINDS, EVENT) if plane.request("GET", kind.path).status == 200]
    assert len(cluster.permissions) == 2 * len(served)  # to list and to watch
    assert job.params == {"cluster": str(cluster.pk)}
    assert plane.tokens["reader"] not in str(job.params)

    heard: list[tuple[str, int, int]] = []
    snapshot = services.snapshot_read(cluster=cluster, step=lambda *progress: heard.append(progress))
    assert snapshot.counts["Node"] == 3
    assert snapshot.counts["Pod"] == 3
    assert snapshot.counts["pending"] == 2
    assert snapshot.counts["Namespace"] >= 4
    assert snapshot.counts["PriorityClass"] == 2
    assert snapshot.problems == []
    assert heard[-3][1] == heard[-3][2] == len(KINDS)
    assert heard[-1][0] == "Reading Events"
    bound = NodeRow.objects.get(snapshot=snapshot, name="node-1")
    assert (bound.cpu_allocatable, bound.cpu_requested, bound.pods_bound) == (4000, 100, 1)
    assert bound.zone == "zone-a"
    assert PodRow.objects.get(snapshot=snapshot, name="pod-0").node == "node-1"
    stored = selectors.snapshot_objects(snapshot)
    assert all(item["kind"] and item["apiVersion"] for item in stored)
    assert "managedFields" not in str(stored)
    assert "hunter2" not in str(stored)


def test_connecting_by_kubeconfig_with_a_name_in_the_certificate(plane: ControlPlane) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": plane.url,
                    "certificate-authority-data": base64.b64encode(plane.ca.encode()).decode(),
                    "tls-server-name": "kubernetes.default.svc",
                },
            }
        ],
        "users": [{"name": "u", "user": {"token": plane.tokens["reader"]}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    cluster, _ = services.cluster_connect(
        user=None, name="live", source="kubeconfig", kubeconfig=yaml.safe_dump(document)
    )
    assert credential_open(cluster).tls_server_name == "kubernetes.default.svc"
    assert services.snapshot_read(cluster=cluster, step=silent).counts["Pod"] == 3


def test_the_service_account_of_the_own_pod_is_read_anew_each_time(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings
) -> None:
    settings.CLUSTER_ALLOWLIST = []
    monkeypatch.setattr(sources, "SERVICE_ACCOUNT", tmp_path)
    with pytest.raises(ApplicationError, match="does not run in a cluster"):
        services.cluster_connect(user=None, name="own", source="in-cluster")
    (tmp_path / "token").write_text(plane.tokens["reader"] + "\n")
    (tmp_path / "ca.crt").write_text(plane.ca)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(plane.port))
    cluster, _ = services.cluster_connect(user=None, name="own", source="in-cluster")
    assert not Credential.objects.exists()
    assert services.snapshot_read(cluster=cluster, step=silent).counts["Pod"] == 3
    (tmp_path / "token").write_text("expired")
    with pytest.raises(ClusterError, match="does not accept"):
        services.snapshot_read(cluster=cluster, step=silent)
    (tmp_path / "token").write_text(plane.tokens["admin"])
    assert services.snapshot_read(cluster=cluster, step=silent).counts["Pod"] == 3


@pytest.mark.django_db(transaction=True)
def test_the_job_that_reads_a_cluster_reports_and_ends(plane: ControlPlane) -> None:
    cluster, job = by_token(plane)
    tasks.refresh.run(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.error) == ("succeeded", "")
    assert job.result["counts"]["Node"] == 3
    assert job.result["cluster"] == "live"
    second_job = services.cluster_refresh(user=None, cluster=cluster)
    assert second_job.pk != job.pk
    Credential.objects.all().delete()
    tasks.refresh.run(str(second_job.pk))
    second_job.refresh_from_db()
    assert second_job.state == "failed"
    assert second_job.error.startswith(f"Cluster {cluster.name} has no")


def test_a_token_with_few_rights_shows_what_is_missing_and_what_it_costs(plane: ControlPlane) -> None:
    plane.grant("limited", [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}])
    cluster, _ = by_token(plane, "limited")
    rows = {row["resource"]: row for row in selectors.permissions_by_resource(cluster)}
    assert rows["pods"] == {
        "resource": "pods",
        "list": True,
        "watch": False,
        "costs": "a refresh reads the whole list again",
    }
    assert rows["storageclasses"]["list"] is False
    assert "claims" in str(rows["storageclasses"]["costs"])

    snapshot = services.snapshot_read(cluster=cluster, step=silent)
    assert snapshot.counts == {"Node": 3, "Pod": 3, "pending": 2}
    problems = {problem["object"]: problem["reason"] for problem in snapshot.problems}
    assert "storageclasses" in problems
    assert "Without it" in problems["services"]


def test_a_refresh_brings_the_events_of_both_apis_where_they_may_be_listed(plane: ControlPlane) -> None:
    cluster, _ = by_token(plane)
    about = {"kind": "Pod", "namespace": "default", "name": "pod-1"}
    core = {"metadata": {"name": "pod-1.1"}, "involvedObject": about, "reason": "Nominated", "message": "Soon"}
    times = {"firstTimestamp": "2026-01-15T11:00:00Z", "lastTimestamp": "2026-01-15T11:05:00Z", "count": 2}
    plane.call("POST", "/api/v1/namespaces/default/events", core | times | {"source": {"component": "karpenter"}})
    newer = {"metadata": {"name": "pod-1.2"}, "regarding": about, "reason": "FailedScheduling", "note": "No node"}
    who = {"reportingController": "default-scheduler", "reportingInstance": "a", "action": "Scheduling"}
    newer |= who | {"type": "Warning", "eventTime": "2026-01-15T11:06:00.000000Z"}
    plane.call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", newer)
    services.snapshot_read(cluster=cluster, step=silent)
    rows = EventRow.objects.filter(cluster=cluster, name="pod-1")
    assert [(row.source, row.reason, row.message, row.count) for row in rows] == [
        ("default-scheduler", "FailedScheduling", "No node", 1),
        ("karpenter", "Nominated", "Soon", 2),
    ]
    plane.request("DELETE", "/api/v1/namespaces/default/events")
    services.snapshot_read(cluster=cluster, step=silent)
    assert rows.count() == 2

    plane.grant("limited", [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}])
    limited, _ = by_token(plane, "limited", name="limited")
    services.snapshot_read(cluster=limited, step=silent)
    limited.refresh_from_db()
    assert (limited.refresh_error, limited.events_problem) == ("", FORBIDDEN)


def test_a_token_that_may_not_list_pods_fails_with_the_reason(plane: ControlPlane) -> None:
    plane.grant("limited", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
    cluster, _ = by_token(plane, "limited")
    with pytest.raises(ApplicationError, match="may not list pods"):
        services.snapshot_read(cluster=cluster, step=silent)
    cluster.refresh_from_db()
    assert "may not list pods" in cluster.refresh_error
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token": "wrong"}, "does not accept the credentials"),
        ({"server": "https://127.0.0.1:1"}, "refuses connections"),
        ({"server": "https://10.1.2.3:6443"}, "not among the addresses"),
        ({"ca": "not pem"}, "not a PEM certificate"),
        ({"name": "Not a name"}, "A name has"),
        ({"name": "connect"}, "address of a page"),
        ({"token": "with space"}, "not a token"),
    ],
)
def test_a_connection_that_fails_leaves_nothing_behind(
    plane: ControlPlane, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ApplicationError, match=message) as caught:
        by_token(plane, **changes)
    assert plane.tokens["reader"] not in caught.value.detail
    assert not Cluster.objects.exists()
    assert not Credential.objects.exists()
    assert not Job.objects.exists()


def test_a_certificate_of_another_authority_is_refused(plane: ControlPlane, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="not signed by the given certificate authority"):
        by_token(plane, ca=certificate(tmp_path).read_text())
    with pytest.raises(ClusterError, match="not signed by the given certificate authority"):
        by_token(plane, ca="")


def test_a_certificate_for_another_name_is_refused(plane: ControlPlane) -> None:
    other = Secret(server=plane.url, token="x", ca=plane.ca, tls_server_name="elsewhere.example.com")
    with Client.open(other) as client, pytest.raises(ClusterError, match="does not name this address"):
        client.fetch_version()


def test_a_client_certificate_reaches_the_server(plane: ControlPlane, tmp_path: Path) -> None:
    certificate_path = certificate(tmp_path)
    pair = {
        "client_certificate": certificate_path.read_text(),
        "client_key": certificate_path.with_suffix(".key").read_text(),
    }
    with Client.open(Secret(server=plane.url, token=plane.tokens["reader"], ca=plane.ca, **pair)) as client:
        assert client.fetch_version().startswith("v1.")
    with pytest.raises(ApplicationError, match="matching pair"):
        Client.open(
            Secret(server=plane.url, ca=plane.ca, client_certificate=pair["client_certificate"], client_key="x")
        )
    assert ssl.HAS_TLSv1_3


def test_a_refresh_without_changes_keeps_the_snapshot(plane: ControlPlane) -> None:
    cluster, _ = by_token(plane)
    first = services.snapshot_read(cluster=cluster, step=silent)
    reread = services.snapshot_read(cluster=cluster, step=silent)
    assert reread.pk == first.pk
    assert Snapshot.objects.count() == 1
    plane.create_all("/api/v1/namespaces/default/pods", [pod("late")])
    third = services.snapshot_read(cluster=cluster, step=silent)
    assert third.pk != first.pk
    assert third.counts["Pod"] == 4
    assert PodRow.objects.filter(snapshot=first).count() == 3


def test_old_snapshots_go(plane: ControlPlane) -> None:
    cluster, _ = by_token(plane)
    for index in range(settings.KEEP_SNAPSHOTS + 2):
        plane.create_all("/api/v1/namespaces/default/pods", [pod(f"more-{index}")])
        newest = services.snapshot_read(cluster=cluster, step=silent)
    assert Snapshot.objects.count() == settings.KEEP_SNAPSHOTS
    assert selectors.snapshot_current(cluster) == newest


def listed(client: Client) -> dict[str, str]:
    return {key: item["metadata"]["resourceVersion"] for key, item in reader.kind_list(client, PODS).objects.items()}


def versions(collection: reader.Collection) -> dict[str, str]:
    return {key: item["metadata"]["resourceVersion"] for key, item in collection.objects.items()}


def test_watching_catches_up_with_creations_changes_and_deletions(plane: ControlPlane) -> None:
    path = "/api/v1/namespaces/default/pods"
    with Client.open(secret(plane)) as client:
        before = reader.kind_list(client, PODS)
        plane.create_all(path, [pod(f"new-{index}") for index in range(20)])
        plane.call("PATCH", f"{path}/pod-1", {"metadata": {"labels": {"changed": "yes"}}})
        plane.bind("default", "pod-2", "node-0")
        plane.call("DELETE", f"{path}/pod-0", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        plane.call("DELETE", f"{path}/new-3")
        after = reader.kind_watch(client, PODS, before)
        assert after.watched
        assert versions(after) == listed(client)
        assert "default/pod-0" not in after.objects
        assert after.objects["default/pod-1"]["metadata"]["labels"] == {"changed": "yes"}
        assert after.objects["default/pod-2"]["spec"]["nodeName"] == "node-0"
        assert "env" not in after.objects["default/new-1"]["spec"]["containers"][0]
        assert "default/pod-0" in before.objects, "the earlier reading stays as it was"


def test_watching_catches_up_where_only_other_kinds_moved(plane: ControlPlane) -> None:
    with Client.open(secret(plane)) as client:
        before = reader.kind_list(client, PODS)
        plane.create_nodes([node("moved")])
        assert versions(reader.kind_watch(client, PODS, before)) == versions(before)


@pytest.mark.nightly
def test_a_forgotten_place_is_listed_anew(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader, "PAGE", 1)
    with Client.open(secret(plane)) as client:
        before = reader.kind_list(client, PODS)
    plane.create_all("/api/v1/namespaces/default/pods", [pod("later")])
    plane.call("DELETE", "/api/v1/namespaces/default/pods/pod-1?gracePeriodSeconds=0")
    # A second API server beside the same etcd begins its memory now, so it has forgotten where we were.
    port = free_port()
    command = [str(port) if part == str(plane.port) else part for part in plane.command]
    with running(command, tmp_path / "apiserver.log"):
        second = Secret(server=f"https://127.0.0.1:{port}", token=plane.tokens["reader"], ca=plane.ca)
        with Client.open(second) as client:
            wait_until(lambda: ready(client), "the second API server", step=0.5)
            with pytest.raises(ResourceExpired):
                reader.kind_watch(client, PODS, before)
            reading = reader.kind_read(client, PODS, before)
    assert not reading.watched
    assert set(reading.objects) == {"default/pod-0", "default/pod-2", "default/later"}


def ready(client: Client) -> bool:
    try:
        client.get("/readyz")
    except ClusterError as error:
        return "not JSON" in error.detail  # Its answer is the word "ok".
    return False


def test_pages_are_followed_and_a_refresh_sends_only_what_changed(plane: ControlPlane) -> None:
    path = "/api/v1/namespaces/default/pods"
    plane.create_all(path, [pod(f"many-{index:04}") for index in range(1_100)])
    with Client.open(secret(plane)) as client:
        pages = list(client.pages(PODS.path))
        assert [len(page.items) for page in pages] == [500, 500, 103]
        assert len({page.resource_version for page in pages}) == 1

        first = reader.cluster_read(client, silent)
        assert len(first["Pod"].objects) == 1_103
        plane.call(
            "DELETE", f"{path}/many-0007", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        )
        received: list[dict[str, Any]] = []
        watch = client.watch

        def counted(*args: Any, **more: Any) -> Iterator[dict[str, Any]]:
            for event in watch(*args, **more):
                received.append(event)
                yield event

        client.watch = counted  # type: ignore[method-assign]
        second = reader.cluster_read(client, silent, first)
    assert second["Pod"].watched
    assert len(second["Pod"].objects) == 1_102
    assert 1 <= len(received) <= 10
    assert reader.has_changed(first, second)


@pytest.mark.nightly
def test_a_server_that_stops_midway_leaves_the_last_snapshot(plane: ControlPlane, assets: Path, tmp_path: Path) -> None:
    from tests.support.controlplane import ControlPlane

    other = ControlPlane(assets, tmp_path)
    with other.started():
        other.grant("reader", READ_EVERYTHING)
        other.create_nodes([node("only")])
        cluster, _ = by_token(other, name="dying")
        good = services.snapshot_read(cluster=cluster, step=silent)
    with pytest.raises(ApplicationError, match=r"cannot be reached|refuses connections|broke off|in time"):
        services.snapshot_read(cluster=cluster, step=silent)
    cluster.refresh_from_db()
    assert cluster.refresh_error
    assert selectors.snapshot_current(cluster) == good
    assert good.counts["Node"] == 1


def test_a_reading_that_is_cancelled_ends_at_once(plane: ControlPlane) -> None:
    class Cancelled(Exception):
        pass

    def cancel(text: str, count: int, total: int) -> None:
        raise Cancelled

    with Client.open(secret(plane)) as client:
        with pytest.raises(Cancelled):
            reader.cluster_read(client, cancel)
        assert client.stop.is_set()
