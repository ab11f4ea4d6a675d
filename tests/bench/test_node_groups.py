"""cluster-autoscaler with 2,000 half-empty nodes, each of which is tried, and with waiting pods."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from kschedweb.engine.config import Configuration, default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation.autoscaling import advice
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.actors.autoscaler.keys import CLUSTER_AUTOSCALER
from tests.bench.conftest import measure_milliseconds

NODES, PODS_EACH, PENDING, SECONDS = 2000, 10, 300, 60.0
ZONES = ("zone-a", "zone-b", "zone-c")
HAS = {"cpu": "8", "memory": "32Gi", "pods": "110"}


def rules() -> Configuration:
    configuration = load(default_document(), CURRENT).configuration
    assert configuration is not None
    return configuration


def node(number: int) -> Json:
    labels = {"kubernetes.io/hostname": f"node-{number}", "topology.kubernetes.io/zone": ZONES[number % 3]}
    labels["node.kubernetes.io/instance-type"] = f"type-{number % 2}"
    ready = [{"type": "Ready", "status": "True"}]
    metadata = {"name": f"node-{number}", "labels": labels}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": HAS, "capacity": HAS, "conditions": ready}}


def pod(number: int, app: int, cpu: str, on: str = "") -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{app}", "uid": f"app-{app}"}
    metadata: Json = {"name": f"pod-{number}", "namespace": "default", "labels": {"app": f"app-{app}"}}
    spec: Json = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "512Mi"}}}]}
    if app % 5 == 0:
        chosen = {"matchLabels": {"app": f"app-{app}"}}
        spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "labelSelector": chosen}
        spec["topologySpreadConstraints"] = [{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]
    metadata["ownerReferences"] = [{**owner, "controller": True}]
    status = {"phase": "Running" if on else "Pending"}
    return {"kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": on} if on else {}), "status": status}


def cluster(nodes: int) -> Snapshot:
    random, objects = Random(5), [node(number) for number in range(nodes)]
    for number in range(nodes * PODS_EACH):
        cpu = random.choice(["100m", "200m", "300m", "500m"])
        objects.append(pod(number, random.randrange(100), cpu, f"node-{number % nodes}"))
    objects += [pod(nodes * PODS_EACH + number, number % 10, "7") for number in range(PENDING)]
    return rules().release.build_snapshot(objects)


@pytest.mark.nightly
def test_two_thousand_nodes_of_groups(report: Callable[..., None]) -> None:
    snapshot, advices = cluster(NODES), list[Json]()
    autoscaler_settings = CLUSTER_AUTOSCALER.read({"nodeGroups": advice.derive_node_groups(snapshot.nodes)}, "", [])
    took = measure_milliseconds(lambda: advices.append(advice.advise_scaling(autoscaler_settings, snapshot, rules())))
    assert len(advices[0]["nodes"]) == NODES
    assert any(node_advice["moves"] for node_advice in advices[0]["nodes"])
    report(f"cluster-autoscaler, {NODES:,} nodes, {PENDING} pods wait", [took], SECONDS * 1000, "each node tried")
