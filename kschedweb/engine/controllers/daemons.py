"""The nodes on which a DaemonSet has pods, and what its controller adds to these pods."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, has_no_untolerated
from kschedweb.engine.state.nodematching import matches_required
from kschedweb.engine.state.snapshot import Snapshot

# Tolerations that `AddOrUpdateDaemonPodTolerations` adds to pods of DaemonSets.
TOLERATED = (
    *(("not-ready", NO_EXECUTE), ("unreachable", NO_EXECUTE), ("disk-pressure", NO_SCHEDULE)),
    *(("memory-pressure", NO_SCHEDULE), ("pid-pressure", NO_SCHEDULE), ("unschedulable", NO_SCHEDULE)),
)


def list_node_specs(daemon_set: Json, nodes: Snapshot) -> Iterator[tuple[str, Json]]:
    """Yield the name of each of ``nodes`` that fits, and the spec of its pod. Raises ObjectError."""
    spec, pod = _template_pod(daemon_set)
    fits = matches_required(nodes, pod)
    for place, node in enumerate(nodes.nodes):
        if fits[place] and has_no_untolerated(node.taints, pod.tolerations):
            yield node.name, _pin_to_node(spec, node.name)


def list_staying_nodes(daemon_set: Json, nodes: Snapshot) -> Iterator[str]:
    """Yield the ``nodes`` on which a running pod stays: it ignores taints of NoSchedule, which are too late for it."""
    _, pod = _template_pod(daemon_set)
    fits = matches_required(nodes, pod)
    for place, node in enumerate(nodes.nodes):
        hard = tuple(taint for taint in node.taints if taint.effect == NO_EXECUTE)
        if fits[place] and has_no_untolerated(hard, pod.tolerations):
            yield node.name


def _template_pod(daemon_set: Json) -> tuple[Json, Pod]:
    """Return the spec of the DaemonSet's pods without a node, and such a pod."""
    metadata = daemon_set["metadata"]
    spec = dict(get_mapping(get_mapping(get_mapping(daemon_set, "spec"), "template", "spec."), "spec"))
    more = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in TOLERATED]
    if spec.get("hostNetwork"):
        key = "node.kubernetes.io/network-unavailable"
        more.append({"key": key, "operator": "Exists", "effect": NO_SCHEDULE})
    spec["tolerations"] = [*get_objects(spec, "tolerations"), *more]
    # Any name will do: filters do not look at it.
    raw = {"metadata": {"name": "a", "namespace": metadata.get("namespace") or "default"}, "spec": spec}
    return spec, Pod.from_json(raw)


def make_snapshot(nodes: list[Json]) -> Snapshot:
    """Return a snapshot of ``nodes``."""
    return Snapshot([Node.from_json(raw) for raw in nodes])


def _pin_to_node(spec: Json, node: str) -> Json:
    """Return the pod's spec with the affinity to ``node``, as the DaemonSet controller writes it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = get_mapping(spec, "affinity")
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**spec, "affinity": {**affinity, "nodeAffinity": {**get_mapping(affinity, "nodeAffinity"), **required}}}
