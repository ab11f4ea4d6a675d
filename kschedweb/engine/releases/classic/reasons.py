"""The reasons that predicates give: sentences since 1.10, short names before."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.framework.status import Status

DISK_CONFLICT = "node(s) had no available disk"
ZONE_CONFLICT = "node(s) had no available volume zone"
SELECTOR = "node(s) didn't match node selector"
POD_AFFINITY = "node(s) didn't match pod affinity/anti-affinity"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"
TAINTS = "node(s) had taints that the pod didn't tolerate"
HOST_NAME = "node(s) didn't match the requested hostname"
HOST_PORTS = "node(s) didn't have free ports for the requested pod ports"
LABEL_PRESENCE = "node(s) didn't have the requested labels"
SERVICE_AFFINITY = "node(s) didn't match service affinity"
VOLUME_COUNT = "node(s) exceed max volume count"
MEMORY_PRESSURE = "node(s) had memory pressure"
DISK_PRESSURE = "node(s) had disk pressure"
PID_PRESSURE = "node(s) had pid pressure"
OUT_OF_DISK = "node(s) were out of disk space"
NOT_READY = "node(s) were not ready"
NO_NETWORK = "node(s) had unavailable network"
UNSCHEDULABLE = "node(s) were unschedulable"
VOLUME_AFFINITY = "node(s) had volume node affinity conflict"
NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"

# The short names of 1.9.
NAMES = {
    DISK_CONFLICT: "NoDiskConflict",
    ZONE_CONFLICT: "NoVolumeZoneConflict",
    SELECTOR: "MatchNodeSelector",
    POD_AFFINITY: "MatchInterPodAffinity",
    AFFINITY_RULES: "PodAffinityRulesNotMatch",
    ANTI_AFFINITY_RULES: "PodAntiAffinityRulesNotMatch",
    EXISTING_RULES: "ExistingPodsAntiAffinityRulesNotMatch",
    TAINTS: "PodToleratesNodeTaints",
    HOST_NAME: "HostName",
    HOST_PORTS: "PodFitsHostPorts",
    LABEL_PRESENCE: "CheckNodeLabelPresence",
    SERVICE_AFFINITY: "CheckServiceAffinity",
    VOLUME_COUNT: "MaxVolumeCount",
    MEMORY_PRESSURE: "NodeUnderMemoryPressure",
    DISK_PRESSURE: "NodeUnderDiskPressure",
    PID_PRESSURE: "NodeUnderPIDPressure",
    OUT_OF_DISK: "NodeOutOfDisk",
    NOT_READY: "NodeNotReady",
    NO_NETWORK: "NodeNetworkUnavailable",
    UNSCHEDULABLE: "NodeUnschedulable",
    VOLUME_AFFINITY: "VolumeNodeAffinityConflict",
    NO_VOLUMES: "VolumeBindingNoMatch",
}


def shorten_reasons(status: Status) -> Status:
    """Return the same status with the reasons of 1.9."""
    return replace(status, reasons=tuple(NAMES.get(reason, reason) for reason in status.reasons))
