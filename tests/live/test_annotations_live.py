"""Figures written to a real API server as annotations, read back with the cluster, and decided by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from pytest_django import Settings

from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.annotations import KEY, AnnotatedUse, node_uses, workload_uses
from kschedweb.engine.state.watermarks.crane import METRICS, read_annotation
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.watermarks import storage
from kschedweb.watermarks.annotations import services
from kschedweb.watermarks.annotations.selectors import annotating_get, lint_get
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from kschedweb.watermarks.selectors import current_watermarks
from kschedweb.web.errors import ApplicationError
from tests.support.controlplane import READ_EVERYTHING
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]

APPS, KRUISE = "/apis/apps/v1/namespaces/default", "/apis/apps.kruise.io/v1alpha1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WORKLOADS = ["deployments", "statefulsets", "daemonsets"]
PATCH = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]},
    {"apiGroups": ["apps"], "resources": WORKLOADS, "verbs": ["patch"]},
    {"apiGroups": ["apps.kruise.io"], "resources": ["clonesets"], "verbs": ["patch"]},
]
WEB, DB, CLONES = "default/Deployment/web", "default/StatefulSet/db", "default/CloneSet/clones"
SETTINGS: Json = {"time_zone": "Asia/Shanghai", "rate": 200, "renew": 300}


def node(name: str, cpu: str = "4") -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": amounts | {"cpu": "8"}, "allocatable": amounts},
    }


def workload(kind: str, name: str, **metadata: Any) -> Json:
    labels = {"app": name}
    container = {"name": "main", "image": "web:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec: Json = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def clone_sets() -> Json:
    """The definition of CloneSet, as far as it matters here."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "clonesets", "singular": "cloneset", "kind": "CloneSet", "listKind": "CloneSetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clonesets.apps.kruise.io"},
        "spec": {"group": "apps.kruise.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def owned_pod(name: str, kind: str, owner: Json) -> Json:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "main", "image": "web:1", "resources": resources}
    metadata = {"name": name, "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def plane(control_plane: ControlPlane, settings: Settings) -> Iterator[ControlPlane]:
    """Three nodes, three workloads of different kinds, and a pending pod of each."""
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    control_plane.grant("limited", READ_EVERYTHING + PATCH)
    control_plane.create_nodes([node("node-a"), node("node-b"), node("node-c", cpu="8")])
    control_plane.call("POST", CRDS, clone_sets())
    collection = f"{KRUISE}/namespaces/default/clonesets"
    wait_until(lambda: control_plane.request("GET", collection).status == 200, "clone sets are served", step=0.2)
    web = control_plane.call("POST", f"{APPS}/deployments", workload("Deployment", "web"))
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}
    replicas = workload("ReplicaSet", "web-7f", ownerReferences=[{**owner, "controller": True}])
    replicas = control_plane.call("POST", f"{APPS}/replicasets", replicas)
    db = control_plane.call("POST", f"{APPS}/statefulsets", workload("StatefulSet", "db"))
    clones = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "clones"}}
    clones = control_plane.call("POST", collection, clones)
    for name, kind, owner_name in (
        ("web-1", "ReplicaSet", replicas),
        ("db-0", "StatefulSet", db),
        ("c-1", "CloneSet", clones),
    ):
        control_plane.call("POST", "/api/v1/namespaces/default/pods", owned_pod(name, kind, owner_name))
    yield control_plane
    control_plane.wipe()
    for path in (f"{APPS}/deployments", f"{APPS}/replicasets", f"{APPS}/statefulsets", collection):
        control_plane.call("DELETE", path)
    control_plane.call("DELETE", f"{CRDS}/clonesets.apps.kruise.io")
    control_plane.request("DELETE", "/api/v1/namespaces/default/events")
    wait_until(lambda: control_plane.request("GET", collection).status == 404, "clone sets are gone", step=0.2)


def connected(plane: ControlPlane, user: str = "limited") -> Cluster:
    cluster, _ = clusters.cluster_connect(
        user=None, name="live", source="token", server=plane.url, token=plane.tokens[user], ca=plane.ca
    )
    read_again(cluster)
    return cluster


def read_again(cluster: Cluster) -> Snapshot:
    stored = clusters.snapshot_read(cluster=cluster, step=lambda *progress: None)
    assert stored.problems == []
    return Snapshot.from_objects(snapshot_objects(stored))


def store(cluster: Cluster, at: float, **changed: float) -> Watermarks:
    """Figures of everything, as a collection at ``at`` would have stored them; ``changed``: CPU of nodes."""
    cpu = {"node-a": 71.0, "node-b": 12.3, "node-c": 40.0} | {name.replace("_", "-"): v for name, v in changed.items()}
    nodes, workloads = {}, {}
    for place, statistic in enumerate(("15m", "1h", "1d", "5m", "1h_max", "1d_max")):
        nodes[Figure(NODE, "cpu", statistic)] = [value + place for value in cpu.values()]
        nodes[Figure(NODE, "memory", statistic)] = [30.0 + place, 50.5, 10.0]
    for statistic in ("15m", "1h", "1d"):
        workloads[Figure(WORKLOAD, "cpu", statistic)] = [0.25, 1.5, 0.125]
        workloads[Figure(WORKLOAD, "memory", statistic)] = [256.0 * 2**20, 2.0**30, 64.0 * 2**20]
    rows: list[Any] = [(NODE, tuple(cpu), nodes), (WORKLOAD, (WEB, DB, CLONES), workloads)]
    for kind, names, values in rows:
        storage.samples_store(cluster=cluster, kind=kind, names=names, rows=[(int(at), values)], origin="prometheus")
    watermarks = current_watermarks(cluster)
    assert watermarks is not None
    return watermarks


def read_annotations(plane: ControlPlane) -> dict[str, dict[str, str]]:
    """The annotations on the API server by object, without those that others write."""
    texts_by_object = {}
    for path in ("/api/v1/nodes", f"{APPS}/deployments", f"{APPS}/statefulsets", f"{KRUISE}/clonesets"):
        for item in plane.call("GET", path)["items"]:
            listed = item["metadata"].get("annotations", {})
            ours = {
                key: text for key, text in listed.items() if key == KEY or key in METRICS or key == "node_hot_value"
            }
            if ours:
                texts_by_object[f"{path.rpartition('/')[2]}/{item['metadata']['name']}"] = ours
    return texts_by_object


def versions(plane: ControlPlane) -> dict[str, str]:
    paths = ("/api/v1/nodes", f"{APPS}/deployments", f"{APPS}/statefulsets", f"{KRUISE}/clonesets")
    return {
        f"{path.rpartition('/')[2]}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for path in paths
        for item in plane.call("GET", path)["items"]
    }


def decisions(snapshot: Snapshot, now: float, plugin: str = "HheWaterLevelBalance") -> dict[str, Json]:
    """Return the decision of ``plugin`` on each pending pod."""
    snapshot.now = now
    plugins = {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    loaded = load(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
    )
    assert loaded.configuration is not None, loaded.errors
    scheduler = Scheduler(snapshot, loaded.configuration)
    return {pod.name: scheduler.explain(pod).to_dict() for pod in snapshot.pending}


def switch(cluster: Cluster, **forms: Any) -> Any:
    fields = {"own": False, "crane": False, **SETTINGS, **forms}
    return services.annotating_save(user=None, cluster=cluster, **fields)


def update(cluster: Cluster, seconds: float = 60.0) -> Json:
    state = services.annotations_update(cluster=cluster, seconds=seconds)
    assert state is not None
    assert state.error == ""
    return state.outcome


def test_what_is_written_is_read_back_and_decides_as_the_figures_themselves(plane: ControlPlane) -> None:
    cluster, now = connected(plane), time.time()
    before = read_again(cluster)
    assert before.watermarks is None
    figures = store(cluster, now)
    switch(cluster, own=True)
    outcome = update(cluster)
    assert (outcome["patched"], outcome["unchanged"], outcome["gone"], outcome["failures"]) == (6, 0, 0, 0)
    assert set(read_annotations(plane)) == {
        "nodes/node-a", "nodes/node-b", "nodes/node-c", "deployments/web", "statefulsets/db", "clonesets/clones"
    }  # fmt: skip

    after = read_again(cluster)
    assert after.doubts == []
    watermarks = after.watermarks
    assert watermarks is not None
    assert watermarks.source == "annotations"
    for (resource, key), column in figures.figures.items():
        np.testing.assert_allclose(
            watermarks.column(resource, key), figures.align_to(after.names).column(resource, key), atol=0.05
        )
        assert len(column) == 3
    assert watermarks.workloads == {
        name: {"cpu": dict.fromkeys(("15m", "1d", "1h"), cpu), "memory": dict.fromkeys(("15m", "1d", "1h"), memory)}
        for name, cpu, memory in ((WEB, 0.25, 2.0**28), (DB, 1.5, 2.0**30), (CLONES, 0.125, 2.0**26))
    }
    before.watermarks = rounded(figures)
    direct, read_back = decisions(before, now), decisions(after, now)
    assert direct == read_back
    assert set(direct) == {"web-1", "db-0", "c-1"}
    scores = {
        name: tuple(decision["scores"]["HheWaterLevelBalance"]["raw"].values()) for name, decision in direct.items()
    }
    assert len(set(scores.values())) == 3, "each pod is weighed by the use of its own workload"
    # Without its workload's figures the pod of the Deployment is weighed by its limit of 2 cores.
    before.watermarks = Watermarks(watermarks.names, watermarks.updated, watermarks.figures, {}, "test")
    assert decisions(before, now)["web-1"] != direct["web-1"]


def rounded(figures: Watermarks) -> Watermarks:
    """The figures as far as annotations tell them."""
    uses = node_uses(figures)
    node_figures = {name: {"updated": use.updated, **use.figures} for name, use in uses.items()}
    workload_figures = {name: use.figures for name, use in workload_uses(figures, 0.0).items()}
    return Watermarks.from_json({"nodes": node_figures, "workloads": workload_figures}, figures.names)


def test_only_what_changed_is_patched(plane: ControlPlane) -> None:
    cluster, now = connected(plane), time.time() - 120
    store(cluster, now)
    switch(cluster, own=True)
    update(cluster)
    first = versions(plane)

    store(cluster, now + 60, node_a=71.4, node_b=12.9)  # what only trembles
    outcome = update(cluster)
    assert (outcome["patched"], outcome["unchanged"]) == (0, 6)
    assert versions(plane) == first

    store(cluster, now + 90, node_b=33.0)
    outcome = update(cluster)
    assert (outcome["patched"], outcome["unchanged"]) == (1, 5)
    changed = {name for name, version in versions(plane).items() if version != first[name]}
    assert changed == {"nodes/node-b"}
    use = AnnotatedUse.from_json(read_annotations(plane)["nodes/node-b"][KEY])
    assert use.figures["cpu"]["15m"] == 33.0
    assert use.updated == int(now + 90)


def test_what_grew_old_is_renewed_and_what_somebody_changed_is_put_right(plane: ControlPlane) -> None:
    cluster, now = connected(plane), time.time() - 600
    store(cluster, now)
    switch(cluster, own=True)
    update(cluster)
    store(cluster, now + 310)
    assert update(cluster)["patched"] == 6
    plane.call("PATCH", "/api/v1/nodes/node-a", {"metadata": {"annotations": {KEY: "gibberish"}}})
    plane.call("PATCH", "/api/v1/nodes/node-c", {"metadata": {"annotations": {KEY: None}}})
    store(cluster, now + 320)
    outcome = update(cluster)
    assert (outcome["patched"], outcome["unchanged"]) == (2, 4)
    assert {AnnotatedUse.from_json(texts[KEY]).updated for texts in read_annotations(plane).values()} == {
        int(now + 310),
        int(now + 320),
    }


def test_objects_that_went_away_are_skipped(plane: ControlPlane) -> None:
    cluster = connected(plane)
    store(cluster, time.time())
    switch(cluster, own=True)
    plane.call("DELETE", "/api/v1/nodes/node-b")
    plane.call("DELETE", f"{APPS}/statefulsets/db")
    outcome = update(cluster)
    assert (outcome["patched"], outcome["gone"], outcome["failures"]) == (4, 2, 0)


def test_without_the_right_to_patch_there_is_a_clear_message_and_all_else_works(plane: ControlPlane) -> None:
    cluster = connected(plane, "reader")
    figures = store(cluster, time.time())
    with pytest.raises(ApplicationError, match="may not patch nodes") as caught:
        switch(cluster, own=True)
    assert caught.value.errors[0]["path"] == "own"
    assert not annotating_get(cluster).writes
    assert services.annotations_update(cluster=cluster, seconds=10.0) is None
    snapshot = read_again(cluster)
    snapshot.watermarks = figures
    assert set(decisions(snapshot, time.time())) == {"web-1", "db-0", "c-1"}
    lint = lint_get(cluster, "UTC")
    assert lint is not None
    assert lint.findings == ()
    assert read_annotations(plane) == {}


def test_rights_that_are_lost_later_are_told_and_do_not_stop_what_is_still_allowed(plane: ControlPlane) -> None:
    cluster = connected(plane)
    store(cluster, time.time())
    annotating, _ = switch(cluster, own=True)
    assert [entry["resource"] for entry in annotating.permissions if entry["allowed"]] == [
        "nodes",
        *WORKLOADS,
        "clonesets",
    ]
    plane.grant("limited", READ_EVERYTHING + PATCH[:1])
    outcome = update(cluster)
    assert outcome["patched"] == 3
    assert outcome["failures"] + outcome["left"] == 3
    reasons = {entry["object"]: entry["reason"] for entry in outcome["failed"]}
    assert reasons["Deployment default/web"] == (
        "The credentials may not change /apis/apps/v1/namespaces/default/deployments/web (403)."
    )


def test_cranes_texts_are_written_as_crane_reads_them(plane: ControlPlane) -> None:
    cluster, now = connected(plane), time.time()
    store(cluster, now)
    for number in range(6):
        message = f"Successfully assigned default/p{number} to node-b"
        involved = {"kind": "Pod", "namespace": "default", "name": f"p{number}"}
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now - 10)) + ".000000Z"
        event = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"p{number}.1"}, "involvedObject": involved,
            "reason": "Scheduled", "type": "Normal", "message": message, "eventTime": stamp, "action": "Binding",
            "reportingComponent": "test", "reportingInstance": "test",
        }  # fmt: skip
        plane.call("POST", "/api/v1/namespaces/default/events", event)
    switch(cluster, crane=True)
    outcome = update(cluster)
    assert (outcome["patched"], outcome["failures"]) == (3, 0)
    texts = read_annotations(plane)
    assert set(texts) == {"nodes/node-a", "nodes/node-b", "nodes/node-c"}
    zone = ZoneInfo("Asia/Shanghai")
    # node-a: 74 % of 4 of 8 cores are 37 % of the machine; node-c can give all that it has.
    assert read_annotation(texts["nodes/node-a"]["cpu_usage_avg_5m"], zone) == (0.37, float(int(now)))
    assert read_annotation(texts["nodes/node-c"]["cpu_usage_max_avg_1d"], zone).value == 0.45
    assert read_annotation(texts["nodes/node-b"]["mem_usage_avg_5m"], zone).value == 0.505
    # 6 // 5 of five minutes and 6 // 2 of one: 4. Nodes that are not hot say nothing.
    assert read_annotation(texts["nodes/node-b"]["node_hot_value"], zone).value == 4
    assert "node_hot_value" not in texts["nodes/node-a"]
    assert update(cluster)["patched"] == 0
    read_back = read_again(cluster)
    by_texts = decisions(read_back, now + 60, "Dynamic")["web-1"]["scores"]["Dynamic"]["raw"]
    # 100 less the mean use of the machine by crane's weights, cut: 35.975 %, 29.4 %, 27.15 %; node-b is hot by 4.
    assert by_texts == {"node-a": 64, "node-b": 70 - 40, "node-c": 72}
    shanghai_report, utc_report = lint_get(cluster, "Asia/Shanghai"), lint_get(cluster, "UTC")
    assert shanghai_report is not None
    assert utc_report is not None
    assert [finding.code for finding in shanghai_report.findings] == []
    assert [finding.code for finding in utc_report.findings] == ["zone-ahead"]


def test_switching_off_takes_away_what_was_written_and_nothing_else(plane: ControlPlane) -> None:
    cluster = connected(plane)
    store(cluster, time.time())
    switch(cluster, own=True, crane=True)
    assert update(cluster)["patched"] == 6
    plane.call("PATCH", "/api/v1/nodes/node-a", {"metadata": {"annotations": {"example.com/kept": "yes"}}})
    _, job = switch(cluster, crane=True, remove=True)
    assert job is not None
    assert job.params == {"cluster": str(cluster.pk), "own": True, "crane": False}
    assert services.annotations_remove(cluster=cluster, own_form=True, crane=False)["patched"] == 6
    remaining = read_annotations(plane)
    assert set(remaining) == {"nodes/node-a", "nodes/node-b", "nodes/node-c"}
    assert all(KEY not in texts for texts in remaining.values())
    assert services.annotations_remove(cluster=cluster, own_form=False, crane=True)["patched"] == 3
    assert read_annotations(plane) == {}
    annotations = plane.call("GET", "/api/v1/nodes/node-a")["metadata"]["annotations"]
    assert annotations["example.com/kept"] == "yes"


def test_pods_of_a_real_snapshot_belong_to_their_workloads(plane: ControlPlane) -> None:
    cluster = connected(plane)
    snapshot = read_again(cluster)
    figures = store(cluster, time.time())
    used = {pod.name: figures.workload_figures(pod, snapshot.objects) for pod in snapshot.pending}
    assert {name: pod_figures["cpu"]["15m"] for name, pod_figures in used.items() if pod_figures} == {
        "web-1": 0.25,
        "db-0": 1.5,
        "c-1": 0.125,
    }
    assert isinstance(snapshot.pending[0], Pod)
