"""Pods of queued jobs: held by a scheduling gate, and opened with what their flavors say of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import Counting
from kschedweb.engine.queueing.explaining.pod_links import GATE, GATES
from kschedweb.engine.queueing.topology.topology_assignments import TopologyAssignment
from kschedweb.engine.queueing.workloads.workload import PodSetAdmission, is_on_hostnames
from kschedweb.engine.values import dataclass

POD_SET_LABEL = "kueue.x-k8s.io/podset"


@dataclass(frozen=True, slots=True)
class FlavorNodes:
    """The nodes of a flavor: their labels, and the tolerations that its pods get."""

    labels: Mapping[str, str]
    tolerations: Sequence[Json]


def read_flavor_nodes(raw: Json) -> FlavorNodes:
    """Read what a ResourceFlavor says of nodes."""
    spec = get_mapping(raw, "spec")
    labels = get_mapping(spec, "nodeLabels", "spec.")
    return FlavorNodes({key: str(value) for key, value in labels.items()}, get_objects(spec, "tolerations", "spec."))


def gate_pod(pod: Pod, counting: Counting) -> Pod:
    """Return ``pod`` with Kueue's gate."""
    if GATE in pod.gates:
        return pod
    spec = get_mapping(pod.raw, "spec")
    gates = [*get_objects(spec, "schedulingGates", "spec."), {"name": GATE}]
    return Pod.from_json({**pod.raw, "spec": {**spec, "schedulingGates": gates}}).with_counting(counting)


def open_pod(
    pod: Pod,
    admission: PodSetAdmission,
    flavors: Mapping[str, FlavorNodes],
    place: Mapping[str, str],
    counting: Counting,
) -> Pod:
    """Return ``pod`` without Kueue's gates, for the nodes of its flavors and of its ``place`` in a topology."""
    metadata, spec = get_mapping(pod.raw, "metadata"), dict(get_mapping(pod.raw, "spec"))
    gates = [raw for raw in get_objects(spec, "schedulingGates", "spec.") if raw.get("name") not in GATES]
    spec.pop("schedulingGates", None)
    if gates:
        spec["schedulingGates"] = gates
    assigned = [flavors[name] for name in dict.fromkeys(admission.flavors.values()) if name in flavors]
    selector = {**get_mapping(spec, "nodeSelector", "spec."), **place}
    for flavor in assigned:
        selector |= flavor.labels
    if selector:
        spec["nodeSelector"] = selector
    tolerations = [*get_objects(spec, "tolerations", "spec.")]
    tolerations += [raw for flavor in assigned for raw in flavor.tolerations if raw not in tolerations]
    if tolerations:
        spec["tolerations"] = tolerations
    labels = {**get_mapping(metadata, "labels", "metadata."), POD_SET_LABEL: admission.name}
    opened = Pod.from_json({**pod.raw, "metadata": {**metadata, "labels": labels}, "spec": spec})
    return opened.with_counting(counting)


def list_places(topology: TopologyAssignment | None) -> Iterator[Mapping[str, str]]:
    """Yield the node labels of each pod's place, as Kueue's topology ungater sets them; none without a topology."""
    if topology is None:
        return
    levels = topology.levels[-1:] if is_on_hostnames(topology) else topology.levels
    for domain in topology.domains:
        labels = dict(zip(levels, domain.values[-len(levels) :], strict=True))
        for _ in range(domain.count):
            yield labels
