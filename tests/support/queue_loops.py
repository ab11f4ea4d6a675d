"""Clusters in which Kueue 0.19.2 evicts a workload again and again for one that never gets the room.

    $KUEUE -runs 1 < scenario.jsonl

gives the same evictions: `tests/conformance/test_queueing_live.py` asks it.
"""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVOR = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}


def cohort(name: str) -> Json:
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": "all"}}


def queue(name: str, cohort: str, cpu: str, **spec: Any) -> list[Json]:
    """A ClusterQueue, and its LocalQueue."""
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    body = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        **spec,
    }
    local = {"name": name, "namespace": "default"}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}},
    ]


def workload(name: str, queue: str, count: int, cpu: str, priority: int = 0, minute: int = 0) -> Json:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    moment = f"2026-01-15T11:{minute:02d}:00Z"
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": moment},
        "spec": {"queueName": queue, "active": True, "priority": priority, "podSets": [pod_set]},
    }


def scenario(name: str, objects: list[Json], *, fair: bool) -> Json:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    listed = [namespace, FLAVOR, cohort("near"), cohort("far"), *objects]
    return {"name": name, "objects": listed, "options": {"fairSharing": fair}, "cycles": 20}


# big may evict small, which borrows; but small borrows from a nearer cohort, and so it is processed first.
BORROWING_QUEUES = [
    *queue(
        "owner",
        "near",
        "2",
        preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": {"policy": "LowerPriority"}},
    ),
    *queue("neighbour", "near", "2"),
    *queue("lender", "far", "8"),
]
BORROWING_LOOP = scenario(
    "borrowing-loop",
    [*BORROWING_QUEUES, workload("big", "owner", 2, "5", 10), workload("small", "neighbour", 2, "2")],
    fair=False,
)
# newer may evict wide, whose share is larger; once wide has gone, it is processed first.
SHARE_LOOP = scenario(
    "share-loop",
    [
        *queue("a", "far", "2"),
        *queue("b", "near", "2"),
        *queue("c", "near", "6", preemption={"reclaimWithinCohort": "Any"}, fairSharing={"weight": "3"}),
        *queue("d", "near", "6", preemption={"reclaimWithinCohort": "Any"}),
        workload("newer", "d", 1, "1", minute=53),
        workload("runs-1", "d", 2, "3", 10, minute=59),
        workload("waits", "c", 4, "3", 20, minute=58),
        workload("wide", "a", 1, "5", minute=56),
        workload("runs-2", "b", 1, "3", 20, minute=53),
        workload("runs-3", "d", 2, "1", 10, minute=51),
    ],
    fair=True,
)
