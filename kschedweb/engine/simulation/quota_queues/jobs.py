"""Jobs that queue for quota: their pods, and the Workloads that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queueing.workloads.labels import (
    API_VERSION,
    GROUP_COUNT_ANNOTATION,
    GROUP_LABEL,
    MIN_PARALLELISM_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
)
from kschedweb.engine.queueing.workloads.topology_annotations import read_topology_request
from kschedweb.engine.values import dataclass

WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
# Kinds whose label queues their pods: all of a Job together, each pod of a Deployment for itself.
_JOB, _DEPLOYMENT, _REPLICA_SET = "Job", "Deployment", "ReplicaSet"

# Namespace, kind and name.
OwnerKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class QueueLabels:
    """The labels of an owner of pods that Kueue reads."""

    queue: str
    priority_class: str = ""
    # With how many pods a Job may run at least; None for all.
    least_pods: int | None = None


def find_labelled_owners(objects: Iterable[Json]) -> dict[OwnerKey, QueueLabels]:
    """Return the Jobs, and the ReplicaSets of Deployments, that have a queue of their own."""
    labelled: dict[OwnerKey, QueueLabels] = {}
    replica_sets: list[tuple[OwnerKey, OwnerKey]] = []
    for raw in objects:
        kind = str(raw.get("kind"))
        if kind not in (_JOB, _DEPLOYMENT, _REPLICA_SET):
            continue
        metadata = get_mapping(raw, "metadata")
        key = (str(metadata.get("namespace") or "default"), kind, str(metadata.get("name")))
        if kind == _REPLICA_SET:
            owners = metadata.get("ownerReferences") or ()
            replica_sets += [(key, (key[0], str(owner.get("kind")), str(owner.get("name")))) for owner in owners]
        elif (labels := _read_labels(metadata)).queue:
            labelled[key] = labels
    labelled |= {key: labelled[owner] for key, owner in replica_sets if owner in labelled}
    return labelled


def _read_labels(metadata: Json) -> QueueLabels:
    labels = get_mapping(metadata, "labels", "metadata.")
    least_text = str(get_mapping(metadata, "annotations", "metadata.").get(MIN_PARALLELISM_ANNOTATION) or "")
    return QueueLabels(
        str(labels.get(QUEUE_LABEL) or ""),
        str(labels.get(PRIORITY_CLASS_LABEL) or ""),
        int(least_text) if least_text.isdigit() else None,
    )


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """The identity of the job that a pod is of."""

    namespace: str
    name: str
    labels: QueueLabels
    # How many pods must be there before it queues; 0 for those that come together.
    count: int = 0


def identify_job(pod: Pod, owners: Mapping[OwnerKey, QueueLabels], queue_label: str = "") -> JobIdentity | None:
    """Return the job that queues for ``pod``; None if it does not queue.

    The value of ``queue_label``, in lower case, is the LocalQueue of a pod that names none.
    """
    queue = pod.labels.get(QUEUE_LABEL) or pod.labels.get(queue_label, "").lower()
    own_labels = QueueLabels(queue, pod.labels.get(PRIORITY_CLASS_LABEL, ""))
    kind, owner = (pod.controller[1], pod.controller[2]) if pod.controller is not None else ("", "")
    labels = owners.get((pod.namespace, kind, owner), own_labels)
    if not labels.queue:
        return None
    if group := pod.labels.get(GROUP_LABEL):
        annotations = get_mapping(get_mapping(pod.raw, "metadata"), "annotations", "metadata.")
        count = str(annotations.get(GROUP_COUNT_ANNOTATION) or "")
        return JobIdentity(pod.namespace, group, labels, int(count) if count.isdigit() else 0)
    if pod.scheduling_group:
        return JobIdentity(pod.namespace, f"podgroup-{pod.scheduling_group.partition('/')[2]}", labels)
    if kind == _JOB:
        return JobIdentity(pod.namespace, f"job-{owner}", labels)
    return JobIdentity(pod.namespace, f"pod-{pod.name}", labels)


@dataclass(slots=True, eq=False)
class JobPodSet:
    """The pods of a job that are alike; keys of pods are in the order in which they came."""

    name: str
    count: int
    # How many of its pods have quota.
    limit: int = 0
    # Pods that are held by the gate, and those that the scheduler may place or has placed.
    gated: dict[str, None] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)
    # Pods that were evicted or deleted, and still are on their nodes.
    leaving: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    # Pods that have ended.
    ended: int = 0

    @property
    def remaining(self) -> int:
        """The number of its pods that have not ended."""
        return max(0, self.count - self.ended)

    def discard(self, key: str) -> None:
        """Forget a pod."""
        self.gated.pop(key, None)
        self.open.pop(key, None)
        self.leaving.discard(key)
        self.bound.discard(key)


@dataclass(eq=False)
class QueuedJob:
    """A job in a simulation."""

    # Its Workload as "namespace/name", and that without a number for those of one name.
    key: str
    base: str
    priority: int
    pod_sets: list[JobPodSet]
    has_quota: bool = False
    is_stopping: bool = False
    is_running: bool = False
    # Why Kueue evicts it last.
    reason: str = ""
    # Seconds that each of its pods runs, by the key that a pod and its replacements share.
    durations: dict[str, float | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(pod_set.count for pod_set in self.pod_sets)

    @property
    def has_pods(self) -> bool:
        return any(pod_set.gated or pod_set.open or pod_set.leaving for pod_set in self.pod_sets)

    @property
    def has_stopped(self) -> bool:
        """True if none of its pods is on a node, or may be placed."""
        return not any(pod_set.open or pod_set.leaving for pod_set in self.pod_sets)

    @property
    def is_placed(self) -> bool:
        """True if all pods that it has quota for are on nodes."""
        return all(
            len(pod_set.bound) >= min(pod_set.limit, pod_set.remaining) and pod_set.bound >= pod_set.open.keys()
            for pod_set in self.pod_sets
        )

    def choose_pod_set(self) -> JobPodSet:
        """Return the pod set to which a pod of an unknown one is counted: the first that lacks one."""
        lacking = (pod_set for pod_set in self.pod_sets if len(pod_set.gated) + len(pod_set.open) < pod_set.remaining)
        return next(lacking, self.pod_sets[0])


def split_alike(pods: Iterable[Pod]) -> list[list[Pod]]:
    """Return the pods of each shape, in the order of their first."""
    by_template: dict[int, list[Pod]] = {}
    for pod in pods:
        by_template.setdefault(pod.template, []).append(pod)
    return list(by_template.values())


def build_workload(
    name: str, identity: JobIdentity, groups: list[list[Pod]], priority: int, created: float, gate: str
) -> Json:
    """Return the Workload of a job with these pods, those of a shape in a pod set each; ``created`` is in seconds."""
    priority_class = identity.labels.priority_class
    spec: Json = {
        "queueName": identity.labels.queue,
        "active": True,
        "podSets": [
            _build_pod_set(pod_set_name(place, groups), pods, identity, gate) for place, pods in enumerate(groups)
        ],
    }
    if priority_class:
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": priority_class}
        spec["priorityClassRef"] = reference
    else:
        spec["priority"] = priority
    moment = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": name, "namespace": identity.namespace, "creationTimestamp": moment}
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def pod_set_name(place: int, groups: list[list[Pod]]) -> str:
    return "main" if len(groups) == 1 else f"role-{place + 1}"


def _build_pod_set(name: str, pods: list[Pod], identity: JobIdentity, gate: str) -> Json:
    raw = pods[0].raw
    spec = {key: value for key, value in get_mapping(raw, "spec").items() if key != "nodeName"}
    gates = [entry for entry in spec.pop("schedulingGates", None) or () if entry.get("name") != gate]
    if gates:
        spec["schedulingGates"] = gates
    pod_set: Json = {"name": name, "count": len(pods), "template": {"metadata": {}, "spec": spec}}
    least_pods = identity.labels.least_pods
    if least_pods is not None and 0 < least_pods < len(pods):
        pod_set["minCount"] = least_pods
    if request := read_topology_request(raw):
        pod_set["topologyRequest"] = request
    return pod_set


class WorkloadLinks:
    """The Workloads of a cluster by what their pods name: themselves, and their owners."""

    def __init__(self, workloads: Iterable[Json]) -> None:
        self._by_owner: dict[OwnerKey, str] = {}
        self._keys: set[str] = set()
        for raw in workloads:
            metadata = get_mapping(raw, "metadata")
            namespace = str(metadata.get("namespace") or "default")
            key = f"{namespace}/{metadata.get('name')}"
            self._keys.add(key)
            for kind, name in _list_owners(metadata):
                self._by_owner[namespace, kind, name] = key

    def find_workload(self, pod: Pod) -> str:
        """Return the key of the Workload that stands for ``pod``; "" for none."""
        if not self._keys:
            return ""
        metadata = get_mapping(pod.raw, "metadata")
        try:
            annotations = get_string_map(metadata, "annotations", "metadata.")
        except ObjectError:
            annotations = {}
        for name in (annotations.get(WORKLOAD_ANNOTATION), pod.labels.get(GROUP_LABEL)):
            if f"{pod.namespace}/{name}" in self._keys:
                return f"{pod.namespace}/{name}"
        owners = [("Pod", pod.name), *_list_owners(metadata)]
        named = (self._by_owner.get((pod.namespace, kind, name)) for kind, name in owners)
        return next((key for key in named if key is not None), "")


def _list_owners(metadata: Json) -> Iterator[tuple[str, str]]:
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict):
            yield str(reference.get("kind")), str(reference.get("name"))
