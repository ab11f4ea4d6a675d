"""Groups of pods that are scheduled together: PodGroup and CompositePodGroup of scheduling.k8s.io/v1beta1.

The first came with kube-scheduler 1.37, the second, a group of groups, with 1.38.
"""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_integer, get_mapping, get_objects, get_string
from kschedweb.engine.objects.times import parse_time
from kschedweb.engine.values import dataclass

API, VERSION = "scheduling.k8s.io", "v1beta1"
POD_GROUP, COMPOSITE, WORKLOAD = "PodGroup", "CompositePodGroup", "Workload"
# The condition of a group that tells of its last try, by its kind.
SCHEDULED = "PodGroupInitiallyScheduled"
CONDITIONS = {POD_GROUP: SCHEDULED, COMPOSITE: "CompositePodGroupInitiallyScheduled"}
# Feature gates.
GENERIC, BY_TOPOLOGY = "GenericWorkload", "TopologyAwareWorkloadScheduling"
# Fields that are not simulated, with their feature gates.
UNREAD = {"resourceClaims": "DRAWorkloadResourceClaims"}


def list_required_gates(topology_key: str) -> tuple[str, ...]:
    """Return the feature gates that kube-scheduler needs for a group with this topology key."""
    return (GENERIC, BY_TOPOLOGY) if topology_key else (GENERIC,)


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    """A group of pods, or a composite group, whose members are groups."""

    # ``POD_GROUP`` or ``COMPOSITE``.
    kind: str
    namespace: str
    name: str
    uid: str
    priority: int
    # The number of pods that must get a node together, or of groups that must be placed; None if it is no gang.
    min_count: int | None
    # True if its policy is basic.
    is_basic: bool
    # The key of the composite group that it is part of, "" for none. Read since 1.38, with CompositePodGroup on.
    parent: str
    # The Workload that it is made for, "" for none.
    workload: str
    # When it was created, in seconds of the epoch; 0 if it does not say.
    created: float
    # The node label whose value all its pods share; "" for none.
    topology_key: str
    # True if an eviction of one pod evicts all.
    disrupted_whole: bool
    # True if it says that each pod may be evicted alone.
    disrupted_singly: bool
    # Its own preemption policy, "" if it has none: read since 1.38.
    preemption_policy: str
    # True if it was scheduled once; it never becomes False again.
    scheduled: bool
    raw: Json = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_composite(self) -> bool:
        """True if its members are groups."""
        return self.kind == COMPOSITE

    @property
    def entity(self) -> str:
        """Its key with its kind, as kube-scheduler writes it: groups of both kinds may have one name."""
        return f"{self.kind.lower()}/{self.key}"

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates that kube-scheduler needs for it: for a tree of groups one that is named as its kind is."""
        if self.parent or self.is_composite:
            return (GENERIC, BY_TOPOLOGY, COMPOSITE)
        return list_required_gates(self.topology_key)

    @property
    def min_placed(self) -> int:
        """The number of pods on nodes, or of placed groups, from which on the group counts as placed."""
        return 1 if self.min_count is None else self.min_count

    @classmethod
    def from_json(cls, raw: Json) -> PodGroup:
        """Read a PodGroup or a CompositePodGroup; raise ObjectError if it cannot be understood or simulated."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        for name, gate in UNREAD.items():
            if spec.get(name):
                raise ObjectError(f"spec.{name}: is not simulated (feature gate {gate})")
        kind = COMPOSITE if raw.get("kind") == COMPOSITE else POD_GROUP
        policy = get_mapping(spec, "schedulingPolicy", "spec.")
        disruption = get_mapping(spec, "disruptionMode", "spec.")
        topology = get_objects(
            get_mapping(spec, "schedulingConstraints", "spec."), "topology", "spec.schedulingConstraints."
        )
        conditions = get_objects(status, "conditions", "status.")
        namespace = get_string(metadata, "namespace", "metadata.") or "default"
        name = get_string(metadata, "name", "metadata.")
        parent = get_string(spec, "parentCompositePodGroupName", "spec.")
        return cls(
            kind=kind,
            namespace=namespace,
            name=name,
            uid=get_string(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            priority=get_integer(spec, "priority", path="spec."),
            min_count=_read_min_count(policy, kind),
            is_basic=policy.get("basic") is not None,
            parent=f"{namespace}/{parent}" if parent else "",
            workload=get_string(get_mapping(spec, "workloadRef", "spec."), "workloadName", "spec.workloadRef."),
            created=parse_time(metadata.get("creationTimestamp")) or 0.0,
            topology_key=get_string(topology[0], "key", "spec.schedulingConstraints.topology[0].") if topology else "",
            disrupted_whole=disruption.get("all") is not None,
            disrupted_singly=disruption.get("single") is not None,
            preemption_policy=get_string(spec, "preemptionPolicy", "spec."),
            scheduled=any(
                condition.get("type") == CONDITIONS[kind] and condition.get("status") == "True"
                for condition in conditions
            ),
            raw=raw,
        )


def _read_min_count(policy: Json, kind: str) -> int | None:
    path = "spec.schedulingPolicy."
    if policy.get("gang") is None:
        return None
    name = "minGroupCount" if kind == COMPOSITE else "minCount"
    return get_integer(get_mapping(policy, "gang", path), name, path=f"{path}gang.")


def is_group(raw: Json) -> bool:
    """Return True if ``raw`` is a PodGroup or CompositePodGroup of the version that is read."""
    return raw.get("kind") in (POD_GROUP, COMPOSITE) and raw.get("apiVersion") == f"{API}/{VERSION}"


def is_readable_group(kind: str, raw: Json) -> bool:
    """Return True if ``raw`` is a PodGroup or CompositePodGroup of the version that is read.

    Raise ObjectError for kube-scheduler's other forms of groups. PodGroups of other projects are ignored.
    """
    if kind not in (POD_GROUP, COMPOSITE, WORKLOAD):
        return False
    api, _, version = get_string(raw, "apiVersion").partition("/")
    if api != API:
        return False
    if version != VERSION:
        groups, release = ("groups of groups", "1.38") if kind == COMPOSITE else ("groups", "1.37")
        raise ObjectError(
            f"is of {api}/{version}, which is not simulated: {groups} are read as {API}/{VERSION}, which came with "
            f"kube-scheduler {release}"
        )
    return kind in (POD_GROUP, COMPOSITE)
