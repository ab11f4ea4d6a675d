# ruff: noqa: E501 (tables read better in one line an entry)
"""The kinds of objects in a snapshot: their API paths, and what a decision lacks without them."""

from __future__ import annotations

from urllib.parse import quote

from kschedweb.engine.json_types import Json
from kschedweb.engine.marking import gettext_noop as _
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object."""

    name: str
    # "" is the core group.
    group: str
    version: str
    resource: str
    namespaced: bool
    # Completes the sentence "Without it, …".
    costs: str
    # True if a snapshot without it is useless.
    needed: bool = False
    # True if not every cluster serves it.
    optional: bool = False
    # The version that older clusters serve instead; "" for none.
    former_version: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def object_path(self, namespace: str, name: str) -> str:
        """Return the address of one object; ``namespace`` is "" for a kind without namespaces."""
        collection, _, _ = self.path.rpartition("/")
        namespace_path = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced else ""
        return f"{collection}{namespace_path}/{self.resource}/{quote(name, safe='')}"

    @property
    def path(self) -> str:
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{prefix}/{self.resource}"


KUEUE = "kueue.x-k8s.io"


def is_queue_gate(name: str) -> bool:
    """Return whether Kueue removes the scheduling gate ``name``."""
    return name.startswith(f"{KUEUE}/")


def _queue_kind(name: str, resource: str, namespaced: bool, costs: str) -> ObjectKind:
    return ObjectKind(name, KUEUE, "v1beta2", resource, namespaced, costs, optional=True, former_version="v1beta1")


KINDS: tuple[ObjectKind, ...] = (
    ObjectKind("Node", "", "v1", "nodes", False, _("there is nothing to schedule to"), needed=True),
    ObjectKind("Pod", "", "v1", "pods", True, _("there is nothing to schedule, and nodes look empty"), needed=True),
    ObjectKind("Namespace", "", "v1", "namespaces", False, _("affinity terms with a namespaceSelector match no namespace")),
    ObjectKind("PersistentVolume", "", "v1", "persistentvolumes", False, _("pods with bound volumes lose their volumes' node affinity and zone")),
    ObjectKind("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", True, _("pods with claims are shown as waiting for claims that are missing")),
    ObjectKind("StorageClass", "storage.k8s.io", "v1", "storageclasses", False, _("it is unknown which claims wait for their first pod")),
    ObjectKind("CSINode", "storage.k8s.io", "v1", "csinodes", False, _("limits on volumes per node are not applied")),
    ObjectKind("CSIDriver", "storage.k8s.io", "v1", "csidrivers", False, _("storage capacity is not taken into account")),
    ObjectKind("CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities", True, _("storage capacity is not taken into account")),
    ObjectKind("VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", False, _("attached volumes count only through their pods")),
    ObjectKind("Service", "", "v1", "services", True, _("default topology spreading does not group pods by service")),
    ObjectKind("ReplicationController", "", "v1", "replicationcontrollers", True, _("default topology spreading does not group pods by controller")),
    ObjectKind("ReplicaSet", "apps", "v1", "replicasets", True, _("default topology spreading does not group pods by controller")),
    ObjectKind("StatefulSet", "apps", "v1", "statefulsets", True, _("default topology spreading does not group pods by controller")),
    ObjectKind("DaemonSet", "apps", "v1", "daemonsets", True, _("new nodes are tried without their daemon pods")),
    ObjectKind("Deployment", "apps", "v1", "deployments", True, _("pods are shown under their replica set only")),
    ObjectKind("CloneSet", "apps.kruise.io", "v1alpha1", "clonesets", True, _("what pods of clone sets use is not known"), optional=True),
    ObjectKind("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", True, _("preemption does not know which pods are protected")),
    ObjectKind("HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers", True, _("scenarios do not scale workloads as the cluster does"), optional=True),
    ObjectKind("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", False, _("priorities of new pods are unknown")),
    ObjectKind("PodGroup", "scheduling.k8s.io", "v1beta1", "podgroups", True, _("pods that name a group wait for it"), optional=True),
    ObjectKind("CompositePodGroup", "scheduling.k8s.io", "v1beta1", "compositepodgroups", True, _("pods whose group is part of another wait for that"), optional=True),
    ObjectKind("RuntimeClass", "node.k8s.io", "v1", "runtimeclasses", False, _("overheads of new pods are unknown")),
    ObjectKind("ResourceClaim", "resource.k8s.io", "v1", "resourceclaims", True, _("pods that claim devices cannot be judged"), optional=True),
    ObjectKind("ResourceClaimTemplate", "resource.k8s.io", "v1", "resourceclaimtemplates", True, _("claims of new pods cannot be made from templates"), optional=True),
    ObjectKind("ResourceSlice", "resource.k8s.io", "v1", "resourceslices", False, _("devices of nodes are unknown"), optional=True),
    ObjectKind("DeviceTaintRule", "resource.k8s.io", "v1", "devicetaintrules", False, _("devices that a rule taints look free to use"), optional=True),
    ObjectKind("DeviceClass", "resource.k8s.io", "v1", "deviceclasses", False, _("pods that claim devices cannot be judged"), optional=True),
    _queue_kind("ClusterQueue", "clusterqueues", False, _("there are no quota queues")),
    _queue_kind("LocalQueue", "localqueues", True, _("it is unknown which quota queue workloads wait in")),
    _queue_kind("Cohort", "cohorts", False, _("quota of cohorts is unknown")),
    _queue_kind("ResourceFlavor", "resourceflavors", False, _("quota queues admit nothing")),
    _queue_kind("Workload", "workloads", True, _("it is unknown what waits for quota, and what has it")),
    _queue_kind("WorkloadPriorityClass", "workloadpriorityclasses", False, _("priorities of workloads are taken from themselves")),
    _queue_kind("AdmissionCheck", "admissionchecks", False, _("queues with admission checks look inactive")),
    _queue_kind("Topology", "topologies", False, _("queues with topologies look inactive")),
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}

# Fields that the scheduler never reads and that are large or may have secrets: removed before storing.
_CONTAINER = ("env", "envFrom", "command", "args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration",)


def reduce_object(item: Json) -> Json:
    """Remove what decisions never need: managed fields, environments, commands, probes. Changes ``item`` and returns
    it.
    """
    metadata = item.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
        annotations = metadata.get("annotations")
        if isinstance(annotations, dict):
            for name in _ANNOTATIONS:
                annotations.pop(name, None)
    spec = item.get("spec")
    if isinstance(spec, dict):
        _reduce_templates(spec)
        for group in ("containers", "initContainers", "ephemeralContainers"):
            containers = spec.get(group)
            for container in containers if isinstance(containers, list) else ():
                if isinstance(container, dict):
                    for name in _CONTAINER:
                        container.pop(name, None)
    return item


def _reduce_templates(spec: Json) -> None:
    """Reduce the pod template of a workload, and those of the pod sets of a Workload."""
    pod_sets = spec.get("podSets")
    for holder in (spec, *(pod_sets if isinstance(pod_sets, list) else ())):
        template = holder.get("template") if isinstance(holder, dict) else None
        if isinstance(template, dict):
            reduce_object(template)
