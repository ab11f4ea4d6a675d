"""The live loop beside scheduling alone: what it costs to hear of pods, reserve, bind, and hear of them again."""

from __future__ import annotations

import json
from collections.abc import Callable

from kschedweb.clusters.kinds import reduce_object
from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration, default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import BindPod, LiveLoop
from kschedweb.engine.releases import load
from tests.bench.conftest import measure_milliseconds

NODES, PODS, NOW = 1000, 5000, 1_700_000_000.0
LIMIT = 4.0  # times what it takes to read the pods once and place them


def node(number: int) -> Json:
    name = f"node-{number:04d}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    metadata = {"name": name, "uid": name, "resourceVersion": "1", "labels": labels}
    return {"kind": "Node", "metadata": metadata, "spec": {}, "status": {"allocatable": amounts, "capacity": amounts}}


def pod(number: int) -> Json:
    """As the API server shows it: with the token's volume and what admission adds."""
    requests = {"cpu": "100m", "memory": "128Mi"}
    sources = [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "kube-root-ca.crt"}}]
    absent = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for why in ("not-ready", "unreachable")
    ]
    spec = {
        "containers": [{"name": "main", "image": "pause:3.10", "resources": {"requests": requests}}],
        "volumes": [{"name": f"kube-api-access-{number}", "projected": {"sources": sources}}],
        "tolerations": absent,
        "schedulerName": "default-scheduler",
        "priority": 0,
    }
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": str(number), "labels": {"app": "bench"}}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def live(configuration: Configuration, lines: list[bytes]) -> list[str]:
    """Every pod comes, is tried, bound, shown on its node, and runs; the nodes chosen."""
    loop, version, nodes = LiveLoop(configuration), 1, []
    loop.replace_objects("Node", map(node, range(NODES)), NOW)

    def hear(line: bytes, on: str = "", phase: str = "Pending") -> None:
        nonlocal version
        version += 1
        raw: Json = json.loads(line)
        reduce_object(raw)
        raw["metadata"]["resourceVersion"] = str(version)
        raw["status"] = {"phase": phase}
        if on:
            raw["spec"]["nodeName"] = on
        loop.apply_object("Pod", raw, NOW)

    for line in lines:
        hear(line)
        (bind,) = loop.step(NOW)
        assert isinstance(bind, BindPod)
        loop.on_bound(bind.pod.uid, NOW)
        hear(line, bind.node)
        hear(line, bind.node, "Running")
        nodes.append(bind.node)
    return nodes


def alone(configuration: Configuration, lines: list[bytes]) -> list[str]:
    """The same pods, read and placed one after the other."""
    scheduler = Scheduler(Snapshot.from_objects(map(node, range(NODES))), configuration)
    return [placed.node for placed in scheduler.schedule_pods(Pod.from_json(json.loads(line)) for line in lines)]


def test_a_live_loop_costs_little_more_than_scheduling(report: Callable[..., None]) -> None:
    configuration = load(default_document()).configuration
    assert configuration is not None
    lines = [json.dumps(pod(number)).encode() for number in range(PODS)]
    decisions: dict[str, list[str]] = {}
    reference = measure_milliseconds(lambda: decisions.update(alone=alone(configuration, lines)))
    milliseconds = measure_milliseconds(lambda: decisions.update(live=live(configuration, lines)))
    assert decisions["live"] == decisions["alone"]
    remark = (
        f"{PODS / milliseconds * 1000:,.0f} pods a second with three events each; {milliseconds / reference:.1f} times "
        f"what reading and placing them takes"
    )
    report(f"live loop, {NODES:,} nodes, {PODS:,} pods", [milliseconds], remark=remark)
    assert milliseconds <= LIMIT * reference
