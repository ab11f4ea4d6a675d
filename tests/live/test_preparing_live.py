"""Claims get their volumes on the real API server before their pod is bound; this test is the volumes' controller."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.framework.preparation import ReserveClaim, SelectNode, TakeVolume
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import PodRef
from kschedweb.live.schedulers.writing.preparer import BIND_COMPLETED, SELECTED_NODE, Preparer
from kschedweb.live.schedulers.writing.writer import WriteCode, WriteResult
from tests.live.test_volumes_live import CLAIMS, VOLUMES, claim, volume
from tests.support.place import Place
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane


pytestmark = pytest.mark.live


class Preparing:
    """A pod whose preparation is under way in a thread."""

    def __init__(self, at: Place, pod: PodRef, *preparations: Any, seconds: float = 60.0) -> None:
        self.found: list[WriteResult] = []
        preparer = Preparer(at.writer, at.leads.is_set, threading.Event(), seconds=seconds)
        self._thread = threading.Thread(target=lambda: self.found.append(preparer.prepare(pod, preparations)))
        self._thread.start()

    def outcome(self) -> WriteResult:
        self._thread.join(30)
        assert self.found, "it is still not prepared"
        return self.found[0]


def annotation(plane: ControlPlane, name: str) -> str:
    return str((plane.call("GET", f"{CLAIMS}/{name}")["metadata"].get("annotations") or {}).get(SELECTED_NODE))


def bind_claim(plane: ControlPlane, name: str, to: str) -> None:
    """Bind the claim, as the controller of volumes does in the end."""
    change = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": to}}
    plane.call("PATCH", f"{CLAIMS}/{name}", change)


def test_a_claim_without_a_volume_is_told_its_node_and_waited_for(place: Place) -> None:
    uid = place.plane.call("POST", CLAIMS, claim("data", 1))["metadata"]["uid"]
    preparing = Preparing(place, place.pod("made"), SelectNode("default", "data", uid, "node-1"))
    wait_until(lambda: annotation(place.plane, "data") == "node-1", "the claim is told its node")
    assert not preparing.found
    bind_claim(place.plane, "data", "pvc-made")
    assert preparing.outcome().is_done


def test_a_volume_is_taken_for_its_claim_and_for_no_other(place: Place) -> None:
    plane = place.plane
    plane.call("POST", VOLUMES, volume("disk", "node-1", 1))
    uids = {name: plane.call("POST", CLAIMS, claim(name, 1))["metadata"]["uid"] for name in ("mine", "other")}
    preparing = Preparing(place, place.pod("takes"), TakeVolume("disk", "default", "mine", uids["mine"]))

    def taker() -> Json:
        return plane.call("GET", f"{VOLUMES}/disk")["spec"].get("claimRef") or {}

    wait_until(lambda: taker().get("uid") == uids["mine"], "the volume is taken")
    bind_claim(plane, "mine", "disk")
    assert preparing.outcome().is_done
    refused = Preparing(place, place.pod("late"), TakeVolume("disk", "default", "other", uids["other"])).outcome()
    assert refused.result is WriteCode.REFUSED
    assert 'running PreBind plugin "VolumeBinding": binding volumes: persistentvolume "disk" was taken' in refused.text
    assert taker()["name"] == "mine"


def test_a_volume_that_was_meant_for_the_claim_stays_so(place: Place) -> None:
    uid = place.plane.call("POST", CLAIMS, claim("meant", 1))["metadata"]["uid"]
    disk = volume("reserved", "node-1", 1)
    disk["spec"]["claimRef"] = {"namespace": "default", "name": "meant"}
    place.plane.call("POST", VOLUMES, disk)
    preparing = Preparing(place, place.pod("patient"), TakeVolume("reserved", "default", "meant", uid))
    current_volume: Json = {}

    def is_taken() -> bool:
        current_volume.update(place.plane.call("GET", f"{VOLUMES}/reserved"))
        return current_volume["spec"]["claimRef"].get("uid") == uid

    wait_until(is_taken, "the volume is taken")
    assert "annotations" not in current_volume["metadata"]
    bind_claim(place.plane, "meant", "reserved")
    assert preparing.outcome().is_done


def test_what_does_not_come_about_is_an_error_and_no_binding(place: Place) -> None:
    uid = place.plane.call("POST", CLAIMS, claim("slow", 1))["metadata"]["uid"]
    selection = SelectNode("default", "slow", uid, "node-1")
    late = Preparing(place, place.pod("late-claim"), selection, seconds=0.1).outcome()
    assert late.text == 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    nowhere = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    place.plane.call("PATCH", f"{CLAIMS}/slow", nowhere)
    given_up = Preparing(place, place.pod("given-up"), selection)
    wait_until(lambda: annotation(place.plane, "slow") == "node-1", "the claim is told its node")
    place.plane.call("PATCH", f"{CLAIMS}/slow", nowhere)
    assert "provisioning failed" in given_up.outcome().text
    missing = Preparing(place, place.pod("missing"), SelectNode("default", "nowhere", "", "node-1")).outcome()
    assert missing.result is WriteCode.REFUSED
    place.leads.clear()
    assert Preparing(place, PodRef("default", "any", "uid"), selection).outcome().result is WriteCode.WITHHELD


def test_devices_are_reserved_for_one_pod_more(place: Place) -> None:
    plane, pod, path = place.plane, place.pod("user"), "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    plane.call("POST", path, {"metadata": {"name": "gpu"}, "spec": {"devices": {"requests": [request]}}})
    try:
        assert "has no devices" in Preparing(place, pod, ReserveClaim("default", "gpu")).outcome().text
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "one", "device": "gpu-0"}
        other = {"resource": "pods", "name": "other", "uid": "99999999-2222-3333-4444-555555555555"}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [other]}
        plane.call("PATCH", f"{path}/gpu/status", {"status": status})
        for _ in range(2):
            assert Preparing(place, pod, ReserveClaim("default", "gpu")).outcome().is_done
        users = plane.call("GET", f"{path}/gpu")["status"]["reservedFor"]
        assert users == [other, {"resource": "pods", "name": "user", "uid": pod.uid}]
    finally:
        plane.call("DELETE", f"{path}/gpu")
