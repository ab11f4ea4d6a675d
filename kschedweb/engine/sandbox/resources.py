"""The resources that a sandbox serves: their addresses, and the API server's exceptions for some of them."""

from __future__ import annotations

from urllib.parse import quote

from kschedweb.engine.objects.kinds import KUEUE
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of the API."""

    kind: str
    # "" for the core group.
    group: str
    version: str
    plural: str
    namespaced: bool = True
    # The status is written separately, under …/status.
    status: bool = False
    # `metadata.generation` counts the changes of the spec.
    has_generation: bool = False
    # An update creates the object if it is missing.
    upsert: bool = False
    # An update has to name the resourceVersion that it changes.
    requires_version: bool = False
    # A name that resources share if they show the same objects; "" for none.
    store: str = ""
    # Defined by a CustomResourceDefinition: no Go type decodes it.
    is_custom: bool = False

    @property
    def key(self) -> str:
        return self.store or self.qualified

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name that the API server uses in errors: ``pods``, ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the address of one object, or of all in a namespace, or of all."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        namespace_part = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        last = f"/{quote(name, safe='')}" if name else ""
        return f"{root}{namespace_part}/{self.plural}{last}"


RESOURCES: tuple[Resource, ...] = (
    Resource("Namespace", "", "v1", "namespaces", namespaced=False, status=True),
    Resource("Node", "", "v1", "nodes", namespaced=False, status=True),
    Resource("Pod", "", "v1", "pods", status=True, has_generation=True),
    Resource("Service", "", "v1", "services", status=True),
    Resource("ConfigMap", "", "v1", "configmaps"),
    Resource("Endpoints", "", "v1", "endpoints", upsert=True),
    Resource("Event", "", "v1", "events", upsert=True),
    Resource("Event", "events.k8s.io", "v1", "events", upsert=True, store="events"),
    Resource("PersistentVolume", "", "v1", "persistentvolumes", namespaced=False, status=True),
    Resource("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", status=True),
    Resource("ReplicationController", "", "v1", "replicationcontrollers", status=True, has_generation=True),
    Resource("ResourceQuota", "", "v1", "resourcequotas", status=True),
    Resource("Deployment", "apps", "v1", "deployments", status=True, has_generation=True),
    Resource("ReplicaSet", "apps", "v1", "replicasets", status=True, has_generation=True),
    Resource("StatefulSet", "apps", "v1", "statefulsets", status=True, has_generation=True),
    Resource("DaemonSet", "apps", "v1", "daemonsets", status=True, has_generation=True),
    Resource("Job", "batch", "v1", "jobs", status=True, has_generation=True),
    Resource("HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers", status=True),
    Resource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", status=True, has_generation=True,
             requires_version=True),
    Resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", namespaced=False, has_generation=True),
    Resource("RuntimeClass", "node.k8s.io", "v1", "runtimeclasses", namespaced=False),
    Resource("StorageClass", "storage.k8s.io", "v1", "storageclasses", namespaced=False),
    Resource("CSINode", "storage.k8s.io", "v1", "csinodes", namespaced=False),
    Resource("CSIDriver", "storage.k8s.io", "v1", "csidrivers", namespaced=False),
    Resource("CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities"),
    Resource("VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", namespaced=False, status=True),
    Resource("Lease", "coordination.k8s.io", "v1", "leases", upsert=True, requires_version=True),
    Resource("ResourceClaim", "resource.k8s.io", "v1", "resourceclaims", status=True),
    Resource("ResourceClaimTemplate", "resource.k8s.io", "v1", "resourceclaimtemplates"),
    Resource("ResourceSlice", "resource.k8s.io", "v1", "resourceslices", namespaced=False, has_generation=True),
    Resource("DeviceClass", "resource.k8s.io", "v1", "deviceclasses", namespaced=False, has_generation=True),
    Resource("Cohort", KUEUE, "v1beta2", "cohorts", namespaced=False, status=True, has_generation=True, is_custom=True),
    Resource("ClusterQueue", KUEUE, "v1beta2", "clusterqueues", namespaced=False, status=True, has_generation=True,
             is_custom=True),
    Resource("LocalQueue", KUEUE, "v1beta2", "localqueues", status=True, has_generation=True, is_custom=True),
    Resource("ResourceFlavor", KUEUE, "v1beta2", "resourceflavors", namespaced=False, has_generation=True,
             is_custom=True),
    Resource("Workload", KUEUE, "v1beta2", "workloads", status=True, has_generation=True, is_custom=True),
    Resource("WorkloadPriorityClass", KUEUE, "v1beta2", "workloadpriorityclasses", namespaced=False, is_custom=True),
    # The sandbox's own resource: the speed of its time.
    Resource("Clock", "sandbox.kschedweb.dev", "v1", "clocks", namespaced=False, status=True, has_generation=True,
             is_custom=True),
)  # fmt: skip

BY_PLACE = {(resource.group, resource.version, resource.plural): resource for resource in RESOURCES}
BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


def get_resource(kind: str, api_version: str = "v1") -> Resource:
    """Return the resource of a kind; KeyError if it is not served."""
    return BY_KIND[api_version, kind]


def storage_resource(resource: Resource) -> Resource:
    """Return the resource as which the objects of ``resource`` are stored."""
    return EVENT if resource.kind == EVENT.kind else resource


NAMESPACE, NODE, POD = get_resource("Namespace"), get_resource("Node"), get_resource("Pod")
EVENT = get_resource("Event")
CLOCK = get_resource("Clock", "sandbox.kschedweb.dev/v1")
