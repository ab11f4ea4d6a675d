"""A group of pods that are scheduled together: PodGroup of scheduling.k8s.io/v1beta1, as kube-scheduler 1.37 has it."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.objects.access import Json, ObjectError, integer, mapping, objects, text
from kschedweb.engine.values import dataclass

API, VERSION = "scheduling.k8s.io", "v1beta1"
POD_GROUP, COMPOSITE, WORKLOAD = "PodGroup", "CompositePodGroup", "Workload"
SCHEDULED = "PodGroupInitiallyScheduled"
GENERIC, BY_TOPOLOGY = "GenericWorkload", "TopologyAwareWorkloadScheduling"
UNREAD = {
    "parentCompositePodGroupName": "CompositePodGroup",
    "preemptionPolicy": "PodGroupPreemptionPolicy",
    "resourceClaims": "DRAWorkloadResourceClaims",
}


def gates(topology_key: str) -> tuple[str, ...]:
    """The feature gates without which kube-scheduler does not schedule a group with this topology key as it asks."""
    return (GENERIC, BY_TOPOLOGY) if topology_key else (GENERIC,)


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    """One group. ``min_count`` is how many of its pods must have a node together, ``None`` where it is no gang.

    ``topology_key`` is the node label whose value all of its pods share, "" for none. ``disrupted_whole``: whoever
    evicts one of its pods evicts all. ``scheduled``: it was once, and is never said not to be again.
    """

    namespace: str
    name: str
    uid: str
    priority: int
    min_count: int | None
    topology_key: str
    disrupted_whole: bool
    scheduled: bool
    raw: Json = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates without which kube-scheduler does not schedule it as it asks."""
        return gates(self.topology_key)

    @property
    def least(self) -> int:
        """How many pods must have a node for the group to count as placed."""
        return 1 if self.min_count is None else self.min_count

    @classmethod
    def read(cls, raw: Json) -> PodGroup:
        """Raises ObjectError where it cannot be understood, or asks for what is not simulated."""
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        for name, gate in UNREAD.items():
            if spec.get(name):
                raise ObjectError(f"spec.{name}: is not simulated (feature gate {gate})")
        policy = mapping(spec, "schedulingPolicy", "spec.")
        gang = policy.get("gang")
        topology = objects(mapping(spec, "schedulingConstraints", "spec."), "topology", "spec.schedulingConstraints.")
        conditions = objects(status, "conditions", "status.")
        namespace = text(metadata, "namespace", "metadata.") or "default"
        name = text(metadata, "name", "metadata.")
        path = "spec.schedulingPolicy."
        return cls(
            namespace=namespace,
            name=name,
            uid=text(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            priority=integer(spec, "priority", path="spec."),
            min_count=None if gang is None else integer(mapping(policy, "gang", path), "minCount", path=f"{path}gang."),
            topology_key=text(topology[0], "key", "spec.schedulingConstraints.topology[0].") if topology else "",
            disrupted_whole=mapping(spec, "disruptionMode", "spec.").get("all") is not None,
            scheduled=any(one.get("type") == SCHEDULED and one.get("status") == "True" for one in conditions),
            raw=raw,
        )


def is_group(raw: Json) -> bool:
    """Whether ``raw`` is a PodGroup of the form that is read."""
    return bool(raw.get("kind") == POD_GROUP and raw.get("apiVersion") == f"{API}/{VERSION}")


def grouping(kind: str, raw: Json) -> bool:
    """Whether ``raw`` is a PodGroup of the form that is read.

    Raises ObjectError for kube-scheduler's other forms of groups. What other projects call a PodGroup is none of ours.
    """
    if kind not in (POD_GROUP, COMPOSITE, WORKLOAD):
        return False
    api, _, version = text(raw, "apiVersion").partition("/")
    if api != API:
        return False
    if kind == COMPOSITE:
        raise ObjectError("groups of groups are not simulated (feature gate CompositePodGroup)")
    if version != VERSION:
        raise ObjectError(
            f"is of {api}/{version}, which is not simulated: groups are read as {API}/{VERSION}, which came with "
            "kube-scheduler 1.37"
        )
    return kind == POD_GROUP
