"""NodeDeclaredFeatures rejects nodes that do not declare a feature the pod needs."""

from __future__ import annotations

from functools import partial

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import unresolvable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Rows

REJECTED = unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL, HOST_USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
MOUNT_OPTIONS = "VolumeBindMountOptions"
CERTIFICATES, PROFILES = "PodCertificateMLDSA", "SecurityProfileOCI"
MLDSA_KEYS = ("MLDSA44", "MLDSA65", "MLDSA87")


class NodeDeclaredFeatures:
    name = "NodeDeclaredFeatures"

    def __init__(self, args: PluginArgs, bind_mount_options: bool = True, pod_security: bool = False) -> None:
        """Take the flags of the release.

        ``bind_mount_options``: options of bind mounts need a feature.
        ``pod_security``: see ``Behaviour.pod_security_features``.
        """
        self.bind_mount_options, self.pod_security = bind_mount_options, pod_security

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_DECLARED_FEATURE), _after_node),
            EventHint(ClusterEvent(POD, Action.UPDATE), self._after_own_update),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = needed = self._needed_features(cycle.pod)
        return PASSED if needed else SKIPPED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        needed = cycle.state.get(self.name) or self._needed_features(cycle.pod)
        lacking = np.array([not needed <= node.declared_features for node in cycle.snapshot.nodes], dtype=np.bool_)
        return Verdicts.from_mask(lacking[rows], REJECTED)

    def _needed_features(self, pod: Pod) -> frozenset[str]:
        spec = get_mapping(pod.raw, "spec")
        needed = needed_features(spec, self.bind_mount_options)
        return needed | security_features(spec) if self.pod_security else needed

    def _after_own_update(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if the pod needs other features now."""
        return bool(change.new.uid == pod.uid) and self._needed_features(change.old) != self._needed_features(
            change.new
        )


def needed_features(spec: Json, bind_mount_options: bool = True) -> frozenset[str]:
    """Return the node features that a pod's spec requires; ``bind_mount_options``: options of bind mounts need one."""
    needed = set()
    containers = get_objects(spec, "initContainers") + get_objects(spec, "containers")
    for container in containers:
        if any(rule.get("action") == "RestartAllContainers" for rule in get_objects(container, "restartPolicyRules")):
            needed.add(RESTART_ALL)
    if spec.get("hostNetwork") is True and spec.get("hostUsers") is False:
        needed.add(HOST_USERS)
    mounted = [
        mount
        for container in containers + get_objects(spec, "ephemeralContainers")
        for mount in get_objects(container, "volumeMounts")
    ]
    if bind_mount_options and any(mount.get("bindMountOptions") for mount in mounted):
        needed.add(MOUNT_OPTIONS)
    return frozenset(needed)


def security_features(spec: Json) -> frozenset[str]:
    """Return the node features that a pod's certificates and seccomp profiles require."""
    sources = [
        source
        for volume in get_objects(spec, "volumes")
        for source in get_objects(get_mapping(volume, "projected"), "sources")
    ]
    keys = {get_mapping(source, "podCertificate").get("keyType") for source in sources}
    lists = ("initContainers", "containers", "ephemeralContainers")
    owners = [spec, *(container for field in lists for container in get_objects(spec, field))]
    profiles = [get_mapping(get_mapping(owner, "securityContext"), "seccompProfile") for owner in owners]
    needed = {CERTIFICATES} if keys.intersection(MLDSA_KEYS) else set()
    return frozenset(needed | ({PROFILES} if any(profile.get("type") == "OCI" for profile in profiles) else set()))


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    return change.old is None or bool(change.old.declared_features != change.new.declared_features)


SPEC = PluginSpec(
    "NodeDeclaredFeatures",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes that lack a feature the pod depends on.",
    gate="NodeDeclaredFeatures",
    factory=NodeDeclaredFeatures,
    variant=lambda release: {
        "factory": partial(
            NodeDeclaredFeatures,
            bind_mount_options=release.behaviour.bind_mount_options_feature,
            pod_security=release.behaviour.pod_security_features,
        )
    },
)
