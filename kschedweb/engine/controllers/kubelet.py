"""What a node's kubelet says of a pod that comes to it: whether it runs, or fails, and in which words.

It asks some of the scheduler's filters of its own node: room, node affinity, node name, ports, and taints that let no
pod run. For a critical pod it makes room, and ends others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from kschedweb.engine.controllers.kubeletroom import NoRoomError, Shortage, critical, makes_room, static
from kschedweb.engine.objects.access import Json, mapping, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod, conflicting
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, is_extended, is_scalar
from kschedweb.engine.objects.taints import NO_EXECUTE, tolerated
from kschedweb.engine.values import dataclass

PODS, OS_LABEL, LINUX = "pods", "kubernetes.io/os", "linux"
REJECTED = "Pod was rejected: "
OUT_OF = "OutOf"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The ``reason`` and ``message`` in the status of a pod that the kubelet lets fail."""

    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


@dataclass(frozen=True, slots=True)
class Admission:
    """``refusal`` is ``None`` where the pod runs; ``ended`` are the pods that had to go for it, in this order."""

    refusal: Refusal | None = None
    ended: list[Pod] = field(default_factory=list)


def acknowledged(pod: Pod) -> bool:
    """Whether the pod's kubelet took it in before."""
    status = mapping(pod.raw, "status")
    return status.get("startTime") is not None or status.get("phase") == "Running"


def admission(pod: Pod, node: Node, others: Sequence[Pod], comparing: bool = True) -> Admission:
    """What the kubelet of ``node``, where ``others`` run, does with ``pod``.

    ``comparing``: tolerations with the operators Gt and Lt count. Of several resources that are short, beside pods,
    CPU, memory and ephemeral storage, the original names any one; here it is the first by name.
    """
    if found := unsuited(pod, node):
        return Admission(found)
    short, rest = shortages(pod, node, others), _predicates(pod, node, others, comparing)
    if critical(pod) and not rest:
        return _with_room(pod, others, short)
    if short and not critical(pod):
        return Admission(_refusal(f"{OUT_OF}{short[0].resource}", str(short[0])))
    if rest:
        name, why = rest[0]
        return Admission(_refusal(name, f"Predicate {name} failed: {why}"))
    return Admission()


def _with_room(pod: Pod, others: Sequence[Pod], short: list[Shortage]) -> Admission:
    try:
        return Admission(ended=makes_room(pod, others, short))
    except NoRoomError as problem:
        words = f"Unexpected error while attempting to recover from admission failure: {problem}"
        return Admission(_refusal("UnexpectedAdmissionError", words))


def unsuited(pod: Pod, node: Node) -> Refusal | None:
    """What no room could mend."""
    spec = mapping(pod.raw, "spec")
    if pod.labels.get(OS_LABEL, LINUX) != LINUX:
        words = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return _refusal("PodOSSelectorNodeLabelDoesNotMatch", words)
    if spec.get("os") is not None and mapping(spec, "os", "spec.").get("name") != LINUX:
        return _refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    if _strict(spec) and not mapping(mapping(node.raw, "status"), "features").get("supplementalGroupsPolicy"):
        words = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return _refusal("SupplementalGroupsPolicyNotSupported", words)
    return None


def _refusal(reason: str, message: str) -> Refusal:
    return Refusal(reason, REJECTED + message)


def _strict(spec: Json) -> bool:
    context = mapping(spec, "securityContext", "spec.")
    return text(context, "supplementalGroupsPolicy", "spec.securityContext.") == "Strict"


def shortages(pod: Pod, node: Node, others: Sequence[Pod]) -> list[Shortage]:
    """Of what the node has too little beside ``others``; what a node does not name at all, it is not asked for."""
    has, found = node.allocatable, []
    if len(others) + 1 > has.get(PODS, 0):
        found.append(Shortage(PODS, 1, len(others), has.get(PODS, 0)))
    scalars = sorted(name for name in pod.requests if is_scalar(name) and not (is_extended(name) and name not in has))
    for name in (CPU, MEMORY, EPHEMERAL, *scalars):
        wanted = pod.requests.get(name, 0)
        if wanted > 0:
            used = sum(other.occupied.get(name, 0) for other in others)
            if wanted > has.get(name, 0) - used:
                found.append(Shortage(name, wanted, used, has.get(name, 0)))
    return found


def _predicates(pod: Pod, node: Node, others: Sequence[Pod], comparing: bool) -> list[tuple[str, str]]:
    """The filters that reject the pod but for want of room, with their reasons, in the kubelet's order."""
    found = []
    if not _matches(pod, node):
        found.append(("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"))
    if pod.node_name and pod.node_name != node.name:
        found.append(("NodeName", "node(s) didn't match the requested node name"))
    if any(conflicting(mine, theirs) for other in others for theirs in other.host_ports for mine in pod.host_ports):
        found.append(("NodePorts", "node(s) didn't have free ports for the requested pod ports"))
    taints = (taint for taint in node.taints if taint.effect == NO_EXECUTE)
    if not static(pod) and not all(tolerated(taint, pod.tolerations, comparing) for taint in taints):
        found.append(("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
    return found


def _matches(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in (pod.node_selector or {}).items()):
        return False
    required = pod.node_affinity.required
    return required is None or any(term.matches(node.name, node.labels) for term in required)
