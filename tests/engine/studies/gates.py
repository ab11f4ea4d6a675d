"""A small cluster on which policies differ: for tests of verdicts."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from tests.engine.builders import CONFIGURATION, node, pod
from tests.support.seed_runs import PACKED as PACKED  # as the other tests say it


def cluster(nodes: int = 4, pods: int = 6, *more: Json) -> list[Json]:
    """Nodes of 4 CPU in two zones, and pods of 500 milli-CPU that ran on the first of them."""
    node_objects = [
        node(f"node-{number}", labels={"topology.kubernetes.io/zone": f"z{number % 2}"}) for number in range(nodes)
    ]
    running_pods = [
        pod(f"web-{number}", on="node-0", requests={"cpu": "500m", "memory": "1Gi"}) for number in range(pods)
    ]
    for number, raw in enumerate([*node_objects, *running_pods]):
        raw["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number % 60:02d}Z"
        raw["metadata"]["uid"] = f"uid-{number}"
    return [*node_objects, *running_pods, *more]


def renamed(name: str = "other") -> Json:
    """A policy whose only profile is another scheduler's."""
    return {**CONFIGURATION, "profiles": [{"schedulerName": name}]}
