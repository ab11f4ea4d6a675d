"""Recorded scenarios on the real API server: the engine, on what the site reads of it, evicts as the descheduler.

The program is given what the API server itself lists; the engine what the reader of clusters keeps of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from kschedweb.clusters import reader
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.json_types import Json
from tests.conformance.descheduler import MANY, SAME, engine_answer, recorded, reference
from tests.support import tiers

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]
COUNT = tiers.count(4, 20)
NOW = "2027-06-15T12:00:00Z"  # long after the objects are made: the API server dates them itself
KINDS = ("Namespace", "PriorityClass", "Node", "PersistentVolumeClaim", "PodDisruptionBudget", "Pod")
STATED = ("Node", "PodDisruptionBudget", "Pod")  # whose status is written apart
DEFAULT_NAMESPACES = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease"}
)  # namespaces of every cluster
PARTS = (*SAME, "evicted", "failures")


@pytest.fixture
def plane(control_plane: ControlPlane, settings: Settings) -> Iterator[ControlPlane]:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    control_plane.wipe()
    yield control_plane
    _cleared(control_plane)


def test_twenty_scenarios_on_the_real_api_server(plane: ControlPlane, descheduler: Path) -> None:
    evictions, put = 0, 0
    for line in recorded()[:: len(recorded()) // COUNT][:COUNT]:
        scenario = line["scenario"]
        for raw in scenario["objects"]:
            put += _created(plane, raw)
        question = {**scenario, "now": NOW}
        theirs = reference(descheduler, [{**question, "objects": _listed(plane)}], MANY)[0]
        ours = engine_answer({**question, "objects": _read(plane)}, runs=MANY, shuffles=0)
        if not theirs.get("alternatives") and not ours.get("alternatives"):
            certain = ours["ordered"] and theirs["ordered"]
            for part in PARTS if certain else SAME:
                assert ours.get(part) == theirs.get(part), (scenario["name"], part)
            assert {eviction["pod"] for eviction in ours["evicted"]} == {
                eviction["pod"] for eviction in theirs["evicted"]
            }
            evictions += len(ours["evicted"])
        _cleared(plane)
    assert put > 10 * COUNT
    assert evictions >= COUNT


def _path(raw: Json) -> str:
    kind, namespace = BY_NAME[raw["kind"]], raw["metadata"].get("namespace")
    namespace_path = f"/namespaces/{namespace}" if namespace else ""
    return f"{kind.path.removesuffix(f'/{kind.resource}')}{namespace_path}/{kind.resource}"


def _created(plane: ControlPlane, raw: Json) -> bool:
    """Create an object as far as the API server takes it; whether it did."""
    body = {**raw, "metadata": {**raw["metadata"], "uid": None, "creationTimestamp": None, "deletionTimestamp": None}}
    if raw["kind"] in ("Pod", "PersistentVolumeClaim", "PodDisruptionBudget"):
        body["metadata"].setdefault("namespace", "default")
    if raw["kind"] == "Pod":
        # Priority follows from the class, which admission looks up.
        body["spec"] = {**raw["spec"], "priority": None}
        owners = [{"apiVersion": "apps/v1", **owner} for owner in raw["metadata"].get("ownerReferences") or ()]
        body["metadata"]["ownerReferences"] = owners
    path = _path(body)
    answer = plane.request("POST", path, body)
    if raw["kind"] == "Namespace" and answer.status == 409:
        answer = plane.request("PATCH", f"{path}/{raw['metadata']['name']}", {"metadata": raw["metadata"]})
    if answer.status >= 300:
        return False
    place = f"{path}/{raw['metadata']['name']}"
    if raw["kind"] == "Node":
        plane.call("PATCH", place, {"spec": {"taints": raw["spec"].get("taints")}})
    if raw["kind"] in STATED and raw.get("status"):
        plane.request("PATCH", f"{place}/status", {"status": raw["status"]})
    return True


def _listed(plane: ControlPlane) -> list[Json]:
    """List the API server's objects, each with its kind."""
    objects = []
    for kind in KINDS:
        listed = plane.call("GET", BY_NAME[kind].path)
        objects += [{"apiVersion": BY_NAME[kind].api_version, "kind": kind, **item} for item in listed["items"]]
    return objects


def _read(plane: ControlPlane) -> list[Json]:
    """Return the contents of a snapshot of the cluster."""
    secret = Secret(server=plane.url, token=plane.tokens["reader"], ca=plane.ca)
    with Client.open(secret) as client:
        read = reader.cluster_read(client, lambda *progress: None)
    return [item for kind in KINDS for item in read[kind].objects.values()]


def _cleared(plane: ControlPlane) -> None:
    plane.wipe()
    for kind in ("PodDisruptionBudget", "PriorityClass", "Namespace"):
        for item in plane.call("GET", BY_NAME[kind].path)["items"]:
            name = item["metadata"]["name"]
            if (kind == "Namespace" and name in DEFAULT_NAMESPACES) or name.startswith("system-"):
                continue
            if kind != "Namespace":
                plane.request("DELETE", f"{_path({'kind': kind, **item})}/{name}")
