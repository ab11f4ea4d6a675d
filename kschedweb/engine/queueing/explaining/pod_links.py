"""Links from pods to the Workloads they belong to."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.labels import GROUP_LABEL

GATE = "kueue.x-k8s.io/admission"
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
GATES = frozenset({GATE, TOPOLOGY_GATE})
_WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"


def find_pod_workload(workloads: Iterable[Json], pod: Json) -> str:
    """Return the name of the Workload that stands for ``pod``, of those of its namespace; "" if there is none.

    The pod names it, is in a group of that name, or is, or has, the owner that the Workload has.
    """
    metadata = pod.get("metadata") or {}
    names = [
        (metadata.get("annotations") or {}).get(_WORKLOAD_ANNOTATION),
        (metadata.get("labels") or {}).get(GROUP_LABEL),
    ]
    owners = {("Pod", metadata.get("name"))} | set(_list_owners(metadata))
    for raw in workloads:
        workload = raw.get("metadata") or {}
        if workload.get("namespace") != metadata.get("namespace"):
            continue
        if workload.get("name") in names or owners.intersection(_list_owners(workload)):
            return str(workload.get("name"))
    return ""


def _list_owners(metadata: Json) -> list[tuple[object, object]]:
    references = metadata.get("ownerReferences")
    return [
        (reference.get("kind"), reference.get("name"))
        for reference in (references if isinstance(references, list) else ())
        if isinstance(reference, dict)
    ]
