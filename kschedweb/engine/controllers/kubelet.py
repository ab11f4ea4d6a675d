"""A kubelet's admission of a pod to its node: the pod runs, or fails with a reason and message.

The kubelet runs some of the scheduler's filters for its own node: room, node affinity, node name, ports, and taints
that let no pod run. For a critical pod it makes room by ending others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from kschedweb.engine.controllers.kubelet_preemption import (
    NoRoomError,
    Shortage,
    get_pods_to_preempt,
    is_critical,
    is_static,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_string
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod, ports_conflict
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, is_extended, is_scalar
from kschedweb.engine.objects.taints import NO_EXECUTE, is_tolerated
from kschedweb.engine.values import dataclass

PODS, OS_LABEL, LINUX = "pods", "kubernetes.io/os", "linux"
REJECTED = "Pod was rejected: "
OUT_OF = "OutOf"


@dataclass(frozen=True, slots=True)
class KubeletRefusal:
    """The ``reason`` and ``message`` in the status of a pod that the kubelet lets fail."""

    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


@dataclass(frozen=True, slots=True)
class Admission:
    """The kubelet's answer to a pod."""

    # ``None`` if the pod runs.
    refusal: KubeletRefusal | None = None
    # The pods that had to go for it, in this order.
    ended: list[Pod] = field(default_factory=list)


def is_acknowledged(pod: Pod) -> bool:
    """Return true if the pod's kubelet has admitted it before."""
    status = get_mapping(pod.raw, "status")
    return status.get("startTime") is not None or status.get("phase") == "Running"


def admit_to_node(pod: Pod, node: Node, other_pods: Sequence[Pod], comparison_operators: bool = True) -> Admission:
    """Decide what the kubelet of ``node``, where ``other_pods`` run, does with ``pod``.

    ``comparison_operators``: tolerations with the operators Gt and Lt count. If several resources are short
    beside pods, CPU, memory and ephemeral storage, the original names any of them; here it is the first by name.
    """
    if refusal := find_unsuited(pod, node):
        return Admission(refusal)
    short, failures = (
        find_shortages(pod, node, other_pods),
        _failed_predicates(pod, node, other_pods, comparison_operators),
    )
    # Room is made only if nothing but room is missing.
    if is_critical(pod) and not failures:
        return _admit_with_room(pod, other_pods, short)
    if short and not is_critical(pod):
        return Admission(_make_refusal(f"{OUT_OF}{short[0].resource}", str(short[0])))
    if failures:
        name, why = failures[0]
        return Admission(_make_refusal(name, f"Predicate {name} failed: {why}"))
    return Admission()


def _admit_with_room(pod: Pod, other_pods: Sequence[Pod], short: list[Shortage]) -> Admission:
    try:
        return Admission(ended=get_pods_to_preempt(pod, other_pods, short))
    except NoRoomError as problem:
        words = f"Unexpected error while attempting to recover from admission failure: {problem}"
        return Admission(_make_refusal("UnexpectedAdmissionError", words))


def find_unsuited(pod: Pod, node: Node) -> KubeletRefusal | None:
    """Return the refusal that no room could avert; ``None`` if there is none."""
    spec = get_mapping(pod.raw, "spec")
    if pod.labels.get(OS_LABEL, LINUX) != LINUX:
        words = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return _make_refusal("PodOSSelectorNodeLabelDoesNotMatch", words)
    if spec.get("os") is not None and get_mapping(spec, "os", "spec.").get("name") != LINUX:
        return _make_refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    if _has_strict_groups(spec) and not get_mapping(get_mapping(node.raw, "status"), "features").get(
        "supplementalGroupsPolicy"
    ):
        words = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return _make_refusal("SupplementalGroupsPolicyNotSupported", words)
    return None


def _make_refusal(reason: str, message: str) -> KubeletRefusal:
    return KubeletRefusal(reason, REJECTED + message)


def _has_strict_groups(spec: Json) -> bool:
    context = get_mapping(spec, "securityContext", "spec.")
    return get_string(context, "supplementalGroupsPolicy", "spec.securityContext.") == "Strict"


def find_shortages(pod: Pod, node: Node, other_pods: Sequence[Pod]) -> list[Shortage]:
    """Return the resources of which the node has too little beside ``other_pods``.

    An extended resource that the node does not have at all is ignored.
    """
    has, shortages = node.allocatable, []
    if len(other_pods) + 1 > has.get(PODS, 0):
        shortages.append(Shortage(PODS, 1, len(other_pods), has.get(PODS, 0)))
    scalars = sorted(name for name in pod.requests if is_scalar(name) and not (is_extended(name) and name not in has))
    for name in (CPU, MEMORY, EPHEMERAL, *scalars):
        requested = pod.requests.get(name, 0)
        if requested > 0:
            used = sum(other.occupied.get(name, 0) for other in other_pods)
            if requested > has.get(name, 0) - used:
                shortages.append(Shortage(name, requested, used, has.get(name, 0)))
    return shortages


def _failed_predicates(
    pod: Pod, node: Node, other_pods: Sequence[Pod], comparison_operators: bool
) -> list[tuple[str, str]]:
    """Return the filters other than room that reject the pod, with their reasons, in the kubelet's order."""
    failures = []
    if not _matches_node_affinity(pod, node):
        failures.append(("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"))
    if pod.node_name and pod.node_name != node.name:
        failures.append(("NodeName", "node(s) didn't match the requested node name"))
    if any(
        ports_conflict(mine, theirs) for other in other_pods for theirs in other.host_ports for mine in pod.host_ports
    ):
        failures.append(("NodePorts", "node(s) didn't have free ports for the requested pod ports"))
    taints = (taint for taint in node.taints if taint.effect == NO_EXECUTE)
    if not is_static(pod) and not all(is_tolerated(taint, pod.tolerations, comparison_operators) for taint in taints):
        failures.append(("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
    return failures


def _matches_node_affinity(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in (pod.node_selector or {}).items()):
        return False
    required = pod.node_affinity.required
    return required is None or any(term.matches(node.name, node.labels) for term in required)
