"""A cluster with groups of pods: one is placed, one fits only once others have gone, the others wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

NAME = "grouped"
ZONE = "topology.kubernetes.io/zone"


def group(name: str, min_count: int, *, topology: str = "", priority: int = 0, namespace: str = "default") -> Json:
    constraints = {"topology": [{"key": topology}]} if topology else {}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": min_count}},
            "schedulingConstraints": constraints,
            "disruptionMode": {"single": {}},
            "priority": priority,
        },
    }


def objects(rows: int) -> list[Json]:
    """Six nodes in three zones, the group ``gang`` that waits for room in one of them, and ``rows`` more groups."""
    from tests.support.seed import node, pod

    def member(name: str, group_name: str, bound_to: str = "", *, cpu: str = "100m", priority: int = 0) -> Json:
        document = pod(name, cpu=cpu, bound_to=bound_to)
        document["spec"] |= {"schedulingGroup": {"podGroupName": group_name}, "priority": priority}
        return document

    nodes = [node("x" * length + str(number)) for length in (4, 5, 6) for number in range(2)]
    low = [
        pod(f"low-{number}", cpu="5", bound_to=node_document["metadata"]["name"])
        for number, node_document in enumerate(nodes)
    ]
    documents = [*nodes, *low, group("gang", 2, topology=ZONE, priority=10)]
    documents += [member(f"gang-{number}", "gang", cpu="4", priority=10) for number in range(2)]
    documents += [group("there", 1), member("there-0", "there", "xxxx0")]
    for number in range(rows):
        documents += [group(f"waits-{number:02d}", 8), member(f"waits-{number:02d}-0", f"waits-{number:02d}")]
    return documents


def everything(rows: int, user: User) -> str:
    """Import the cluster; its name."""
    from tests.support.seed import imported

    imported(NAME, objects(rows), user)
    return NAME
