"""Groups of pods that are scheduled together: PodGroup of scheduling.k8s.io/v1beta1, as in kube-scheduler 1.37."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_integer, get_mapping, get_objects, get_string
from kschedweb.engine.values import dataclass

API, VERSION = "scheduling.k8s.io", "v1beta1"
POD_GROUP, COMPOSITE, WORKLOAD = "PodGroup", "CompositePodGroup", "Workload"
SCHEDULED = "PodGroupInitiallyScheduled"
# Feature gates.
GENERIC, BY_TOPOLOGY = "GenericWorkload", "TopologyAwareWorkloadScheduling"
# Fields that are not simulated, with their feature gates.
UNREAD = {
    "parentCompositePodGroupName": "CompositePodGroup",
    "resourceClaims": "DRAWorkloadResourceClaims",
}


def list_required_gates(topology_key: str) -> tuple[str, ...]:
    """Return the feature gates that kube-scheduler needs for a group with this topology key."""
    return (GENERIC, BY_TOPOLOGY) if topology_key else (GENERIC,)


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    """A group of pods."""

    namespace: str
    name: str
    uid: str
    priority: int
    # The number of pods that must get a node together; None if it is no gang.
    min_count: int | None
    # The node label whose value all its pods share; "" for none.
    topology_key: str
    # True if an eviction of one pod evicts all.
    disrupted_whole: bool
    # Its own preemption policy, "" if it has none: read since 1.38.
    preemption_policy: str
    # True if it was scheduled once; it never becomes False again.
    scheduled: bool
    raw: Json = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates that kube-scheduler needs for it."""
        return list_required_gates(self.topology_key)

    @property
    def min_placed(self) -> int:
        """The number of pods on nodes from which on the group counts as placed."""
        return 1 if self.min_count is None else self.min_count

    @classmethod
    def from_json(cls, raw: Json) -> PodGroup:
        """Read a PodGroup; raise ObjectError if it cannot be understood or simulated."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        for name, gate in UNREAD.items():
            if spec.get(name):
                raise ObjectError(f"spec.{name}: is not simulated (feature gate {gate})")
        policy = get_mapping(spec, "schedulingPolicy", "spec.")
        gang = policy.get("gang")
        topology = get_objects(
            get_mapping(spec, "schedulingConstraints", "spec."), "topology", "spec.schedulingConstraints."
        )
        conditions = get_objects(status, "conditions", "status.")
        namespace = get_string(metadata, "namespace", "metadata.") or "default"
        name = get_string(metadata, "name", "metadata.")
        path = "spec.schedulingPolicy."
        return cls(
            namespace=namespace,
            name=name,
            uid=get_string(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            priority=get_integer(spec, "priority", path="spec."),
            min_count=None
            if gang is None
            else get_integer(get_mapping(policy, "gang", path), "minCount", path=f"{path}gang."),
            topology_key=get_string(topology[0], "key", "spec.schedulingConstraints.topology[0].") if topology else "",
            disrupted_whole=get_mapping(spec, "disruptionMode", "spec.").get("all") is not None,
            preemption_policy=get_string(spec, "preemptionPolicy", "spec."),
            scheduled=any(
                condition.get("type") == SCHEDULED and condition.get("status") == "True" for condition in conditions
            ),
            raw=raw,
        )


def is_group(raw: Json) -> bool:
    """Return True if ``raw`` is a PodGroup of the version that is read."""
    return bool(raw.get("kind") == POD_GROUP and raw.get("apiVersion") == f"{API}/{VERSION}")


def is_readable_group(kind: str, raw: Json) -> bool:
    """Return True if ``raw`` is a PodGroup of the version that is read.

    Raise ObjectError for kube-scheduler's other forms of groups. PodGroups of other projects are ignored.
    """
    if kind not in (POD_GROUP, COMPOSITE, WORKLOAD):
        return False
    api, _, version = get_string(raw, "apiVersion").partition("/")
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
