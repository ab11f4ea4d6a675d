"""A cluster of thousands of nodes as large sites have them: zones, node pools, workloads, pods that wait."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from tests.support import seed

ZONES, POOLS, WORKLOADS, NAMESPACES = 3, 12, 800, 40
SIZES = (("16", "64Gi"), ("32", "128Gi"), ("64", "256Gi"))
WAITS = 100  # of so many pods one is pending; of three of those, one asks for more than any node has


def objects(nodes: int, pods: int) -> Iterator[Json]:
    """``nodes`` nodes in pools of three sizes, a pool in twelve tainted, and ``pods`` pods of 800 workloads."""
    for number in range(NAMESPACES):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{number:02d}"}}
    yield from map(_node, range(nodes))
    for number in range(pods):
        yield _pod(number, nodes)


def waiting(number: int) -> str:
    """The key of the pending pod that is number ``number`` of them; each third fits nowhere."""
    at = number * WAITS
    return f"team-{at % WORKLOADS % NAMESPACES:02d}/{_name(at)}"


def _node(number: int) -> Json:
    name, pool = f"node-{number:05d}", number % POOLS
    cpu, memory = SIZES[pool % len(SIZES)]
    document = seed.node(name, cpu=cpu, memory=memory)
    document["metadata"]["labels"] |= {
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
        "topology.kubernetes.io/region": "region-1",
        "node.kubernetes.io/instance-type": f"m{cpu}",
        "pool": f"pool-{pool:02d}",
        "rack": f"rack-{number % 60:02d}",
    }
    if pool == POOLS - 1:
        document["spec"] = {"taints": [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]}
    return document


def _pod(number: int, nodes: int) -> Json:
    workload, turn = number % WORKLOADS, number // WAITS
    waits = not number % WAITS
    # None of them stands on a tainted node.
    row = number * 7 % nodes
    row -= row % POOLS == POOLS - 1
    document = seed.pod(
        _name(number),
        cpu="100" if waits and not turn % 3 else f"{100 + 50 * (workload % 9)}m",
        memory=f"{256 << workload % 3}Mi",
        bound_to="" if waits else f"node-{row:05d}",
    )
    name = f"app-{workload:03d}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-7f9c", "uid": name, "controller": True}
    document["metadata"] |= {"namespace": f"team-{workload % NAMESPACES:02d}", "ownerReferences": [owner]}
    document["metadata"]["labels"] = {"app": name, "tier": ("front", "back")[workload % 2], "pod-template-hash": "7f9c"}
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    document["spec"]["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": name}}}]
    return document


def _name(number: int) -> str:
    return f"app-{number % WORKLOADS:03d}-7f9c-{number:05d}"
