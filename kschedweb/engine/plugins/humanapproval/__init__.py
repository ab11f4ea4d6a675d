"""HumanApproval makes the pods that its rules select wait at Permit until people approve or deny.

The plugin only decides that a pod has to wait, for whom and why. The site stores requests and collects votes.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.framework.events import POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Code, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.labels import Selector, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.humanapproval.arguments import ARGS, advice, set_defaults, validate_args
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

CREATED_BY = "approvals.kschedweb.dev/created-by"
WINDOW, TIMEOUT, ROLE = "15m", "1h", "approver"
WORDS = {CPU: "CPU", MEMORY: "memory"}


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule of the arguments, with parsed selectors."""

    name: str
    # Empty for all namespaces.
    namespaces: frozenset[str]
    pods: Selector | None
    min_priority: int | None
    max_priority: int | None
    # Names of nodes; empty for all.
    names: frozenset[str]
    nodes: Selector | None
    # The rule applies if the node's lead in points is below this.
    margin: int | None
    usage: Json | None
    # Number of people by role.
    approvals: dict[str, int]
    # How long the pod waits.
    seconds: float
    # The pod goes on if nobody decides in time.
    allows: bool
    # People may decide about their own pods.
    allows_own_pods: bool
    reason: str

    @classmethod
    def from_json(cls, raw: Json, number: int) -> ApprovalRule:
        """Read a rule of the configuration, with defaults set. A rule without a name is named after its ``number``."""
        selectors = [raw.get(key) for key in ("podSelector", "nodeSelector")]
        pods, nodes = (None if selector is None else label_selector(selector) for selector in selectors)
        return cls(
            name=raw.get("name") or f"rule {number}",
            namespaces=frozenset(raw.get("namespaces") or ()),
            pods=pods,
            min_priority=raw.get("minPriority"),
            max_priority=raw.get("maxPriority"),
            names=frozenset(raw.get("nodes") or ()),
            nodes=nodes,
            margin=raw.get("marginBelow"),
            usage=raw.get("usage"),
            approvals={
                approval["role"]: approval.get("count") or 1 for approval in raw.get("approvals") or [{"role": ROLE}]
            },
            seconds=parse_seconds(raw.get("timeout") or TIMEOUT),
            allows=raw.get("onTimeout") == "Allow",
            allows_own_pods=raw.get("ownPods") != "Forbid",
            reason=raw.get("reason") or "",
        )

    def match_reasons(self, cycle: Cycle, node: str) -> list[str] | None:
        """Return the conditions that the pod on ``node`` meets, in words; ``None`` if it does not meet all of them."""
        reasons: list[str] = []
        for is_set, reason in (
            (bool(self.namespaces) or self.pods is not None, self._match_pod(cycle.pod)),
            (self.min_priority is not None or self.max_priority is not None, self._match_priority(cycle.pod)),
            (bool(self.names) or self.nodes is not None, self._match_node(cycle, node)),
            (self.margin is not None, self._match_margin(margin_of(cycle))),
            (self.usage is not None, self._match_usage(cycle, node)),
        ):
            if is_set and not reason:
                return None
            reasons += [reason] if is_set else []
        return reasons

    def _match_pod(self, pod: Pod) -> str:
        if self.namespaces and pod.namespace not in self.namespaces:
            return ""
        if self.pods is None:
            return f"it is in namespace {pod.namespace}"
        if not self.pods.matches(pod.labels):
            return ""
        labels = _format_labels(self.pods, pod.labels)
        text = f"its labels match ({labels})" if labels else "its labels match"
        return f"it is in namespace {pod.namespace} and {text}" if self.namespaces else text

    def _match_priority(self, pod: Pod) -> str:
        if self.min_priority is not None and pod.priority < self.min_priority:
            return ""
        if self.max_priority is not None and pod.priority > self.max_priority:
            return ""
        limits = [f"{self.min_priority} or more" if self.min_priority is not None else ""]
        limits += [f"{self.max_priority} or less" if self.max_priority is not None else ""]
        return f"its priority is {pod.priority} ({' and '.join(filter(None, limits))})"

    def _match_node(self, cycle: Cycle, node: str) -> str:
        if self.names and node not in self.names:
            return ""
        if self.nodes is None:
            return f"its node is {node}"
        labels = cycle.snapshot.nodes[cycle.snapshot.index[node]].labels
        if not self.nodes.matches(labels):
            return ""
        label_text = _format_labels(self.nodes, labels)
        return f"the labels of node {node} match ({label_text})" if label_text else f"the labels of node {node} match"

    def _match_margin(self, margin: int | None) -> str:
        if self.margin is None or margin is None or margin >= self.margin:
            return ""
        return f"its node is only {margin} {'point' if margin == 1 else 'points'} ahead, fewer than {self.margin}"

    def _match_usage(self, cycle: Cycle, node: str) -> str:
        if self.usage is None:
            return ""
        reasons = []
        window = self.usage.get("window") or WINDOW
        for resource, key in ((CPU, "cpuAbove"), (MEMORY, "memoryAbove")):
            limit, used = self.usage.get(key), node_usage(cycle, node, resource, window)
            if limit is not None and used is not None and used > limit:
                reasons.append(
                    f"{used:.1f} % of the {WORDS[resource]} of {node} is in use over {window} (limit {limit:g} %)"
                )
        return " and ".join(reasons)


class HumanApproval:
    name = "HumanApproval"

    def __init__(self, args: PluginArgs) -> None:
        self.rules = [
            ApprovalRule.from_json(raw, number) for number, raw in enumerate(args.get("rules") or (), start=1)
        ]
        self.all = args.get("matching") == "All"

    @property
    def weighs_margin(self) -> bool:
        """True if a rule depends on how close the choice of the node was."""
        return any(rule.margin is not None for rule in self.rules)

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        """Return Wait if a rule asks for people."""
        request = self.ask(cycle, node)
        if request is None:
            return SUCCESS, 0.0
        # The site stores the request from here, so permit and ask must agree.
        cycle.approval_requests[self.name] = request
        return Status(Code.WAIT, (describe_request(request),)), request["seconds"]

    def ask(self, cycle: Cycle, node: str) -> Json | None:
        """Return the question to people before the pod is bound to ``node``; ``None`` if no rule applies.

        Of several rules the strictest counts: the most people for each role, the shortest time, Deny before Allow.
        """
        met = [(rule, why) for rule in self.rules if (why := rule.match_reasons(cycle, node)) is not None]
        met = met if self.all else met[:1]
        if not met:
            return None
        rules = [rule for rule, _ in met]
        approvals: dict[str, int] = {}
        for rule in rules:
            for role, count in rule.approvals.items():
                approvals[role] = max(count, approvals.get(role, 0))
        windows = {rule.usage.get("window") or WINDOW for rule in rules if rule.usage is not None}
        return {
            "rules": [rule.name for rule in rules],
            "approvals": [{"role": role, "count": count} for role, count in approvals.items()],
            "seconds": min(rule.seconds for rule in rules),
            "onTimeout": "Allow" if all(rule.allows for rule in rules) else "Deny",
            "ownPods": "Allow" if all(rule.allows_own_pods for rule in rules) else "Forbid",
            "createdBy": pod_creator(cycle.pod),
            "podDigest": pod_digest(cycle.pod),
            "reason": " ".join(dict.fromkeys(rule.reason for rule in rules if rule.reason)),
            "why": list(dict.fromkeys(reason for _, why in met for reason in why)),
            "margin": margin_of(cycle),
            "priority": cycle.pod.priority,
            "node": compute_room(cycle, node),
            "usage": {
                window: {name: node_usage(cycle, node, name, window) for name in (CPU, MEMORY)}
                for window in sorted(windows or {WINDOW})
            },
        }

    def events(self) -> list[EventHint]:
        """Requeue a denied pod when its labels change; apart from that, only the queue's own timeout retries it."""
        return [EventHint(ClusterEvent(POD, Action.POD_LABEL), _after_own_update)]


def margin_of(cycle: Cycle) -> int | None:
    """Return the lead of the chosen node in points; ``None`` if there was no other node or the totals are unknown."""
    return None if cycle.decision is None else cycle.decision.margin


def describe_request(request: Json) -> str:
    """Return a sentence that says who has to agree, and how long the pod waits."""
    people = " and ".join(_format_people(approval["role"], approval["count"]) for approval in request["approvals"])
    return f"waiting for approval by {people} for {format_duration(request['seconds'])}"


def format_duration(seconds: float) -> str:
    """Return a duration as text: 3600 -> "1 h", 5400 -> "1 h 30 min", 45 -> "45 s"."""
    remaining, parts = int(seconds), []
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, remaining = divmod(remaining, size)
        if count:
            parts.append(f"{count} {'day' if unit == 'days' and count == 1 else unit}")
    return " ".join(parts[:2]) or f"{seconds:g} s"


def compute_room(cycle: Cycle, node: str) -> dict[str, list[int]]:
    """Return requests on the node including the pod, each with allocatable: milli-CPU, bytes, and pods."""
    snapshot, at = cycle.snapshot, cycle.snapshot.index[node]
    is_counted = cycle.pod.key in snapshot.pods.slots
    amounts = {}
    for name in (CPU, MEMORY):
        requested = int(snapshot.resource_row(snapshot.requested, name)[at])
        requested += 0 if is_counted else cycle.pod.occupied.get(name, 0)
        amounts[name] = [requested, int(snapshot.resource_row(snapshot.allocatable, name)[at])]
    count = int(snapshot.pod_count[at]) + (0 if is_counted else 1)
    return amounts | {"pods": [count, int(snapshot.pod_limit[at])]}


def node_usage(cycle: Cycle, node: str, resource: str, window: str) -> float | None:
    """Return the percent of the node's allocatable in use; ``None`` if it is unknown."""
    watermarks = cycle.snapshot.watermarks
    if watermarks is None:
        return None
    value = float(watermarks.column(resource, window)[cycle.snapshot.index[node]])
    return None if np.isnan(value) else value


def pod_creator(pod: Pod) -> str:
    """Return the creator in the pod's annotation; "" if there is none.

    Kubernetes does not record who created an object. The annotation is only as trustworthy as the admission policy that
    protects it.
    """
    value = get_mapping(get_mapping(pod.raw, "metadata"), "annotations", "metadata.").get(CREATED_BY)
    return value.strip() if isinstance(value, str) else ""


def pod_digest(pod: Pod) -> str:
    """Return a digest of the facts that people decide about: the pod's labels, its spec, and its creator."""
    judged = [pod.labels, pod_creator(pod), pod.raw.get("spec")]
    # Sorted keys: the same pod read twice must have the same digest.
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()


def _format_people(role: str, count: int) -> str:
    return f"one {role}" if count == 1 else f"{count} {role}s"


def _format_labels(selector: Selector, labels: dict[str, str]) -> str:
    """Return the labels that the selector names."""
    keys = dict.fromkeys(requirement.key for requirement in selector.requirements)
    return ", ".join(f"{key}={labels[key]}" for key in keys if key in labels)


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    return bool(change.new is not None and change.new.uid == pod.uid)


SPEC = PluginSpec(
    "HumanApproval",
    frozenset({"permit"}),
    "Holds the pods that its rules select until people approve or deny them.",
    ArgsSpec(ARGS, set_defaults, validate_args, advice=advice),
    origin="kschedweb",
    factory=HumanApproval,
    rank=10,
)
