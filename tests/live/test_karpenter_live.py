"""Clusters on the real API server with kwok's nodes, read as the site reads them: the engine decides as Karpenter."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters import reader
from kschedweb.clusters.connecting.client import Client
from kschedweb.engine.autoscaling.document import KIND, VERSION, read_document
from kschedweb.engine.autoscaling.node_adopter import NodeAdopter
from kschedweb.engine.autoscaling.offers.ready_catalogue import FAMILIES, READY, SIZES, ZONES, ready_types
from kschedweb.engine.json_types import Json
from tests.conformance.conftest import karpenter
from tests.conformance.karpenter import agreeing, reference
from tests.live.test_clusters_live import allowed, secret, silent
from tests.support import tiers
from tests.support.kubescheduler import kubeconfig
from tests.support.processes import running, wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

__all__ = ["allowed", "karpenter"]
pytestmark = [pytest.mark.live, pytest.mark.nightly]

SEED, COUNT = tiers.seed(), 20
PODS, NODES_EACH, PODS_EACH, PENDING = "/api/v1/namespaces/default/pods", 6, 14, 5
OFFERED = {instance_type["name"]: instance_type for instance_type in ready_types()}


STAGES = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector: {matchExpressions: [{key: .status.phase, operator: NotIn, values: [Running]}]}
  next: {statusTemplate: "phase: Running"}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      startTime: {{ $now | Quote }}
      conditions: [{type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}]
"""


@contextlib.contextmanager
def kwok(plane: ControlPlane) -> Iterator[None]:
    """Fake kubelets: nodes are ready, and pods that are bound run."""
    folder = plane.folder / "kwok"
    folder.mkdir(exist_ok=True)
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig(plane, "admin")))
    command = [str(plane.assets / "kwok"), "--kubeconfig", str(folder / "kubeconfig"), "--manage-all-nodes"]
    (folder / "stages.yaml").write_text(STAGES)
    with running([*command, "--config", str(folder / "stages.yaml")], folder / "log"):
        yield


def pool(random: Random, name: str) -> Json:
    disruption = {
        "consolidationPolicy": random.choice(["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]),
        "consolidateAfter": random.choice(["0s", "0s", "1h"]),
        "budgets": [{"nodes": random.choice(["0", "1", "50%", "100%"])}],
    }
    kinds = random.choice([["on-demand"], ["spot"], ["on-demand", "spot"]])
    requirements = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": kinds}]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"disruption": disruption, "template": {"spec": {"requirements": requirements}}},
    }


def node(random: Random, name: str, pools: list[str]) -> Json:
    sold = OFFERED[f"{random.choice(list(FAMILIES))}-{random.choice(SIZES[:3])}"]
    ready = dict.fromkeys(("karpenter.sh/registered", "karpenter.sh/initialized"), "true")
    pool_labels = {"karpenter.sh/nodepool": random.choice(pools), "karpenter.sh/capacity-type": "on-demand"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": random.choice(ZONES),
        "node.kubernetes.io/instance-type": sold["name"],
        **(pool_labels | ready if random.random() < 0.8 else {}),
    }
    amounts = sold["capacity"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"kwok://{name}"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(random: Random, name: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    requests = {"cpu": random.choice(["100m", "500m", "1500m", "3"]), "memory": random.choice(["128Mi", "1Gi", "4Gi"])}
    annotations = {"karpenter.sh/do-not-disrupt": "true"} if random.random() < 0.1 else {}
    spec: Json = {"containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}]}
    if random.random() < 0.2:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": random.choice(ZONES)}
    if random.random() < 0.2:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    metadata = {"name": name, "labels": {"app": "web"}, "ownerReferences": [owner], "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def set_up(plane: ControlPlane, random: Random, pools: list[str]) -> None:
    """A cluster; every bound pod runs when this returns."""

    def emptied() -> bool:
        # What kwok wrote to a pod at the same moment can keep it from being deleted with the others.
        plane.wipe()
        return not plane.call("GET", PODS)["items"]

    wait_until(emptied, "the pods to be gone")
    nodes = [node(random, f"node-{number}", pools) for number in range(NODES_EACH)]
    plane.create_nodes(nodes)
    plane.create_all(PODS, [pod(random, f"pod-{number:02}") for number in range(PODS_EACH + PENDING)])
    for number in range(PODS_EACH):
        plane.bind("default", f"pod-{number:02}", random.choice(nodes)["metadata"]["name"])

    def all_run() -> bool:
        phases = [item["status"].get("phase") for item in plane.call("GET", PODS)["items"]]
        return phases.count("Running") == PODS_EACH

    wait_until(all_run, "the bound pods to run")


def test_the_engine_decides_as_karpenter_about_what_the_api_server_returned(
    control_plane: ControlPlane, karpenter: Path
) -> None:
    scenarios = []
    with kwok(control_plane), Client.open(secret(control_plane)) as client:
        for number in range(COUNT):
            random = Random(f"{SEED}/{number}")
            names = ["one", "two"][: random.randint(1, 2)]
            pools = [pool(random, name) for name in names]
            set_up(control_plane, random, names)
            collections = reader.cluster_read(client, silent)
            objects = [item for collection in collections.values() for item in collection.objects.values()]
            now = datetime.now(UTC).replace(microsecond=0)
            document = read_document({"apiVersion": VERSION, "kind": KIND, "instanceTypes": READY, "nodePools": pools})
            scenarios.append(
                {
                    "name": f"live-{SEED}-{number}",
                    "instanceTypes": ready_types(),
                    "nodePools": pools,
                    "objects": list(
                        NodeAdopter(document, now.timestamp(), random.choice(["", names[0]])).adopt_objects(objects)
                    ),
                    "now": now.isoformat(),
                    "disrupt": True,
                }
            )
    compared, commands = 0, 0
    for scenario, theirs in zip(scenarios, reference(karpenter, scenarios), strict=True):
        ours, same = agreeing(scenario, theirs)
        alternatives_left_off = theirs.get("alternativesLeftOff") or ours.get("alternativesLeftOff")
        assert same or alternatives_left_off, (scenario["name"], ours, theirs)
        compared += same
        commands += "command" in theirs.get("disruption", {})
    assert compared >= COUNT // 2, "too much is left to chance to compare anything"
    assert commands, "Karpenter consolidates nothing in any of them"
