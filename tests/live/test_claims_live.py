"""Pods with resource claims before the real kube-scheduler and before the engine, up to being bound."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import FreeDevices, LiveLoop, ReportPod
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.live.schedulers.writing.preparer import Preparer
from kschedweb.live.schedulers.writing.writer import WriteCode
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.place import Place

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live


PODS, GROUP = "/api/v1/namespaces/default/pods", "/apis/resource.k8s.io/v1"
CLAIMS, CLASSES = f"{GROUP}/namespaces/default/resourceclaims", f"{GROUP}/deviceclasses"
ZONE, GPU = "topology.kubernetes.io/zone", "example.com/gpu"
CONFIG: Json = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "default-scheduler"}],
}
CLASS: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": GPU},
}
# name: zone of the devices, pods that the claim is reserved for, whether it asks for a device at all
CLAIMS_BY_NAME = {
    "ours": ("one", [], True),
    "shared": ("", [], True),
    "full": ("", [f"uid-{number}" for number in range(256)], True),
    "nowhere": ("three", [], True),
    "used": ("three", ["uid-of-another"], True),
    "bare": (None, [], False),
}


def node(name: str, zone: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", GPU: "2"}
    metadata = {"name": name, "labels": {ZONE: zone}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def claim(name: str, asks: bool) -> Json:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    devices = {"requests": [{"name": "r", "exactly": exactly}]} if asks else {}
    metadata = {"name": name}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": devices},
    }


def pod(name: str, *claims: str, requests: dict[str, str] | None = None) -> Json:
    resources = requests or {}
    container = {"name": "main", "image": "i", "resources": {"requests": resources, "limits": resources}}
    listed = [{"name": f"d{number}", "resourceClaimName": item} for number, item in enumerate(claims)]
    spec = {"containers": [container], "resourceClaims": listed}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def allocate(plane: ControlPlane, name: str, zone: str, reserved: list[str]) -> None:
    """Write into the claim's status what a scheduler would have written."""
    claim = plane.call("GET", f"{CLAIMS}/{name}")
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": f"dev-{name}"}
    allocation: Json = {"devices": {"results": [result]}, "allocationTimestamp": "2026-01-01T00:00:00Z"}
    if zone:
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    claim["status"] = {"allocation": allocation, "reservedFor": users}
    plane.call("PUT", f"{CLAIMS}/{name}/status", claim)


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Two nodes whose device plugin has two devices each, and the claims of ``WANTED``."""
    control_plane.create_nodes([node("a", "one"), node("b", "two")])
    control_plane.call("POST", CLASSES, CLASS)
    for name, (zone, reserved, asks) in CLAIMS_BY_NAME.items():
        control_plane.call("POST", CLAIMS, claim(name, asks))
        if zone is not None:
            allocate(control_plane, name, zone, reserved)
    yield control_plane
    control_plane.wipe()
    for item in control_plane.call("GET", CLAIMS)["items"]:
        path = f"{CLAIMS}/{item['metadata']['name']}"
        control_plane.call("PATCH", path, {"metadata": {"finalizers": None}})
        control_plane.call("DELETE", path)
    control_plane.call("DELETE", f"{CLASSES}/gpu")


def read(plane: ControlPlane) -> Snapshot:
    objects = []
    for kind, path in (("Node", "/api/v1/nodes"), ("ResourceClaim", CLAIMS), ("DeviceClass", CLASSES)):
        listed = plane.call("GET", path)
        objects += [item | {"kind": kind, "apiVersion": listed["apiVersion"]} for item in listed["items"]]
    snapshot = Snapshot.from_objects(objects, counting=plane.release.counting)
    assert snapshot.problems == []
    return snapshot


def message(raw: Json) -> str:
    """Return the scheduler's message about a pod that it could not place or bind."""
    conditions = raw["status"].get("conditions", [])
    return next(
        (
            condition["message"]
            for condition in conditions
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ),
        "",
    )


def decided(raw: Json) -> bool:
    return bool(raw["spec"].get("nodeName") or message(raw))


def reservations(plane: ControlPlane) -> dict[str, tuple[str, ...]]:
    return {
        item["metadata"]["name"]: tuple(user["uid"] for user in item.get("status", {}).get("reservedFor", []))
        for item in plane.call("GET", CLAIMS)["items"]
        if "resource.kubernetes.io/extended-resource-claim" not in item["metadata"].get("annotations", {})
    }


def test_pods_with_claims_go_where_the_engine_says_or_hear_its_words(plane: ControlPlane) -> None:
    pending = [
        pod("ours", "ours"),
        pod("shared", "shared", "ours"),
        pod("full", "full"),
        pod("partly", "shared", "full"),
        pod("twice", "shared", "shared"),
        pod("used", "used"),
        pod("nowhere", "nowhere"),
        pod("bare", "bare"),
        pod("plugin", requests={GPU: "1"}),
        pod("both", "shared", requests={GPU: "1"}),
        pod("large", "shared", requests={"cpu": "9"}),
    ]
    loaded = load(CONFIG, plane.release)
    assert loaded.configuration is not None, loaded.errors
    engine = Scheduler(read(plane), loaded.configuration)
    placed = 0
    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        for raw in pending:
            wanting = Pod.from_json(plane.call("POST", PODS, raw))
            best = engine.explain(wanting)
            decided_pod = watch.wait_for(wanting.key, decided, "is neither placed nor refused")
            outcome = engine.find(wanting, SearchRequest(post_filter=True))
            node_name = decided_pod["spec"].get("nodeName", "")
            if outcome.node:
                binding = engine.create_binding(wanting, node_name or outcome.node)
                refusal = binding.reserve_and_permit() or binding.run_binding()
                assert message(decided_pod) == ("" if refusal is None else refusal.message)
                assert not node_name or engine.snapshot.index[node_name] in best.best
                placed += refusal is None
            else:
                assert message(decided_pod) == outcome.condition
            if not node_name:
                plane.call("DELETE", f"{PODS}/{raw['metadata']['name']}")
        assert placed == len(["ours", "shared", "bare", "plugin"])
        for name, users in reservations(plane).items():
            claim = engine.snapshot.resource_claims.get("default", name)
            assert claim is not None
            assert claim.reserved_for == users
        # What was given back needs devices now, and there are none.
        second_pod = Pod.from_json(plane.call("POST", PODS, pod("nowhere-again", "nowhere")))
        refusal_text = message(watch.wait_for(second_pod.key, decided, "is not refused"))
        assert refusal_text == engine.find(second_pod, SearchRequest(post_filter=True)).condition
        assert "cannot allocate all claims" in refusal_text


def test_a_pod_whose_claim_is_missing_is_not_tried_until_it_is_there(plane: ControlPlane) -> None:
    loaded = load(CONFIG, plane.release)
    assert loaded.configuration is not None, loaded.errors
    engine = Scheduler(read(plane), loaded.configuration)
    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        early = Pod.from_json(plane.call("POST", PODS, pod("early", "late")))
        assert engine.explain(early).pre_enqueue.reasons == ('could not find ResourceClaim "default/late"',)
        later = Pod.from_json(plane.call("POST", PODS, pod("later", "ours")))
        watch.wait_for(later.key, decided, "is not placed")
        assert not decided(plane.call("GET", f"{PODS}/early"))
        plane.call("POST", CLAIMS, claim("late", False))
        assert watch.wait_for(early.key, decided, "is not placed")["spec"]["nodeName"]


def test_devices_in_the_way_are_given_back_as_kube_scheduler_does(place: Place, plane: ControlPlane) -> None:
    def read_claim() -> Json:
        claim: Json = plane.call("GET", f"{CLAIMS}/nowhere")
        return claim

    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        plane.call("POST", PODS, pod("theirs", "nowhere"))
        refusal_text = message(watch.wait_for("default/theirs", decided, "is not refused"))
        assert "deallocation of ResourceClaim completed" in refusal_text
    theirs = read_claim().get("status")
    plane.call("DELETE", f"{PODS}/theirs")
    allocate(plane, "nowhere", "three", [])
    wanting = plane.call("POST", PODS, pod("ours", "nowhere"))
    loaded = load(CONFIG, plane.release)
    assert loaded.configuration is not None, loaded.errors
    loop, now = LiveLoop(loaded.configuration), time.time()
    for kind, path in (("DeviceClass", CLASSES), ("ResourceClaim", CLAIMS), ("Node", "/api/v1/nodes")):
        loop.replace_objects(kind, plane.call("GET", path)["items"], now)
    loop.replace_objects("Pod", [wanting], now)
    free, report = loop.step(now)
    assert isinstance(free, FreeDevices)
    assert isinstance(report, ReportPod)
    assert report.message == refusal_text
    preparer = Preparer(place.writer, place.leads.is_set, threading.Event())
    assert preparer.free(free.pod, free.claim).is_done
    assert read_claim().get("status") == theirs
    # The cluster shows it, which is what the pod waits for.
    loop.apply_object("ResourceClaim", read_claim(), now)
    assert loop.depths.backoff + loop.depths.active == 1
    # Nothing is taken from anybody else, nor by one who leads no more.
    allocate(plane, "nowhere", "three", ["uid-of-another"])
    assert preparer.free(free.pod, free.claim).result is WriteCode.CONFLICT
    allocate(plane, "nowhere", "three", [])
    place.leads.clear()
    assert preparer.free(free.pod, free.claim).result is WriteCode.WITHHELD
    assert read_claim()["status"]["allocation"]
