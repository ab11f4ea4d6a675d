"""A pod as Karpenter looks at it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, replace
from math import inf

from kschedweb.engine.autoscaling.cluster.wants import Term, Wants, read_wants
from kschedweb.engine.autoscaling.offers.amounts import MILLI_UNIT, PODS, Milli, Shown, count, forms, shown
from kschedweb.engine.autoscaling.offers.labels import DELETION_COST, DISRUPTION_COST, DO_NOT_DISRUPT, GROUP
from kschedweb.engine.objects.access import Json, each, integer, mapping, moment, objects, string_map, text
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.objects.pod import Pod, Port
from kschedweb.engine.objects.quantity import MILLI
from kschedweb.engine.objects.resources import Counting, PodResources, read_resources
from kschedweb.engine.objects.taints import NO_SCHEDULE, Taint
from kschedweb.engine.objects.volume import PodVolume, read_volumes
from kschedweb.engine.validation.golang import seconds
from kschedweb.engine.values import dataclass

DISRUPTED = Taint(f"{GROUP}/disrupted", "", NO_SCHEDULE)
ENDED = ("Failed", "Succeeded")
PENDING = "Pending"
_AS_KARPENTER = Counting(by_sums=False, of_pod=False, completed=False)
_COST_UNIT, _PRIORITY_UNIT, _MOST_COST = 2.0**27, 2.0**25, 10.0
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class Asking:
    """What pods of a template share. ``requests`` in milli-units, with one of "pods"; ``written`` as quantities."""

    wants: Wants
    requests: Milli
    written: Shown
    ports: tuple[Port, ...]
    claims_devices: bool

    @classmethod
    def read(cls, spec: Json, resources: PodResources) -> Asking:
        total = replace(resources, counting=_AS_KARPENTER).total(status=True)
        requests = {name: amount // MILLI for name, amount in total.items()}
        containers = [*objects(spec, "containers"), *objects(spec, "initContainers")]
        asked = [mapping(mapping(part, "resources"), key) for part in (spec, *containers) for key in _ASKED]
        written = shown(requests, forms([*asked, mapping(spec, "overhead")]))
        claimed = objects(spec, "resourceClaims") or any(
            mapping(part, "resources").get("claims") for part in containers
        )
        return cls(
            wants=read_wants(spec),
            requests=requests | {PODS: MILLI_UNIT},
            written=written | {PODS: count(1)},
            ports=_host_ports(spec),
            claims_devices=bool(claimed),
        )


_ASKED = ("requests", "limits")


@dataclass(frozen=True, slots=True, eq=False)
class PodView:
    """``order`` is how a queue sorts it; ``kind`` is equal for pods that no selector can tell apart."""

    key: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    node: str
    asking: Asking
    phase: str
    terminating: bool
    failed_to_schedule: bool
    nominated: bool
    daemon: bool
    mirror: bool
    stateful: bool
    unready: bool
    created: float
    started: float | None
    protection: str | None  # the annotation karpenter.sh/do-not-disrupt
    eviction_cost: float
    controller_uid: str
    volumes: tuple[PodVolume, ...]
    kind: Hashable = field(repr=False)

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def active(self) -> bool:
        return not self.ended and not self.terminating

    @property
    def provisionable(self) -> bool:
        """Whether it waits for a node that Karpenter may bring."""
        waiting = self.failed_to_schedule and not self.node and not self.nominated
        return waiting and not self.daemon and not self.mirror

    @property
    def reschedulable(self) -> bool:
        """Whether it has to go somewhere else where its node goes."""
        lives = self.active or (self.stateful and self.terminating)
        return lives and not self.daemon and not self.mirror

    @property
    def order(self) -> tuple[int, int, float, str]:
        requests = self.asking.requests
        return -requests.get("cpu", 0), -requests.get("memory", 0), self.created, self.uid

    def with_terms(self, terms: tuple[Term, ...] | None) -> PodView:
        """The pod with other required node affinity, where there are any."""
        if terms is None:
            return self
        wants = replace(self.asking.wants, required=terms, _relaxed={}, _tolerates={})
        return replace(self, asking=replace(self.asking, wants=wants))

    def protected(self, now: float) -> bool:
        """Whether it must not be disrupted, for ever or until it has run for some time."""
        if self.protection is None or self.protection == "true":
            return self.protection is not None
        try:
            duration = seconds(self.protection)
        except ValueError:
            return False
        return duration > 0 and (self.started is None or now - self.started < duration)

    def disruptable(self, now: float) -> bool:
        return not self.active or not self.protected(now)

    def evictable(self, now: float) -> bool:
        """Whether Karpenter would ask for its eviction."""
        stays = self.asking.wants.tolerates((DISRUPTED,)) or self.mirror
        return self.active and not stays and not self.protected(now)


def read_pod(raw: Json, known: dict[int, Asking]) -> PodView:
    """Raises ObjectError. ``known``: what is asked for by template."""
    pod = Pod.read(raw)
    metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
    if pod.template not in known:
        known[pod.template] = Asking.read(spec, pod.resources)
    asking = known[pod.template]
    conditions = [
        (text(one, "type", at), text(one, "status", at), text(one, "reason", at))
        for one, at in each(status, "conditions", "status.")
    ]
    waits = not pod.node_name and not conditions
    annotations = string_map(metadata, "annotations", "metadata.")
    owners = [
        (text(one, "apiVersion", at), text(one, "kind", at))
        for one, at in each(metadata, "ownerReferences", "metadata.")
    ]
    created = moment(metadata, "creationTimestamp", "metadata.")
    return PodView(
        key=pod.key,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        labels=pod.labels,
        node=pod.node_name,
        asking=asking,
        phase=text(status, "phase", "status.") or ("" if pod.node_name else PENDING),
        terminating=pod.terminating,
        failed_to_schedule=waits or any(one[0] == "PodScheduled" and one[2] == "Unschedulable" for one in conditions),
        nominated=bool(pod.nominated_node),
        daemon=("apps/v1", "DaemonSet") in owners,
        mirror=("v1", "Node") in owners,
        stateful=("apps/v1", "StatefulSet") in owners,
        unready=("Ready", "False") in [one[:2] for one in conditions],
        created=-inf if created is None else created,
        started=moment(status, "startTime", "status."),
        protection=annotations.get(DO_NOT_DISRUPT),
        eviction_cost=_eviction_cost(annotations, spec),
        controller_uid=_controller_uid(metadata),
        volumes=pod.volumes,
        kind=(pod.namespace, frozenset(pod.labels.items())),
    )


def pod_of_daemon_set(raw: Json) -> PodView:
    """The pod that a DaemonSet's template describes; raises ObjectError."""
    metadata = mapping(raw, "metadata")
    template = mapping(mapping(raw, "spec"), "template", "spec.")
    spec = mapping(template, "spec", "spec.template.")
    name, namespace = text(metadata, "name", "metadata."), text(metadata, "namespace", "metadata.") or "default"
    asking = Asking.read(spec, read_resources(spec, {}))
    return PodView(
        key=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        uid="",
        labels={},
        node="",
        asking=asking,
        phase="",
        terminating=False,
        failed_to_schedule=False,
        nominated=False,
        daemon=False,
        mirror=False,
        stateful=False,
        unready=False,
        created=-inf,
        started=None,
        protection=None,
        eviction_cost=1.0,
        controller_uid="",
        volumes=read_volumes(spec, name),
        kind=(namespace, frozenset()),
    )


def _eviction_cost(annotations: dict[str, str], spec: Json) -> float:
    """What the eviction of a pod costs: 1, more or less by annotations and priority."""
    cost, said = 1.0, annotations.get(DISRUPTION_COST, annotations.get(DELETION_COST))
    number = None if said is None else parse_int(said)
    if number is not None and number in _INT32:
        cost += number / _COST_UNIT
    if spec.get("priority") is not None:
        cost += integer(spec, "priority", path="spec.") / _PRIORITY_UNIT
    return min(max(cost, -_MOST_COST), _MOST_COST)


def _controller_uid(metadata: Json) -> str:
    for owner, at in each(metadata, "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return text(owner, "uid", at)
    return ""


def _host_ports(spec: Json) -> tuple[Port, ...]:
    """The ports of the node that its containers take; init containers do not count."""
    found = []
    for container, path in each(spec, "containers", "spec."):
        for port, at in each(container, "ports", path):
            number = integer(port, "hostPort", path=at)
            if number:
                found.append((text(port, "hostIP", at) or "0.0.0.0", text(port, "protocol", at), number))  # noqa: S104
    return tuple(found)
