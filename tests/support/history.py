"""History of a cluster, as its API server recorded it, and a scheduler's promises checked against it.

The history is the API server's audit log (``AUDIT_POLICY``), so it knows nothing of what the scheduler believed; the
rows of approvals come from the scheduler's side and are held against it.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from kschedweb.engine.json_types import Json

Amounts = dict[str, Fraction]

# Everything that decides where a pod may be, with what was sent and answered; nothing else, so that it stays small.
AUDIT_POLICY: Json = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "resources": [
                {"group": "", "resources": ["pods", "pods/binding", "nodes", "nodes/status"]},
                {"group": "", "resources": ["endpoints", "configmaps"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "None"},
    ],
}
NEVER = math.inf
DECIMAL = {"m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4}  # powers of 1,000
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}  # of 1,024


@dataclass(frozen=True)
class Bind:
    """One call to bind a pod; times are seconds of the epoch on the API server's clock."""

    uid: str  # that the caller named, "" where it named none
    pod: str
    node: str
    identity: str  # of the process, from its user agent ``name/version (identity)``
    audit_id: str
    received: float
    completed: float
    code: int
    message: str

    @property
    def succeeded(self) -> bool:
        return self.code == 201


@dataclass(frozen=True)
class LeaseWrite:
    """One write of a lease, or of the annotation that Endpoints or a ConfigMap hold instead, that succeeded."""

    lease: str
    holder: str
    epoch: int
    seconds: float
    received: float
    completed: float


@dataclass
class PodFacts:
    """Facts about one pod: when it was made, was free of gates, began to go and was gone."""

    uid: str
    key: str
    scheduler: str
    requests: Amounts
    created: float
    node: str = ""  # where it was made with one
    ungated: float = 0.0
    deleting: float = NEVER
    removed: float = NEVER
    raw: Json = field(default_factory=dict, repr=False)


@dataclass
class History:
    binds: list[Bind] = field(default_factory=list)
    leases: list[LeaseWrite] = field(default_factory=list)
    pods: dict[str, PodFacts] = field(default_factory=dict)  # by uid
    rooms: dict[str, list[tuple[float, Amounts]]] = field(default_factory=lambda: defaultdict(list))  # by node

    @classmethod
    def read(cls, log: Path, offset: int = 0) -> History:
        """The history in an audit log from byte ``offset`` on."""
        with log.open("rb") as file:
            file.seek(offset)
            return cls.from_events(json.loads(line) for line in file if line.endswith(b"\n"))

    @classmethod
    def from_events(cls, events: Iterable[Json]) -> History:
        """The history that audit ``events`` tell, in the order of their ends."""
        history = cls()
        for event in sorted(events, key=lambda event: _seconds(event["stageTimestamp"])):
            history._add(event)
        return history

    def _add(self, event: Json) -> None:
        place, code = event["objectRef"], event["responseStatus"].get("code", 0)
        resource = place["resource"] + ("/" + place["subresource"] if place.get("subresource") else "")
        if resource == "pods/binding":
            self.binds.append(_bind(event))
        elif code >= 300:
            return
        elif resource in ("leases", "endpoints", "configmaps") and event["verb"] in ("create", "update", "patch"):
            self.leases += _lease(event)
        elif resource == "pods":
            self._pod(event)
        elif resource in ("nodes", "nodes/status") and event["verb"] != "deletecollection":
            self._node(event)

    def _pod(self, event: Json) -> None:
        answer = event.get("responseObject") or {}
        items = answer.get("items", []) if event["verb"] == "deletecollection" else [answer]
        received = _seconds(event["requestReceivedTimestamp"])
        if event["verb"].startswith("delete") and answer.get("kind") == "Status":
            self.pods[answer["details"]["uid"]].removed = received
            return
        for item in items:
            uid, spec = item["metadata"]["uid"], item["spec"]
            pod = self.pods.get(uid)
            if pod is None:
                pod = self.pods[uid] = _pod_facts(item, _seconds(event["stageTimestamp"]))
            if spec.get("schedulingGates"):
                pod.ungated = NEVER
            elif pod.ungated == NEVER:
                pod.ungated = received
            if event["verb"].startswith("delete"):
                pod.deleting = min(pod.deleting, received)
                if not item["metadata"].get("deletionGracePeriodSeconds"):
                    pod.removed = min(pod.removed, received)

    def _node(self, event: Json) -> None:
        answer = event.get("responseObject") or {}
        if answer.get("kind") == "Node" and event["verb"] != "delete":
            room = {name: amount(value) for name, value in answer.get("status", {}).get("allocatable", {}).items()}
            self.rooms[answer["metadata"]["name"]].append((_seconds(event["stageTimestamp"]), room))

    def made_binds(self) -> list[Bind]:
        return [bind for bind in self.binds if bind.succeeded]

    def pod_of(self, bind: Bind) -> PodFacts | None:
        """The pod that was bound: of that uid, or of that name at the time."""
        if bind.uid:
            return self.pods.get(bind.uid)
        alive = [
            pod for pod in self.pods.values() if pod.key == bind.pod and pod.created <= bind.completed < pod.removed
        ]
        return alive[-1] if alive else None


@dataclass(frozen=True)
class Request:
    """One stored request for approval; ``granted`` is when the last approval it needs was given (or its time-out
    allowed it), ``None`` where that never happened."""

    uid: str
    pod: str
    node: str
    state: str
    reason: str
    granted: float | None


ENDED = frozenset({"bound", "denied", "expired", "superseded", "failed"})


def violations(
    history: History,
    *,
    scheduler: str,
    lease: str = "",
    requests: Iterable[Request] = (),
    asks: Callable[[PodFacts], bool] = lambda pod: False,
    departures: Mapping[str, float] | None = None,
    ours: Callable[[Bind], bool] = lambda bind: True,
    bound_nodes: Mapping[str, str] | None = None,
) -> list[str]:
    """Every promise that was broken, one sentence each; [] where all were kept.

    ``scheduler`` is our schedulerName, ``lease`` ``namespace/name`` of the lease that allows to bind ("" for none),
    ``asks`` whether the policy wants an approval for a pod, ``departures`` by audit id when a call left its sender,
    where a proxy held it back, and ``ours`` which binds are the scheduler's that is judged. ``bound_nodes`` has the
    node of each pod as the cluster lists them, where the API server was killed: it may have bound a pod and not lived
    to write it down.
    """
    rows = list(requests)
    judged = [bind for bind in history.made_binds() if ours(bind)]
    return [
        *_bound_twice(history),
        *_not_to_be_bound(history, judged, scheduler),
        *(_without_lease(history, judged, lease, departures or {}) if lease else []),
        *_without_approval(history, judged, rows, asks),
        *_unended(history, rows, bound_nodes or {}),
        *_too_full(history),
    ]


def _bound_twice(history: History) -> list[str]:
    binds_by_pod: dict[str, list[Bind]] = defaultdict(list)
    for bind in history.made_binds():
        pod = history.pod_of(bind)
        binds_by_pod[pod.uid if pod else bind.uid or bind.pod].append(bind)
    return [
        f"{binds[0].pod} ({uid}) was bound {len(binds)} times: to {', '.join(bind.node for bind in binds)}."
        for uid, binds in binds_by_pod.items()
        if len(binds) > 1
    ]


def _not_to_be_bound(history: History, judged: list[Bind], scheduler: str) -> list[str]:
    messages = []
    for bind in judged:
        pod = history.pod_of(bind)
        if not bind.uid:
            messages.append(f"{bind.pod} was bound by its name alone, without a uid.")
        if pod is None:
            messages.append(f"{bind.pod} was bound, and the history knows no such pod.")
            continue
        if pod.scheduler != scheduler:
            messages.append(f"{bind.pod} was bound, which is {pod.scheduler}'s and not {scheduler}'s.")
        if bind.completed < pod.ungated:
            messages.append(f"{bind.pod} was bound while it had scheduling gates.")
        if bind.received > pod.deleting:
            messages.append(f"{bind.pod} was bound while it was being deleted.")
        if pod.node:
            messages.append(f"{bind.pod} was bound to {bind.node}, and was made on {pod.node}.")
    return messages


def _without_lease(history: History, judged: list[Bind], lease: str, departures: Mapping[str, float]) -> list[str]:
    writes = [write for write in history.leases if write.lease == lease]
    messages = []
    for bind in judged:
        at = departures.get(bind.audit_id, bind.received)
        under_way = any(write.holder == bind.identity and write.received <= at <= write.completed for write in writes)
        before = [write for write in writes if write.completed <= at]
        last = before[-1] if before else None
        if under_way:
            continue
        if last is None or last.holder != bind.identity:
            holder = last.holder if last and last.holder else "nobody"
            messages.append(f"{bind.pod} was bound by {bind.identity or 'somebody'} while {holder} held the lease.")
        elif at > last.completed + last.seconds:
            messages.append(
                f"{bind.pod} was bound by {bind.identity} {at - last.completed:.1f} s after it renewed the lease."
            )
    return messages


def _without_approval(
    history: History, judged: list[Bind], rows: list[Request], asks: Callable[[PodFacts], bool]
) -> list[str]:
    messages = []
    for bind in judged:
        pod = history.pod_of(bind)
        if pod is None or not asks(pod):
            continue
        granted = [row for row in rows if row.uid == pod.uid and row.granted is not None]
        if not granted:
            messages.append(f"{bind.pod} was bound without an approval.")
        elif not any(row.granted is not None and row.granted <= bind.completed for row in granted):
            messages.append(f"{bind.pod} was bound before it was approved.")
        elif not any(row.node == bind.node for row in granted):
            messages.append(f"{bind.pod} was bound to {bind.node}, and approved for {granted[-1].node}.")
    return messages


def _unended(history: History, rows: list[Request], bound_nodes: Mapping[str, str]) -> list[str]:
    bound = {**bound_nodes, **{pod.uid: bind.node for bind in history.made_binds() if (pod := history.pod_of(bind))}}
    messages = []
    for row in rows:
        if row.state not in ENDED:
            messages.append(f"The request for {row.pod} did not end: it is {row.state}.")
        elif row.state == "bound" and bound.get(row.uid) != row.node:
            messages.append(f"The request for {row.pod} says bound to {row.node}; it is on {bound.get(row.uid)}.")
        elif row.state != "bound" and not row.reason:
            messages.append(f"The request for {row.pod} ended {row.state} without a reason.")
    for uid, node in bound.items():
        mine = [row for row in rows if row.uid == uid]
        if mine and not any(row.state == "bound" for row in mine):
            messages.append(f"{mine[-1].pod} is on {node}, and no request of it says bound.")
    return messages


def _too_full(history: History) -> list[str]:
    """Nodes given more than they have; a pod leaves as soon as its deletion is asked for, so that none is accused."""
    arrivals = [(bind.completed, bind.node, pod) for bind in history.made_binds() if (pod := history.pod_of(bind))]
    arrivals += [(pod.created, pod.node, pod) for pod in history.pods.values() if pod.node]
    on: dict[str, list[PodFacts]] = defaultdict(list)
    messages = []
    for at, node, pod in sorted(arrivals, key=lambda arrival: arrival[0]):
        on[node] = [other for other in on[node] if other.removed > at] + [pod]
        rooms = [room for since, room in history.rooms.get(node, []) if since <= at and room]
        if not rooms:
            messages.append(f"{pod.key} came to {node}, and the history knows no such node.")
            continue
        for name, room in rooms[-1].items():
            used = sum((other.requests.get(name, Fraction(0)) for other in on[node]), Fraction(0))
            if used > room:
                messages.append(f"{node} was given {float(used):g} of {name} with {pod.key}, and has {float(room):g}.")
    return messages


def amount(text: str) -> Fraction:
    """A quantity as a number: cores, bytes, pieces."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", str(text))
    if match and match[2] in DECIMAL:
        return Fraction(match[1]) * Fraction(1000) ** DECIMAL[match[2]]
    if match and match[2] in BINARY:
        return Fraction(match[1]) * Fraction(1024) ** BINARY[match[2]]
    raise ValueError(f"{text!r} is no quantity that the checker reads.")


def _pod_facts(raw: Json, created: float) -> PodFacts:
    metadata, spec = raw["metadata"], raw["spec"]
    key = f"{metadata['namespace']}/{metadata['name']}"
    return PodFacts(
        metadata["uid"], key, spec.get("schedulerName", ""), _requests(spec), created, spec.get("nodeName", ""), raw=raw
    )


def _requests(spec: Json) -> Amounts:
    """Sum a pod's requests: its containers together, or one of its first containers where that asks for more."""
    total: Amounts = defaultdict(Fraction, pods=Fraction(1))
    for container in spec["containers"]:
        for name, value in container.get("resources", {}).get("requests", {}).items():
            total[name] += amount(value)
    for container in spec.get("initContainers", []):
        for name, value in container.get("resources", {}).get("requests", {}).items():
            total[name] = max(total[name], amount(value))
    return dict(total)


def _bind(event: Json) -> Bind:
    place, body = event["objectRef"], event.get("requestObject") or {}
    identity = re.search(r"\(([^()]+)\)", event.get("userAgent", ""))
    return Bind(
        uid=body.get("metadata", {}).get("uid", ""),
        pod=f"{place['namespace']}/{place['name']}",
        node=body.get("target", {}).get("name", ""),
        identity=identity[1] if identity else "",
        audit_id=event["auditID"],
        received=_seconds(event["requestReceivedTimestamp"]),
        completed=_seconds(event["stageTimestamp"]),
        code=event["responseStatus"].get("code", 0),
        message=event["responseStatus"].get("message", ""),
    )


def _lease(event: Json) -> list[LeaseWrite]:
    answer = event["responseObject"]
    metadata, record = answer["metadata"], answer.get("spec", {})
    if answer["kind"] != "Lease":
        text = metadata.get("annotations", {}).get("control-plane.alpha.kubernetes.io/leader")
        if text is None:
            return []
        record = json.loads(text)
    write = LeaseWrite(
        lease=f"{metadata['namespace']}/{metadata['name']}",
        holder=record.get("holderIdentity") or "",
        epoch=record.get("leaseTransitions", record.get("leaderTransitions", 0)),
        seconds=record.get("leaseDurationSeconds", 0),
        received=_seconds(event["requestReceivedTimestamp"]),
        completed=_seconds(event["stageTimestamp"]),
    )
    return [write]


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
