"""Devices that the real kube-scheduler chose, one pod after the other, beside those that the engine chooses."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.preparation import AllocateClaim, MakeClaim
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import BindPod, FreeDevices, LiveLoop, PodRef
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import parse_quantity
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.state.devices.claims import extended_key
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.live.schedulers.writing.preparer import Preparer
from tests.live.test_claims_live import CLAIMS, CLASSES, CONFIG, GPU, GROUP, PODS, decided, message, node, pod
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.place import Place

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

SLICES = f"{GROUP}/resourceslices"
DRIVER = "gpu.example.com"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
LOOKING = {
    "Node": "/api/v1/nodes",
    "ResourceClaim": CLAIMS,
    "DeviceClass": CLASSES,
    "ResourceSlice": SLICES,
}


def resource(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def device(name: str, model: str, socket: int, **fields: Any) -> Json:
    attributes = {"model": {"string": model}, "example.com/socket": {"int": socket}}
    return {"name": name, "attributes": attributes, **fields}


def slices() -> list[Json]:
    """Plain devices on two nodes, parts of one device on the first, one that is shared by all who can see it."""
    documents = []
    for name in ("a", "b"):
        devices = [device(f"gpu{number}", "xy"[number % 2], number // 2) for number in range(4)]
        devices[3]["taints"] = [{"key": "example.com/worn", "effect": "NoSchedule"}]
        spec: Json = {"driver": DRIVER, "nodeName": name, "devices": devices}
        documents.append(resource("ResourceSlice", f"gpus-{name}", spec | {"pool": pool(name, 1)}))
    counters = [{"name": "card", "counters": {"memory": {"value": "8Gi"}}}]
    parts = [
        device(name, "part", 0, consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": amount}}}])
        for name, amount in (("whole", "8Gi"), ("half0", "4Gi"), ("half1", "4Gi"))
    ]
    of_node: Json = {"driver": "part.example.com", "nodeName": "a", "pool": pool("parts", 2)}
    documents.append(resource("ResourceSlice", "parts-0", of_node | {"sharedCounters": counters}))
    documents.append(resource("ResourceSlice", "parts-1", of_node | {"devices": parts}))
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    card = device("card", "net", 0, allowMultipleAllocations=True)
    card["capacity"] = {"bandwidth": {"value": "10Gi", "requestPolicy": policy}}
    shared: Json = {"driver": "net.example.com", "allNodes": True, "devices": [card]}
    documents.append(resource("ResourceSlice", "net", shared | {"pool": pool("net", 1)}))
    return documents


def pool(name: str, count: int) -> Json:
    return {"name": name, "generation": 1, "resourceSliceCount": count}


def classes() -> list[Json]:
    config = [{"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}]
    documents = []
    for name in ("gpu", "part", "net"):
        selectors = [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]
        documents.append(resource("DeviceClass", name, {"selectors": selectors}))
    documents[0]["spec"] |= {"extendedResourceName": GPU, "config": config}
    return documents


def exactly(device_class: str, **fields: Any) -> Json:
    return {"name": "r", "exactly": {"deviceClassName": device_class, **fields}}


def model(name: str) -> list[Json]:
    return [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "{name}"'}}]


def device_claims() -> dict[str, Json]:
    """Return the request of each claim, in the order of the pods that use them."""
    same = [{"matchAttribute": "example.com/socket"}]
    worn = [{"key": "example.com/worn", "operator": "Exists"}]
    alternatives = [
        {"name": "four", "deviceClassName": "gpu", "count": 4},
        {"name": "tolerant", "deviceClassName": "gpu", "selectors": model("y"), "tolerations": worn},
    ]
    config = [{"requests": ["r"], "opaque": {"driver": DRIVER, "parameters": {}}}]
    return {
        "x": {"requests": [exactly("gpu", selectors=model("x"))], "config": config},
        "pair": {"requests": [exactly("gpu", count=2)], "constraints": same},
        "listed": {"requests": [{"name": "r", "firstAvailable": alternatives}]},
        "half": {"requests": [exactly("part", count=1, selectors=[])]},
        "large": {"requests": [exactly("part", allocationMode="All")]},
        "three": {"requests": [exactly("net", capacity={"requests": {"bandwidth": "2500Mi"}})]},
        "default": {"requests": [exactly("net")]},
        "seven": {"requests": [exactly("net", capacity={"requests": {"bandwidth": "7Gi"}})]},
        "tolerant": {"requests": [exactly("gpu", tolerations=worn, selectors=model("y"))]},
        "odd": {"requests": [exactly("gpu", selectors=model("z"))]},
        "wrong": {"requests": [exactly("net", selectors=model("x"))]},
    }


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    nodes = [node("a", "one"), node("b", "two")]
    for item in nodes:
        del item["status"]["allocatable"][GPU]
    control_plane.create_nodes(nodes)
    for path, items in ((CLASSES, classes()), (SLICES, slices())):
        for item in items:
            control_plane.call("POST", path, item)
    for name, devices in device_claims().items():
        control_plane.call("POST", CLAIMS, resource("ResourceClaim", name, {"devices": devices}))
    yield control_plane
    control_plane.wipe()
    for path in (CLAIMS, SLICES, CLASSES):
        for item in control_plane.call("GET", path)["items"]:
            object_path = f"{path}/{item['metadata']['name']}"
            if path == CLAIMS:
                control_plane.call("PATCH", object_path, {"metadata": {"finalizers": None}})
            control_plane.call("DELETE", object_path)


def snapshot(plane: ControlPlane) -> Snapshot:
    objects = []
    for kind, path in LOOKING.items():
        listed = plane.call("GET", path)
        objects += [item | {"kind": kind, "apiVersion": listed["apiVersion"]} for item in listed["items"]]
    loaded = Snapshot.from_objects(objects, counting=plane.release.counting)
    assert loaded.problems == []
    return loaded


def without_chance(allocation: Json) -> Json:
    """The allocation without its time and the ids of shares."""
    results = []
    for result in allocation["devices"]["results"]:
        amounts = {name: parse_quantity(amount) for name, amount in result.get("consumedCapacity", {}).items()}
        results.append({**result, "shareID": "shareID" in result, "consumedCapacity": amounts})
    devices = allocation["devices"] | {"results": results}
    return {key: value for key, value in allocation.items() if key != "allocationTimestamp"} | {"devices": devices}


def in_use(claims: list[ResourceClaim]) -> list[tuple[str, ...]]:
    """The requests and devices of claims for extended resources, whose names are made up."""
    return sorted(
        (result.request, *result.device)
        for claim in claims
        if claim.for_extended_resources and claim.allocation
        for result in claim.allocation.devices
    )


def test_every_claim_gets_the_devices_that_kube_scheduler_gives_it(plane: ControlPlane) -> None:
    engine = Scheduler(snapshot(plane), configured(plane.release))
    pending = [pod(f"p-{name}", name) for name in device_claims()]
    pending.insert(2, pod("p-extended", requests={GPU: "2"}))
    pending.append(pod("p-many", requests={GPU: "9"}))
    refused = set()
    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        for raw in pending:
            wanting = Pod.from_json(plane.call("POST", PODS, raw))
            decided_pod = watch.wait_for(wanting.key, decided, "is neither placed nor refused")
            node_name = decided_pod["spec"].get("nodeName", "")
            outcome = engine.find(wanting, SearchRequest(post_filter=True))
            if not node_name:
                assert message(decided_pod) == outcome.condition
                refused.add(wanting.name)
                plane.call("DELETE", f"{PODS}/{wanting.name}")
                continue
            best = engine.explain(wanting)
            assert engine.snapshot.index[node_name] in best.best, best.message
            binding = engine.create_binding(wanting, node_name)
            assert binding.reserve_and_permit() is None
            if wanting.resource_claims:
                name = wanting.resource_claims[0].claim
                (prepared,) = binding.framework.collect_preparations(binding.cycle, node_name)
                assert isinstance(prepared, AllocateClaim)
                real = plane.call("GET", f"{CLAIMS}/{name}")["status"]["allocation"]
                assert without_chance(prepared.allocation) == without_chance(real)
            assert binding.run_binding() is None
        assert refused == {"p-large", "p-seven", "p-odd", "p-wrong", "p-many"}
        real_claims = list(snapshot(plane).resource_claims)
        assert in_use(list(engine.snapshot.resource_claims)) == in_use(real_claims) != []


def test_the_loop_writes_the_devices_that_it_chose(place: Place, plane: ControlPlane) -> None:
    now = time.time()
    loop = live_loop(plane, now)
    loop.replace_objects("Pod", [plane.call("POST", PODS, pod("ours", "pair"))], now)
    (bind,) = loop.step(now)
    assert isinstance(bind, BindPod)
    preparer = Preparer(place.writer, place.leads.is_set, threading.Event())
    assert preparer.prepare(bind.pod, bind.preparations).is_done
    claim = plane.call("GET", f"{CLAIMS}/pair")
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert [user["uid"] for user in claim["status"]["reservedFor"]] == [bind.pod.uid]
    devices = [(result["pool"], result["device"]) for result in claim["status"]["allocation"]["devices"]["results"]]
    assert devices == [(bind.node, "gpu0"), (bind.node, "gpu1")]
    # Once the cluster shows it, it counts as what the cluster says.
    loop.apply_object("ResourceClaim", claim, now)
    assert loop.snapshot.resource_claims.in_flight("default", "pair") is None
    assert loop.snapshot.resource_claims.device_use.is_exclusive((DRIVER, bind.node, "gpu1"))
    # Who comes second does not take it away.
    assert preparer.prepare(PodRef("default", "other", "uid-of-another"), bind.preparations).text.endswith(
        "claim default/pair got allocated elsewhere in the meantime"
    )


def users() -> list[Json]:
    """Pods for extended resources, each with containers that share devices in another way."""
    asks = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
    two = {"requests": {GPU: "2"}, "limits": {GPU: "2"}}
    implicit = {"deviceclass.resource.kubernetes.io/net": "1"}
    containers: list[tuple[str, list[Json], list[Json]]] = [
        ("one", [], [asks]),
        ("init", [two], [asks]),
        ("implicit", [], [{"requests": implicit, "limits": implicit}]),
    ]
    documents = []
    for name, inits, mains in containers:
        document = pod(name)
        document["spec"]["initContainers"] = [
            {"name": f"i{place}", "image": "i", "resources": resources} for place, resources in enumerate(inits)
        ]
        document["spec"]["containers"] = [
            {"name": f"c{place}", "image": "i", "resources": resources} for place, resources in enumerate(mains)
        ]
        documents.append(document)
    return documents


def only_on(name: str) -> Json:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def made_for(plane: ControlPlane, name: str) -> Json:
    """The pod, and the claim that was made for it, without what differs from one to the next."""
    placed = plane.call("GET", f"{PODS}/{name}")
    (claim,) = [
        item
        for item in plane.call("GET", CLAIMS)["items"]
        if EXTENDED in item["metadata"].get("annotations", {})
        and item["metadata"]["ownerReferences"][0]["uid"] == placed["metadata"]["uid"]
    ]
    metadata, status = claim["metadata"], placed["status"]["extendedResourceClaimStatus"]
    assert metadata["name"].startswith(metadata["generateName"])
    assert status.pop("resourceClaimName") == metadata["name"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": name, "uid": placed["metadata"]["uid"]}]
    assert "allocationTimestamp" in claim["status"]["allocation"]
    return {
        "metadata": {key: metadata.get(key) for key in ("generateName", "annotations", "finalizers")},
        "owners": [
            {key: value for key, value in reference.items() if key != "uid"}
            for reference in metadata["ownerReferences"]
        ],
        "spec": claim["spec"],
        "allocation": without_chance(claim["status"]["allocation"]),
        "status": set(claim["status"]),
        "named": status,
    }


def taken_away(plane: ControlPlane) -> None:
    """Pods and the claims that were made for them."""
    for item in plane.call("GET", PODS)["items"]:
        plane.call("DELETE", f"{PODS}/{item['metadata']['name']}?gracePeriodSeconds=0")
    for item in plane.call("GET", CLAIMS)["items"]:
        if EXTENDED in item["metadata"].get("annotations", {}):
            plane.call("PATCH", f"{CLAIMS}/{item['metadata']['name']}", {"metadata": {"finalizers": None}})
            plane.call("DELETE", f"{CLAIMS}/{item['metadata']['name']}")


def configured(release: Release) -> Configuration:
    loaded = load(CONFIG, release)
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def live_loop(plane: ControlPlane, now: float, release: Release | None = None) -> LiveLoop:
    """The loop of the plane's release, or of another one."""
    loop = LiveLoop(configured(release or plane.release))
    for kind, path in LOOKING.items():
        loop.replace_objects(kind, plane.call("GET", path)["items"], now)
    return loop


def test_the_claim_for_extended_resources_is_made_as_kube_scheduler_makes_it(place: Place, plane: ControlPlane) -> None:
    preparer, now = Preparer(place.writer, place.leads.is_set, threading.Event()), time.time()
    ours, nodes = {}, {}
    loop = live_loop(plane, now)
    for raw in users():
        name = raw["metadata"]["name"]
        loop.apply_object("Pod", plane.call("POST", PODS, raw), now)
        (bind,) = loop.step(now)
        assert isinstance(bind, BindPod)
        assert preparer.prepare(bind.pod, bind.preparations).is_done
        assert place.writer.bind(bind.pod, bind.node).is_done
        loop.on_bound(bind.pod.uid, now)
        for item in plane.call("GET", CLAIMS)["items"]:
            loop.apply_object("ResourceClaim", item, now)
        ours[name], nodes[name] = made_for(plane, name), bind.node
        assert loop.snapshot.resource_claims.in_flight(*extended_key("default", bind.pod.uid)) is None
    taken_away(plane)
    theirs = {}
    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        for raw in users():
            name = raw["metadata"]["name"]
            raw["spec"]["affinity"] = only_on(nodes[name])
            watch.wait_for(Pod.from_json(plane.call("POST", PODS, raw)).key, decided, "is neither placed nor refused")
            theirs[name] = made_for(plane, name)
    taken_away(plane)
    assert ours == theirs


def test_a_claim_of_an_earlier_try_goes_before_the_next(place: Place, plane: ControlPlane) -> None:
    preparer, now = Preparer(place.writer, place.leads.is_set, threading.Event()), time.time()
    loop = live_loop(plane, now)
    loop.apply_object("Pod", plane.call("POST", PODS, users()[0]), now)
    (bind,) = loop.step(now)
    assert isinstance(bind, BindPod)
    assert preparer.prepare(bind.pod, bind.preparations).is_done
    # The scheduler stopped before it bound the pod: the next one finds the claim.
    second_loop = live_loop(plane, now, RELEASES["1.37"])
    second_loop.apply_object("Pod", plane.call("GET", f"{PODS}/one"), now)
    freeing = [intent for intent in second_loop.step(now) if isinstance(intent, FreeDevices)]
    assert [intent.claim.is_generated for intent in freeing] == [True]
    claim = plane.call("GET", f"{CLAIMS}/{freeing[0].claim.claim}")
    assert preparer.free(freeing[0].pod, freeing[0].claim).is_done
    claim_names = {item["metadata"]["name"] for item in plane.call("GET", CLAIMS)["items"]}
    assert claim_names == set(device_claims())
    second_loop.delete_object("ResourceClaim", claim, now)
    assert [type(intent) for intent in second_loop.step(now + 30)] == [BindPod]


def test_a_claim_that_cannot_be_completed_is_deleted(place: Place, plane: ControlPlane) -> None:
    preparer, now = Preparer(place.writer, place.leads.is_set, threading.Event()), time.time()
    loop = live_loop(plane, now)
    loop.apply_object("Pod", plane.call("POST", PODS, users()[0]), now)
    (bind,) = loop.step(now)
    assert isinstance(bind, BindPod)
    (preparation,) = bind.preparations
    assert isinstance(preparation, MakeClaim)
    wrong = replace(preparation, mappings=({"containerName": "c0", "resourceName": GPU, "requestName": "none"},))
    outcome = preparer.prepare(PodRef("default", "one", "uid-of-another"), [wrong])
    assert not outcome.is_done
    assert outcome.text.startswith('running PreBind plugin "DynamicResources": ')
    claim_names = {item["metadata"]["name"] for item in plane.call("GET", CLAIMS)["items"]}
    assert claim_names == set(device_claims())
