"""Devices that a pod asks for and no node offers: the chain that usually makes them, and what the cluster shows of it.

Nothing here is tried: the cluster's objects do not say what hardware a node has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from kschedweb.engine.json_types import Json
from kschedweb.engine.marking import gettext_noop
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class DeviceFamily:
    """Devices of one kind, and the parts that make nodes offer them."""

    name: str
    # The beginning of its resources' names.
    prefix: str
    # A label that NodeFeatureDiscovery gives nodes with the hardware.
    hardware_label: str
    # Part of the names or images of the driver's, the device plugin's and the DRA driver's DaemonSets.
    driver: str
    plugin: str
    dra_driver: str
    # A label that feature discovery gives nodes once the driver works.
    feature_label: str = ""


FAMILIES = (
    DeviceFamily(
        "NVIDIA GPU", "nvidia.com/", "feature.node.kubernetes.io/pci-10de.present", "nvidia-driver",
        "nvidia.*device-plugin", "gpu.nvidia.com", "nvidia.com/gpu.present",
    ),
    DeviceFamily(
        "AMD GPU", "amd.com/", "feature.node.kubernetes.io/pci-1002.present", "amd.*gpu.*driver|amdgpu",
        "amdgpu.*device-plugin|amd-gpu-device-plugin|rocm.*device-plugin", "gpu.amd.com", "amd.com/gpu.family",
    ),
    DeviceFamily(
        "Intel GPU", "gpu.intel.com/", "feature.node.kubernetes.io/pci-8086.present", "intel.*gpu.*driver",
        "intel-gpu-plugin", "gpu.intel.com", "intel.feature.node.kubernetes.io/gpu",
    ),
    DeviceFamily(
        "Intel Gaudi", "habana.ai/", "feature.node.kubernetes.io/pci-1da3.present", "habana.*driver",
        "habana.*device-plugin", "gaudi.habana.ai",
    ),
    DeviceFamily(
        "Google TPU", "google.com/tpu", "cloud.google.com/gke-tpu-accelerator", "", "tpu-device-plugin",
        "tpu.google.com",
    ),
    DeviceFamily(
        "AWS Neuron", "aws.amazon.com/neuron", "feature.node.kubernetes.io/pci-1d0f.present", "neuron.*driver",
        "neuron-device-plugin", "neuron.aws.com",
    ),
    DeviceFamily(
        "RDMA", "rdma/", "feature.node.kubernetes.io/rdma.available", "mofed|ofed",
        "rdma.*device-plugin|rdma-shared", "",
    ),
)  # fmt: skip


class LinkState(StrEnum):
    """The states of a link, as REST shows them."""

    PRESENT = "present"
    MISSING = "missing"
    UNKNOWN = "unknown"


HARDWARE = gettext_noop("Hardware")
DRIVER = gettext_noop("Driver")
PLUGIN = gettext_noop("Device plugin")
DRA_DRIVER = gettext_noop("DRA driver")
FEATURES = gettext_noop("Feature discovery")
PARTITIONS = gettext_noop("MIG partitions")
CAPACITY = gettext_noop("Node capacity")
CLASS = gettext_noop("Device class")
NODES_WITH_LABEL = gettext_noop("%(count)s nodes have the label %(label)s.")
NO_NODE_WITH_LABEL = gettext_noop("No node has the label %(label)s; node feature discovery sets it.")
RUNS = gettext_noop("%(name)s runs %(ready)s of %(desired)s pods.")
NO_DAEMON = gettext_noop("No DaemonSet looks like one.")
UNHEALTHY = gettext_noop(
    "%(count)s nodes have %(resource)s in capacity and none allocatable: the devices are unhealthy."
)
NO_CAPACITY = gettext_noop("No node has %(resource)s in its capacity.")
OTHER_PARTITIONS = gettext_noop("Nodes offer %(names)s instead.")
NO_PARTITIONS = gettext_noop("No node offers MIG partitions.")
SLICES = gettext_noop("%(count)s ResourceSlices are published by %(name)s.")
NO_SLICES = gettext_noop("No ResourceSlice is published by %(name)s.")
NO_CLASS = gettext_noop("The device class %(name)s does not exist.")
HAS_CLASS = gettext_noop("The device class %(name)s exists.")


@dataclass(frozen=True)
class ChainLink:
    """One step by which devices come to be offered, and what the cluster shows of it."""

    name: str
    state: LinkState
    # A sentence with its arguments.
    text: str
    words: dict[str, str]

    @property
    def sentence(self) -> str:
        return self.text % self.words

    def to_dict(self) -> Json:
        return {
            "name": self.name,
            "state": str(self.state),
            "sentence": self.sentence,
            "text": self.text,
            "arguments": self.words,
        }


@dataclass(frozen=True)
class DeviceChain:
    """The chain of one resource or device class that no node offers."""

    resource: str
    family: str
    links: tuple[ChainLink, ...]

    @property
    def broken_link(self) -> ChainLink | None:
        """The first link that the cluster lacks."""
        return next((link for link in self.links if link.state == LinkState.MISSING), None)

    def to_dict(self) -> Json:
        broken_link = self.broken_link
        return {
            "resource": self.resource,
            "family": self.family,
            "links": [link.to_dict() for link in self.links],
            "first_missing": broken_link.name if broken_link else "",
        }


def find_device_chains(snapshot: Snapshot, pod: Pod) -> list[DeviceChain]:
    """Return a chain for each device that ``pod`` asks for and no node offers."""
    chains = [
        _resource_chain(snapshot, name)
        for name, amount in sorted(pod.requests.items())
        if amount and is_extended(name) and not _is_offered(snapshot, name)
    ]
    return chains + [_class_chain(snapshot, name) for name in dict.fromkeys(_missing_classes(snapshot, pod))]


def _is_offered(snapshot: Snapshot, resource: str) -> bool:
    return bool(snapshot.resource_row(snapshot.allocatable, resource).any()) or (
        resource in snapshot.objects.devices.extended_resources
    )


def _resource_chain(snapshot: Snapshot, resource: str) -> DeviceChain:
    family = next((family for family in FAMILIES if resource.startswith(family.prefix)), None)
    capacity = _capacity_link(snapshot, resource)
    if family is None:
        return DeviceChain(
            resource, "", (_daemon_link(snapshot, PLUGIN, re.escape(resource.partition("/")[0])), capacity)
        )
    links = [_label_link(snapshot, HARDWARE, family.hardware_label)]
    if family.driver:
        links.append(_daemon_link(snapshot, DRIVER, family.driver, unknown=True))
    links.append(_daemon_link(snapshot, PLUGIN, family.plugin))
    if family.feature_label:
        links.append(_label_link(snapshot, FEATURES, family.feature_label))
    links.append(capacity)
    if family.prefix == "nvidia.com/":
        links.append(_partition_link(snapshot, resource))
    return DeviceChain(resource, family.name, tuple(links))


def _label_link(snapshot: Snapshot, name: str, label: str) -> ChainLink:
    count = sum(label in node.labels for node in snapshot.nodes)
    if count:
        return ChainLink(name, LinkState.PRESENT, NODES_WITH_LABEL, {"count": f"{count:,}", "label": label})
    return ChainLink(name, LinkState.MISSING, NO_NODE_WITH_LABEL, {"label": label})


def _daemon_link(snapshot: Snapshot, name: str, pattern: str, *, unknown: bool = False) -> ChainLink:
    """Return the link of a DaemonSet by its name or images; with ``unknown`` it may be part of the node's image."""
    for raw in snapshot.objects.all("DaemonSet"):
        metadata, status = raw.get("metadata") or {}, raw.get("status") or {}
        spec = ((raw.get("spec") or {}).get("template") or {}).get("spec") or {}
        images = [str(container.get("image")) for container in spec.get("containers") or []]
        if any(re.search(pattern, text) for text in (str(metadata.get("name")), *images)):
            ready, desired = status.get("numberReady") or 0, status.get("desiredNumberScheduled") or 0
            words = {"name": str(metadata.get("name")), "ready": str(ready), "desired": str(desired)}
            return ChainLink(name, LinkState.PRESENT if ready else LinkState.MISSING, RUNS, words)
    return ChainLink(name, LinkState.UNKNOWN if unknown else LinkState.MISSING, NO_DAEMON, {})


def _capacity_link(snapshot: Snapshot, resource: str) -> ChainLink:
    count = sum(_get_capacity(node.raw, resource) not in ("", "0") for node in snapshot.nodes)
    words = {"resource": resource, "count": f"{count:,}"}
    return ChainLink(CAPACITY, LinkState.MISSING, UNHEALTHY if count else NO_CAPACITY, words)


def _get_capacity(raw: Json, resource: str) -> str:
    return str(((raw.get("status") or {}).get("capacity") or {}).get(resource) or "")


def _partition_link(snapshot: Snapshot, resource: str) -> ChainLink:
    names = sorted(
        name
        for name in snapshot.resources
        if name.startswith("nvidia.com/mig-")
        and name != resource
        and snapshot.resource_row(snapshot.allocatable, name).any()
    )
    if names:
        return ChainLink(PARTITIONS, LinkState.PRESENT, OTHER_PARTITIONS, {"names": ", ".join(names[:4])})
    return ChainLink(PARTITIONS, LinkState.UNKNOWN, NO_PARTITIONS, {})


def _missing_classes(snapshot: Snapshot, pod: Pod) -> Iterator[str]:
    """Yield the device classes of the pod's claims that do not exist, or whose drivers publish no device."""
    devices = snapshot.objects.devices
    for entry in pod.resource_claims:
        claim = devices.get(pod.namespace, entry.claim or "")
        if claim is None or claim.allocation is not None:
            continue
        for request in claim.requests:
            for _, name in request.device_classes:
                if name not in devices.classes or not devices.slices:
                    yield name


def _class_chain(snapshot: Snapshot, name: str) -> DeviceChain:
    devices = snapshot.objects.devices
    family = next((family for family in FAMILIES if family.dra_driver and family.dra_driver in name), None)
    driver = family.dra_driver if family else name
    count = sum(listed.driver == driver for listed in devices.slices.values())
    exists = name in devices.classes
    links = (
        ChainLink(
            CLASS, LinkState.PRESENT if exists else LinkState.MISSING, HAS_CLASS if exists else NO_CLASS, {"name": name}
        ),
        _daemon_link(snapshot, DRA_DRIVER, re.escape(driver), unknown=True),
        ChainLink(
            CAPACITY,
            LinkState.PRESENT if count else LinkState.MISSING,
            SLICES if count else NO_SLICES,
            {"count": f"{count:,}", "name": driver},
        ),
    )
    return DeviceChain(name, family.name if family else "", links)
