"""A pod as the descheduler reads it, much of it from its metadata and status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from datetime import UTC, datetime
from functools import cached_property

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.quantities import Quantity, to_quantity
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, Container, Counting, PodResources
from kschedweb.engine.values import dataclass

# Seconds of Go's longest duration, which is the age of a pod without a date.
FOREVER = 9223372036
SUCCEEDED, FAILED, PENDING, RUNNING = "Succeeded", "Failed", "Pending", "Running"
BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"
EVICT = "descheduler.alpha.kubernetes.io/evict"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
# The descheduler adds no default to the requests of the pod as a whole.
_AS_WRITTEN = Counting(by_sums=True, completed=False)


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference of a pod."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ContainerState:
    """The state of a container in the pod's status."""

    restarts: int
    # The reason; None if it does not wait.
    waiting: str | None
    # The reason; None if it has not terminated.
    terminated: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a pod."""

    type: str
    status: str
    reason: str
    # Seconds of the epoch.
    since: float | None


class PodRequests:
    """The requests of a pod's containers in nano-units, without defaults. Pods of a template share it."""

    def __init__(self, spec: Json) -> None:
        self._parts = _read_parts(spec)
        self._forms = _quantity_forms(spec)
        # True if the pod has a node selector or node affinity, even an empty one.
        self.bound = (
            spec.get("nodeSelector") is not None or get_mapping(spec, "affinity").get("nodeAffinity") is not None
        )
        self.images = tuple(
            get_string(container, "image", at) for container, at in get_objects_and_paths(spec, "containers", "spec.")
        )

    @cached_property
    def requests(self) -> Amounts:
        """The requests of the pod in nano-units."""
        return PodResources(*self._parts, counting=_AS_WRITTEN).total()

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """The same as quantities that keep their notation."""
        return {name: Quantity(amount, -9, format=self._forms[name]) for name, amount in self.requests.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """The resources that any container requests."""
        containers, inits, _, _ = self._parts
        return frozenset(name for container in (*containers, *inits) for name in container.requests)

    @cached_property
    def qos_class(self) -> str:
        """The quality of service class computed from requests and limits."""
        containers, inits, _, _ = self._parts
        parts = (*containers, *inits)
        requests = _sum_cpu_and_memory(container.requests for container in parts)
        limits = _sum_cpu_and_memory(container.limits for container in parts)
        if not requests and not limits:
            return BEST_EFFORT
        limited = all(all(container.limits.get(name) for name in (CPU, MEMORY)) for container in parts)
        return GUARANTEED if limited and requests == limits else BURSTABLE


class PodView:
    """A pod with the fields that plugins read."""

    def __init__(self, pod: Pod, resources: PodRequests) -> None:
        self.pod, self.resources = pod, resources
        self.key, self.namespace, self.name, self.node = pod.key, pod.namespace, pod.name, pod.node_name
        metadata, spec, status = (get_mapping(pod.raw, part) for part in ("metadata", "spec", "status"))
        self.spec, self.status = spec, status
        self.annotations = get_string_map(metadata, "annotations", "metadata.")
        self.owners = tuple(
            Owner(get_string(owner, "kind", at), get_string(owner, "name", at), get_string(owner, "uid", at))
            for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata.")
        )
        self.phase, self.reason = get_string(status, "phase", "status."), get_string(status, "reason", "status.")
        self.priority = None if spec.get("priority") is None else get_integer(spec, "priority", path="spec.")
        self.created = get_time(metadata, "creationTimestamp", "metadata.")
        self.started = get_time(status, "startTime", "status.")
        self.states = _container_states(status, "containerStatuses")
        self.init_states = _container_states(status, "initContainerStatuses")
        self.ephemeral_states = _container_states(status, "ephemeralContainerStatuses")
        self.conditions = tuple(
            Condition(
                type=get_string(condition, "type", at),
                status=get_string(condition, "status", at),
                reason=get_string(condition, "reason", at),
                since=get_time(condition, "lastTransitionTime", at),
            )
            for condition, at in get_objects_and_paths(status, "conditions", "status.")
        )
        self.volumes = get_objects(spec, "volumes", "spec.")
        self._named_quality = get_string(status, "qosClass", "status.")

    @property
    def is_done(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)

    @property
    def is_ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.conditions)

    def age_seconds(self, now: float) -> float:
        """Return the seconds since the pod was created."""
        return FOREVER if self.created is None else now - self.created

    @property
    def qos_class(self) -> str:
        """The quality of service class: that of the status, else computed as the descheduler does."""
        return self._named_quality or self.resources.qos_class

    @property
    def tie_breaks(self) -> tuple[int | None, str, bool]:
        """The values by which `sort_by_priority` compares pods."""
        return self.priority, self.qos_class, PREFER_NO_EVICTION in self.annotations


def read_pod_view(raw: Json, requests_by_template: dict[int, PodRequests], pod: Pod | None = None) -> PodView:
    """Return the view of a pod, which is read from ``raw`` unless given; raise ObjectError.

    ``requests_by_template`` holds the requests of known templates, and gets those of this pod.
    """
    pod = pod or Pod.from_json(raw)
    if pod.template not in requests_by_template:
        requests_by_template[pod.template] = PodRequests(get_mapping(raw, "spec"))
    return PodView(pod, requests_by_template[pod.template])


def renew_pod(raw: Json, node: str, created: float, started: float) -> Json:
    """Return the pod as the API server shows it once it runs on ``node`` ("" for waiting).

    Times are seconds of the epoch.
    """
    metadata = {**get_mapping(raw, "metadata"), "creationTimestamp": _format_time(created)}
    metadata.pop("deletionTimestamp", None)
    spec, old = {**get_mapping(raw, "spec"), "nodeName": node}, get_mapping(raw, "status")
    status_base = {name: old[name] for name in ("qosClass",) if name in old}
    if not node:
        return {**raw, "metadata": metadata, "spec": spec, "status": {**status_base, "phase": PENDING}}
    since = _format_time(started)
    ready: list[Json] = [
        {"type": name, "status": "True", "lastTransitionTime": since} for name in ("PodScheduled", "Ready")
    ]
    # Containers run from the start: their restarts and ends are their predecessors'.
    status = {**status_base, "phase": RUNNING, "startTime": since, "conditions": ready}
    return {**raw, "metadata": metadata, "spec": spec, "status": status}


def _format_time(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _container_states(status: Json, key: str) -> tuple[ContainerState, ...]:
    """Read the states of containers under ``status[key]``."""
    states = []
    for container_status, at in get_objects_and_paths(status, key, "status."):
        state = get_mapping(container_status, "state", at)
        waiting, terminated = state.get("waiting"), state.get("terminated")
        inside = f"{at}state."
        states.append(
            ContainerState(
                get_integer(container_status, "restartCount", path=at),
                None
                if waiting is None
                else get_string(get_mapping(state, "waiting", inside), "reason", f"{inside}waiting."),
                None
                if terminated is None
                else get_string(get_mapping(state, "terminated", inside), "reason", f"{inside}terminated."),
                None if terminated is None else get_integer(terminated, "exitCode", path=f"{inside}terminated."),
            )
        )
    return tuple(states)


def _read_parts(spec: Json) -> tuple[tuple[Container, ...], tuple[Container, ...], Amounts, Amounts | None]:
    """Return containers, init containers, overhead and requests of the pod as a whole, as they are written."""

    def read_containers(key: str) -> tuple[Container, ...]:
        return tuple(
            Container(
                get_string(container, "name", at),
                read_quantities(get_mapping(container, "resources", at), "requests", f"{at}resources."),
                container.get("restartPolicy") == "Always",
                limits=read_quantities(get_mapping(container, "resources", at), "limits", f"{at}resources."),
            )
            for container, at in get_objects_and_paths(spec, key, "spec.")
        )

    whole = get_mapping(spec, "resources", "spec.")
    pod_requests = read_quantities(whole, "requests", "spec.resources.") if whole.get("requests") is not None else None
    return (
        read_containers("containers"),
        read_containers("initContainers"),
        read_quantities(spec, "overhead", "spec."),
        pod_requests,
    )


def _quantity_forms(spec: Json) -> dict[str, str]:
    """Return the notation in which each resource is requested first.

    Raise ObjectError for a text that is too long for a quantity.
    """
    containers = [*get_objects(spec, "containers"), *get_objects(spec, "initContainers")]
    request_lists = [get_mapping(get_mapping(part, "resources"), "requests") for part in (spec, *containers)]
    forms: dict[str, str] = {}
    for name, value in (item for listed in (*request_lists, get_mapping(spec, "overhead")) for item in listed.items()):
        try:
            forms.setdefault(name, to_quantity(str(value)).format)
        except (EvaluationError, ExpressionError) as error:
            raise ObjectError(f"spec: a quantity of {name}: {error}") from None
    return forms


def _sum_cpu_and_memory(lists: Iterable[Amounts]) -> Amounts:
    """Return the sums of positive amounts of CPU and memory, which decide the quality of service."""
    total: Amounts = {}
    for amounts in lists:
        for name in (CPU, MEMORY):
            if amounts.get(name, 0) > 0:
                total[name] = total.get(name, 0) + amounts[name]
    return total


# (number of the pod, pod).
Group = list[tuple[int, PodView]]


class LabelGroups:
    """Pods in a fixed order, grouped by namespace and labels.

    A selector is matched once for each group; one that requires a label, only with the groups that have it.
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

    def _candidate_groups(self, selector: Selector) -> Iterable[Group]:
        """Return groups that include all that ``selector`` matches."""
        equalities = selector.equalities
        if not equalities:
            return self._groups.values()
        return min((self._labelled.get(label, []) for label in equalities), key=len)

    def select_pods(self, selector: Selector, namespaces: Collection[str] | None = None) -> list[PodView]:
        """Return the pods that ``selector`` matches, in their order, only in ``namespaces`` if given."""
        selected: Group = []
        for group in self._candidate_groups(selector):
            first = group[0][1]
            if (namespaces is None or first.namespace in namespaces) and selector.matches(first.pod.labels):
                selected += group
        return [pod for _, pod in sorted(selected, key=lambda entry: entry[0])]


PodFilter = Callable[[PodView], bool]


def build_filter(args: Json, selector: Selector | None, then: PodFilter | None = None) -> PodFilter:
    """Return a filter for pods in the namespaces and with the labels of ``args`` that pass ``then``.

    As the descheduler's `BuildFilterFunc` does.
    """
    namespaces = args.get("namespaces") or {}
    included, excluded = (frozenset(namespaces.get(side) or ()) for side in ("include", "exclude"))

    def passes_scope(pod: PodView) -> bool:
        if (included and pod.namespace not in included) or pod.namespace in excluded:
            return False
        if selector is not None and not selector.matches(pod.pod.labels):
            return False
        return then is None or then(pod)

    return passes_scope
