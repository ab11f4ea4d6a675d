"""A pod as the descheduler looks at it: much of it is in its metadata and status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.quantities import Quantity, quantity
from kschedweb.engine.objects.access import (
    Json,
    ObjectError,
    each,
    integer,
    mapping,
    moment,
    objects,
    string_map,
    text,
)
from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_list
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, Container, Counting, PodResources
from kschedweb.engine.values import dataclass

FOREVER = 9223372036  # seconds: the longest duration there is, which is the age of what has no date
SUCCEEDED, FAILED, PENDING, RUNNING = "Succeeded", "Failed", "Pending", "Running"
BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"
EVICT = "descheduler.alpha.kubernetes.io/evict"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
_AS_WRITTEN = Counting(by_sums=True, completed=False)


@dataclass(frozen=True, slots=True)
class Owner:
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ContainerState:
    restarts: int
    waiting: str | None  # the reason, None where it does not wait
    terminated: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: str
    reason: str
    since: float | None  # seconds of the epoch


class Asked:
    """What the containers of a pod ask for, in nano-units; nothing is defaulted. Pods of a template share it."""

    def __init__(self, spec: Json) -> None:
        self._parts = _parts(spec)
        self._forms = _forms(spec)
        # Whether there is a node selector or node affinity, be it empty.
        self.bound = spec.get("nodeSelector") is not None or mapping(spec, "affinity").get("nodeAffinity") is not None
        self.images = tuple(text(one, "image", at) for one, at in each(spec, "containers", "spec."))

    @cached_property
    def requests(self) -> Amounts:
        """What the pod asks for, in nano-units."""
        return PodResources(*self._parts, counting=_AS_WRITTEN).total()

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """The same as quantities that know how they were written."""
        return {name: Quantity(amount, -9, format=self._forms[name]) for name, amount in self.requests.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """The resources that any container asks for."""
        containers, inits, _, _ = self._parts
        return frozenset(name for one in (*containers, *inits) for name in one.requests)

    @cached_property
    def quality(self) -> str:
        """The quality of service that this comes to."""
        containers, inits, _, _ = self._parts
        parts = (*containers, *inits)
        requests = _sums(one.requests for one in parts)
        limits = _sums(one.limits for one in parts)
        if not requests and not limits:
            return BEST_EFFORT
        limited = all(all(one.limits.get(name) for name in (CPU, MEMORY)) for one in parts)
        return GUARANTEED if limited and requests == limits else BURSTABLE


class PodView:
    """A pod with what plugins ask of it."""

    def __init__(self, pod: Pod, asked: Asked) -> None:
        self.pod, self.asked = pod, asked
        self.key, self.namespace, self.name, self.node = pod.key, pod.namespace, pod.name, pod.node_name
        metadata, spec, status = (mapping(pod.raw, part) for part in ("metadata", "spec", "status"))
        self.spec, self.status = spec, status
        self.annotations = string_map(metadata, "annotations", "metadata.")
        self.owners = tuple(
            Owner(text(one, "kind", at), text(one, "name", at), text(one, "uid", at))
            for one, at in each(metadata, "ownerReferences", "metadata.")
        )
        self.phase, self.reason = text(status, "phase", "status."), text(status, "reason", "status.")
        self.priority = None if spec.get("priority") is None else integer(spec, "priority", path="spec.")
        self.created = moment(metadata, "creationTimestamp", "metadata.")
        self.started = moment(status, "startTime", "status.")
        self.states = _states(status, "containerStatuses")
        self.init_states = _states(status, "initContainerStatuses")
        self.ephemeral_states = _states(status, "ephemeralContainerStatuses")
        self.conditions = tuple(
            Condition(
                type=text(one, "type", at),
                status=text(one, "status", at),
                reason=text(one, "reason", at),
                since=moment(one, "lastTransitionTime", at),
            )
            for one, at in each(status, "conditions", "status.")
        )
        self.volumes = objects(spec, "volumes", "spec.")
        self._named_quality = text(status, "qosClass", "status.")

    @property
    def done(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)

    @property
    def ready(self) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in self.conditions)

    def age(self, now: float) -> float:
        """Whole seconds since the pod was created."""
        return FOREVER if self.created is None else now - self.created

    @property
    def quality(self) -> str:
        """The quality of service, as the descheduler computes it where the status does not name it."""
        return self._named_quality or self.asked.quality

    @property
    def tie_breaks(self) -> tuple[int | None, str, bool]:
        return self.priority, self.quality, PREFER_NO_EVICTION in self.annotations


def view(raw: Json, known: dict[int, Asked], pod: Pod | None = None) -> PodView:
    """Read a pod, unless it is read already; raises ObjectError. ``known``: what is asked for by template."""
    pod = pod or Pod.read(raw)
    if pod.template not in known:
        known[pod.template] = Asked(mapping(raw, "spec"))
    return PodView(pod, known[pod.template])


def renewed(raw: Json, node: str, created: float, started: float) -> Json:
    """The pod as the API server shows it once it runs on ``node`` ("": waits); times are seconds of the epoch."""
    metadata = {**mapping(raw, "metadata"), "creationTimestamp": _written(created)}
    metadata.pop("deletionTimestamp", None)
    spec, old = {**mapping(raw, "spec"), "nodeName": node}, mapping(raw, "status")
    kept = {name: old[name] for name in ("qosClass",) if name in old}
    if not node:
        return {**raw, "metadata": metadata, "spec": spec, "status": {**kept, "phase": PENDING}}
    since = _written(started)
    ready: list[dict[str, Any]] = [
        {"type": name, "status": "True", "lastTransitionTime": since} for name in ("PodScheduled", "Ready")
    ]
    # Containers run from the start: their restarts and ends are their predecessors'.
    status = {**kept, "phase": RUNNING, "startTime": since, "conditions": ready}
    return {**raw, "metadata": metadata, "spec": spec, "status": status}


def _written(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _states(status: Json, key: str) -> tuple[ContainerState, ...]:
    found = []
    for one, at in each(status, key, "status."):
        state = mapping(one, "state", at)
        waiting, terminated = state.get("waiting"), state.get("terminated")
        inside = f"{at}state."
        found.append(
            ContainerState(
                integer(one, "restartCount", path=at),
                None if waiting is None else text(mapping(state, "waiting", inside), "reason", f"{inside}waiting."),
                None
                if terminated is None
                else text(mapping(state, "terminated", inside), "reason", f"{inside}terminated."),
                None if terminated is None else integer(terminated, "exitCode", path=f"{inside}terminated."),
            )
        )
    return tuple(found)


def _parts(spec: Json) -> tuple[tuple[Container, ...], tuple[Container, ...], Amounts, Amounts | None]:
    """Containers, init containers, overhead and what is asked for the pod as a whole, as they are written."""

    def read(key: str) -> tuple[Container, ...]:
        return tuple(
            Container(
                text(one, "name", at),
                read_list(mapping(one, "resources", at), "requests", f"{at}resources."),
                one.get("restartPolicy") == "Always",
                limits=read_list(mapping(one, "resources", at), "limits", f"{at}resources."),
            )
            for one, at in each(spec, key, "spec.")
        )

    whole = mapping(spec, "resources", "spec.")
    asked = read_list(whole, "requests", "spec.resources.") if whole.get("requests") is not None else None
    return read("containers"), read("initContainers"), read_list(spec, "overhead", "spec."), asked


def _forms(spec: Json) -> dict[str, str]:
    """The form in which each resource is asked for first; raises ObjectError for what is too long to be a quantity."""
    containers = [*objects(spec, "containers"), *objects(spec, "initContainers")]
    asked = [mapping(mapping(part, "resources"), "requests") for part in (spec, *containers)]
    forms: dict[str, str] = {}
    for name, value in (item for listed in (*asked, mapping(spec, "overhead")) for item in listed.items()):
        try:
            forms.setdefault(name, quantity(str(value)).format)
        except (EvaluationError, Refused) as error:
            raise ObjectError(f"spec: a quantity of {name}: {error}") from None
    return forms


def _sums(lists: Iterable[Amounts]) -> Amounts:
    """The sums of what is above 0 of CPU and memory, which is all that quality of service goes by."""
    total: Amounts = {}
    for amounts in lists:
        for name in (CPU, MEMORY):
            if amounts.get(name, 0) > 0:
                total[name] = total.get(name, 0) + amounts[name]
    return total


Group = list[tuple[int, PodView]]


class LabelGroups:
    """Pods in a fixed order, grouped by namespace and labels.

    A selector is asked once of each group; one that asks for a label, of the groups with that label alone.
    """

    def __init__(self, pods: Iterable[PodView]) -> None:
        self._groups: dict[Hashable, Group] = {}
        self._labelled: dict[tuple[str, str], list[Group]] = defaultdict(list)
        for number, pod in enumerate(pods):
            key = pod.namespace, frozenset(pod.pod.labels.items())
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = []
                for label in pod.pod.labels.items():
                    self._labelled[label].append(group)
            group.append((number, pod))

    def _about(self, selector: Selector) -> Iterable[Group]:
        """Groups among which are all that ``selector`` matches."""
        sought = selector.equalities
        if not sought:
            return self._groups.values()
        return min((self._labelled.get(label, []) for label in sought), key=len)

    def selected(self, selector: Selector, namespaces: Collection[str] | None = None) -> list[PodView]:
        """The pods that ``selector`` matches, in ``namespaces`` where those are given, in their order."""
        found: Group = []
        for group in self._about(selector):
            first = group[0][1]
            if (namespaces is None or first.namespace in namespaces) and selector.matches(first.pod.labels):
                found += group
        return [pod for _, pod in sorted(found, key=lambda one: one[0])]


PodFilter = Callable[[PodView], bool]


def scope(args: dict[str, Any], selector: Selector | None, then: PodFilter | None = None) -> PodFilter:
    """The pods in the namespaces and with the labels that ``args`` name, of those the ones that ``then`` lets pass."""
    namespaces = args.get("namespaces") or {}
    included, excluded = (frozenset(namespaces.get(side) or ()) for side in ("include", "exclude"))

    def passes(pod: PodView) -> bool:
        if (included and pod.namespace not in included) or pod.namespace in excluded:
            return False
        if selector is not None and not selector.matches(pod.pod.labels):
            return False
        return then is None or then(pod)

    return passes
