"""Claims, volumes, storage classes and CSI objects, as the scheduler reads them.

Sizes are in nano-bytes, as quantities are read. ``None`` stands for a field that is not set, where that differs from
"".
"""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import InTreeVolume
from kschedweb.engine.objects.json_access import (
    get_boolean,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.labels import NOTHING, Labels, Selector, SelectorError, label_selector, new_requirement
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, parse_terms
from kschedweb.engine.objects.quantity import read_quantities, read_quantity
from kschedweb.engine.values import dataclass

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
STORAGE, FILESYSTEM = "storage", "Filesystem"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    uid: str
    # Uid of its controller: for an ephemeral volume the pod.
    controller_uid: str | None
    # The class that counts: that of the spec, or of the old annotation.
    storage_class: str
    # The class in the spec; None if it names none.
    spec_class: str | None
    volume: str
    bind_completed: bool
    selected_node: str | None
    phase: str
    terminating: bool
    # Nano-bytes.
    request: int | None
    mode: str
    access_modes: frozenset[str]
    attributes_class: str
    selector: Selector | None
    # Kubernetes' error if `selector` cannot be parsed, else empty.
    selector_error: str

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def is_bound(self) -> bool:
        return bool(self.volume) and self.bind_completed

    @classmethod
    def from_json(cls, raw: Json) -> Claim:
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        annotations = get_string_map(metadata, "annotations", "metadata.")
        resources = get_mapping(spec, "resources", "spec.")
        selector, selector_error = _claim_selector(spec)
        return cls(
            namespace=get_string(metadata, "namespace", "metadata."),
            name=get_string(metadata, "name", "metadata."),
            uid=get_string(metadata, "uid", "metadata."),
            controller_uid=_controller_uid(metadata),
            storage_class=_class_name(annotations, spec),
            spec_class=_spec_class(spec),
            volume=get_string(spec, "volumeName", "spec."),
            bind_completed=BIND_COMPLETED in annotations,
            selected_node=annotations.get(SELECTED_NODE),
            phase=get_string(status, "phase", "status."),
            terminating=metadata.get("deletionTimestamp") is not None,
            request=read_quantities(resources, "requests", "spec.resources.").get(STORAGE),
            mode=_read_mode(spec),
            access_modes=frozenset(get_strings(spec, "accessModes", "spec.")),
            attributes_class=get_string(spec, "volumeAttributesClassName", "spec."),
            selector=selector,
            selector_error=selector_error,
        )


@dataclass(frozen=True, slots=True, eq=False)
class PersistentVolume:
    """A PersistentVolume; its classes are like those of a claim."""

    name: str
    labels: Labels
    storage_class: str
    spec_class: str
    # Nano-bytes.
    capacity: int
    mode: str
    access_modes: frozenset[str]
    attributes_class: str
    phase: str
    terminating: bool
    # (namespace, name, uid) of its claimRef.
    claim: tuple[str, str, str] | None
    # None if every node can reach it.
    affinity: tuple[NodeSelectorTerm, ...] | None
    # (driver, handle).
    csi: tuple[str, str] | None
    in_tree: InTreeVolume | None

    def is_bound_to(self, claim: Claim) -> bool:
        """Return True if it is bound to ``claim``, or reserved for it."""
        if self.claim is None:
            return False
        namespace, name, uid = self.claim
        return (namespace, name) == claim.key and uid in ("", claim.uid)

    @classmethod
    def from_json(cls, raw: Json) -> PersistentVolume:
        metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
        annotations, labels = (get_string_map(metadata, key, "metadata.") for key in ("annotations", "labels"))
        csi = None if spec.get("csi") is None else get_mapping(spec, "csi", "spec.")
        return cls(
            name=get_string(metadata, "name", "metadata."),
            labels=labels,
            storage_class=_class_name(annotations, spec),
            spec_class=get_string(spec, "storageClassName", "spec."),
            capacity=read_quantities(spec, "capacity", "spec.").get(STORAGE, 0),
            mode=_read_mode(spec),
            access_modes=frozenset(get_strings(spec, "accessModes", "spec.")),
            attributes_class=get_string(spec, "volumeAttributesClassName", "spec."),
            phase=get_string(get_mapping(raw, "status"), "phase", "status."),
            terminating=metadata.get("deletionTimestamp") is not None,
            claim=_claim_reference(spec),
            affinity=read_affinity(spec),
            csi=None
            if csi is None
            else (get_string(csi, "driver", "spec.csi."), get_string(csi, "volumeHandle", "spec.csi.")),
            in_tree=InTreeVolume.of_persistent_volume(spec, labels),
        )


@dataclass(frozen=True, slots=True, eq=False)
class StorageClass:
    """A StorageClass."""

    name: str
    provisioner: str
    binding_mode: str | None
    # None if the class allows every node.
    topologies: tuple[NodeSelectorTerm, ...] | None

    @property
    def can_provision(self) -> bool:
        return self.provisioner not in ("", NO_PROVISIONER)

    @classmethod
    def from_json(cls, raw: Json) -> StorageClass:
        allowed, metadata = get_objects_and_paths(raw, "allowedTopologies"), get_mapping(raw, "metadata")
        # Claims without a class look for the newest class that these say is the default.
        get_string_map(metadata, "annotations", "metadata.")
        get_string(metadata, "creationTimestamp", "metadata.")
        return cls(
            name=get_string(metadata, "name", "metadata."),
            provisioner=get_string(raw, "provisioner"),
            binding_mode=None if raw.get("volumeBindingMode") is None else get_string(raw, "volumeBindingMode"),
            topologies=tuple(_read_topology(item, at) for item, at in allowed) if allowed else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CSINode:
    """The CSI drivers on one node."""

    name: str
    # Driver -> the number of volumes that it can attach.
    limits: dict[str, int]
    # In-tree plugins that drivers replace.
    migrated: frozenset[str]
    # Driver -> labels by which its volumes can be reached.
    topology: dict[str, tuple[str, ...]]

    @classmethod
    def from_json(cls, raw: Json) -> CSINode:
        metadata = get_mapping(raw, "metadata")
        limits, topology = {}, {}
        for driver, at in get_objects_and_paths(get_mapping(raw, "spec"), "drivers", "spec."):
            name, allocatable = get_string(driver, "name", at), get_mapping(driver, "allocatable", at)
            topology[name] = get_strings(driver, "topologyKeys", at)
            if allocatable.get("count") is not None:
                limits[name] = get_integer(allocatable, "count", path=f"{at}allocatable.")
        migrated = get_string_map(metadata, "annotations", "metadata.").get(MIGRATED_PLUGINS, "")
        return cls(get_string(metadata, "name", "metadata."), limits, frozenset(migrated.split(",")), topology)


@dataclass(frozen=True, slots=True, eq=False)
class CSIDriver:
    """A CSI driver of the cluster."""

    name: str
    # True if it reports its capacity.
    storage_capacity: bool
    # True if pods with its volumes go only to nodes where it is installed.
    needed_on_node: bool

    @classmethod
    def from_json(cls, raw: Json) -> CSIDriver:
        name = get_string(get_mapping(raw, "metadata"), "name", "metadata.")
        spec = get_mapping(raw, "spec")
        flags = (get_boolean(spec, key, "spec.") for key in ("storageCapacity", "preventPodSchedulingIfMissing"))
        return cls(name, *flags)


@dataclass(frozen=True, slots=True, eq=False)
class CSIStorageCapacity:
    """The capacity of a storage class on some nodes, in nano-bytes."""

    storage_class: str
    # The size of the largest volume that can be provisioned; None if not stated.
    largest: int | None
    # All that is left; None if not stated.
    free: int | None
    nodes: Selector

    @classmethod
    def from_json(cls, raw: Json) -> CSIStorageCapacity:
        size_fields = [key for key in ("maximumVolumeSize", "capacity") if raw.get(key) is not None]
        try:
            nodes = label_selector(raw.get("nodeTopology"), "nodeTopology.")
        except SelectorError:
            nodes = NOTHING
        largest = read_quantity(raw[size_fields[0]], size_fields[0]) if size_fields else None
        free = read_quantity(raw["capacity"], "capacity") if raw.get("capacity") is not None else None
        return cls(get_string(raw, "storageClassName"), largest, free, nodes)


@dataclass(frozen=True, slots=True, eq=False)
class VolumeAttachment:
    """A VolumeAttachment."""

    attacher: str
    node: str
    volume: str | None

    @classmethod
    def from_json(cls, raw: Json) -> VolumeAttachment:
        spec = get_mapping(raw, "spec")
        source = get_mapping(spec, "source", "spec.")
        name = source.get("persistentVolumeName")
        return cls(
            get_string(spec, "attacher", "spec."),
            get_string(spec, "nodeName", "spec."),
            None if name is None else get_string(source, "persistentVolumeName", "spec.source."),
        )


def read_affinity(spec: Json) -> tuple[NodeSelectorTerm, ...] | None:
    """Read ``spec.nodeAffinity`` of a PersistentVolume."""
    affinity = get_mapping(spec, "nodeAffinity", "spec.")
    if affinity.get("required") is None:
        return None
    required = get_mapping(affinity, "required", "spec.nodeAffinity.")
    return parse_terms(required, "nodeSelectorTerms", "spec.nodeAffinity.required.")


def _read_topology(raw: Json, path: str) -> NodeSelectorTerm:
    try:
        labels = tuple(
            new_requirement(get_string(item, "key", at), "In", get_strings(item, "values", at))
            for item, at in get_objects_and_paths(raw, "matchLabelExpressions", path)
        )
    except SelectorError as error:
        return NodeSelectorTerm((), (), (str(error),))
    return NodeSelectorTerm(labels, ())


def _claim_selector(spec: Json) -> tuple[Selector | None, str]:
    if spec.get("selector") is None:
        return None, ""
    try:
        return label_selector(get_mapping(spec, "selector", "spec."), "spec.selector."), ""
    except SelectorError as error:
        return None, str(error)


def _claim_reference(spec: Json) -> tuple[str, str, str] | None:
    if spec.get("claimRef") is None:
        return None
    reference = get_mapping(spec, "claimRef", "spec.")
    namespace, name, uid = (get_string(reference, key, "spec.claimRef.") for key in ("namespace", "name", "uid"))
    return namespace, name, uid


def _class_name(annotations: dict[str, str], spec: Json) -> str:
    beta = annotations.get(BETA_CLASS)
    return get_string(spec, "storageClassName", "spec.") if beta is None else beta


def _spec_class(spec: Json) -> str | None:
    return None if spec.get("storageClassName") is None else get_string(spec, "storageClassName", "spec.")


def _read_mode(spec: Json) -> str:
    return FILESYSTEM if spec.get("volumeMode") is None else get_string(spec, "volumeMode", "spec.")


def _controller_uid(metadata: Json) -> str | None:
    for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return get_string(owner, "uid", at)
    return None
