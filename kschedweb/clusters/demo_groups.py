"""Groups of pods in the demo cluster: a training job with one pod left to place, and a join that is not complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kschedweb.engine.json_types import Json

API_VERSION = "scheduling.k8s.io/v1beta1"
KIND = "PodGroup"


@dataclass(frozen=True)
class DemoGroup:
    """A PodGroup, and the beginnings of the names of its pods, which the demo has anyway."""

    namespace: str
    name: str
    min_count: int
    stems: tuple[str, ...]


GROUPS = (
    DemoGroup("ml", "training", 3, ("trainer-",)),
    DemoGroup("analytics", "nightly-join", 3, ("wide-join", "graph-loader")),
)


def add_groups(add_object: Callable[..., Json], pods: Iterable[Json]) -> None:
    """Add the PodGroups with ``add_object``, and name them in their ``pods``."""
    for group in GROUPS:
        spec = {"schedulingPolicy": {"gang": {"minCount": group.min_count}}, "disruptionMode": {"single": {}}}
        add_object(API_VERSION, KIND, group.name, group.namespace, spec={**spec, "priority": 0})
    for pod in pods:
        for group in GROUPS:
            metadata = pod["metadata"]
            if metadata["namespace"] == group.namespace and metadata["name"].startswith(group.stems):
                pod["spec"]["schedulingGroup"] = {"podGroupName": group.name}
