"""The amounts that a pod requests of a node: the sum over its containers as Kubernetes computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects, get_objects_and_paths, get_string
from kschedweb.engine.objects.labels import is_qualified_name
from kschedweb.engine.objects.quantity import NANO, read_quantities, round_to_unit
from kschedweb.engine.values import dataclass

CPU, MEMORY, EPHEMERAL = "cpu", "memory", "ephemeral-storage"
# The scheduler's defaults for containers without requests (`DefaultMilliCPURequest`, `DefaultMemoryRequest`), in
# nano-units.
DEFAULT_REQUESTS = {CPU: NANO // 10, MEMORY: 200 * 1024 * 1024 * NANO}

# Resource name -> amount, in nano-units unless stated otherwise.
Amounts = dict[str, int]


def is_extended(name: str) -> bool:
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


def is_scalar(name: str) -> bool:
    """Return True if the scheduler counts ``name`` besides CPU, memory and ephemeral storage."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def round_to_units(amounts: Amounts) -> Amounts:
    """Return amounts in nano-units in the scheduler's units."""
    return {name: round_to_unit(name, amount) for name, amount in amounts.items()}


@dataclass(frozen=True)
class Counting:
    """The way in which a release counts the amounts that a running pod takes."""

    # True to compare the sums of requests, actual and allocated resources; False to compare them by container.
    by_sums: bool
    # True if the kubelet's report for the pod as a whole counts.
    of_pod: bool = True
    # True if the API server adds the containers' requests to those of the pod as a whole.
    completed: bool = True
    # True if the sum of requests on a node stops at the largest int64; False if it wraps around.
    saturating: bool = False


# The counting of the release that is used where a document names none.
COUNTING = Counting(by_sums=True)


@dataclass(frozen=True, slots=True)
class Running:
    """The resources that the kubelet reports for a container or pod; ``None`` if it reports none."""

    # True if the status has `resources`, even empty ones.
    is_reported: bool
    # The requests in effect.
    actuated: Amounts | None
    # The requests that the kubelet has accepted.
    allocated: Amounts | None

    @property
    def both(self) -> tuple[Amounts, Amounts]:
        return self.actuated or {}, self.allocated or {}


@dataclass(frozen=True, slots=True)
class Container:
    """The amounts of one container in nano-units."""

    name: str
    requests: Amounts
    sidecar: bool = False
    # True for an init container that ends before the others start.
    passing: bool = False
    # The kubelet's report, if there is one.
    running: Running | None = None
    # Resources without a limit are missing.
    limits: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodResources:
    """The resources of a pod before they are summed, and their sums in milli-CPU and whole units."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    overhead: Amounts
    # Requests of the pod as a whole.
    pod_requests: Amounts | None = None
    pod_running: Running | None = None
    resize_infeasible: bool = False
    resize_deferred: bool = False
    counting: Counting = COUNTING

    @property
    def reported(self) -> bool:
        """True if the kubelet reports resources of the pod, so that releases may count it differently."""
        running = any(container.running for container in (*self.containers, *self.init_containers))
        return running or self.pod_running is not None or self.resize_infeasible

    @property
    def pod_level_set(self) -> bool:
        return any(is_pod_level(name) for name in self._pod_level_requests())

    @property
    def requests(self) -> Amounts:
        """The requests with which the pod is scheduled."""
        return round_to_units(self.total())

    @property
    def occupied(self) -> Amounts:
        """The amounts that the pod takes of its node."""
        return round_to_units(self.total(status=True))

    @property
    def occupied_nonzero(self) -> tuple[int, int]:
        """The same in (milli-CPU, bytes), with defaults for missing requests."""
        defaults = DEFAULT_REQUESTS
        if self.pod_level_set:
            requested = self.total(status=True)
            defaults = {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in requested}
        total = round_to_units(self.total(status=True, defaults=defaults))
        return total.get(CPU, 0), total.get(MEMORY, 0)

    @property
    def scoring_requests(self) -> Amounts:
        """The requests for NodeResourcesFit's score: with defaults, without pod-level resources."""
        return round_to_units(self.total(at_pod_level=False, defaults=DEFAULT_REQUESTS))

    @property
    def pod_level_scoring_requests(self) -> Amounts:
        """The same of the pod as a whole, with resources in its status."""
        return round_to_units(self.total(status=True, defaults=DEFAULT_REQUESTS))

    @property
    def evicted(self) -> Amounts:
        """The amounts that the kubelet expects the end of the pod to free.

        If the pod has requests as a whole, those of its containers do not count.
        """
        freed = self._at_pod_level(status=False) if self.pod_level_set else self._sum_containers(_get_requests, None)
        return round_to_units({name: amount + self.overhead.get(name, 0) for name, amount in freed.items() if amount})

    def total(self, *, at_pod_level: bool = True, status: bool = False, defaults: Amounts | None = None) -> Amounts:
        """Return the pod's requests in nano-units.

        With ``at_pod_level`` the values for the pod as a whole replace the sum. With ``status`` a running container
        counts with its actual resources. ``defaults`` are the requests of a container that does not name a resource.
        """
        if status and self.counting.by_sums:
            total = self._max_of_sums(defaults)
        else:
            total = self._sum_containers(self._larger_amounts if status else _get_requests, defaults)
        if at_pod_level and self.pod_level_set:
            total.update(self._at_pod_level(status))
        _add_amounts(total, self.overhead)
        return total

    def _sum_containers(self, share: Callable[[Container], Amounts], defaults: Amounts | None) -> Amounts:
        """Return the sum over the containers, or the peak of the init phase if that is higher."""

        def container_amounts(container: Container) -> Amounts:
            return {**defaults, **share(container)} if defaults else share(container)

        total: Amounts = {}
        for container in self.containers:
            _add_amounts(total, container_amounts(container))
        # Init containers run one after the other, each beside the sidecars before it.
        sidecars: Amounts = {}
        peak: Amounts = {}
        for container in self.init_containers:
            amounts = container_amounts(container)
            candidate = dict(sidecars)
            _add_amounts(candidate, amounts)
            if container.sidecar:
                _add_amounts(total, amounts)
                sidecars = candidate
            _raise_amounts(peak, candidate)
        _raise_amounts(total, peak)
        return total

    def _larger_amounts(self, container: Container) -> Amounts:
        """Return the largest of a container's requests, actual and allocated resources, as up to 1.36."""
        if container.running is None or not container.running.is_reported or container.passing:
            return container.requests
        return self._effective_amounts(container.requests, *container.running.both)

    def _max_of_sums(self, defaults: Amounts | None) -> Amounts:
        """Return the largest of the containers' sums of the three, as since 1.37."""
        whole = self.pod_running if self.counting.of_pod else None
        if whole and whole.actuated is not None and whole.allocated is not None:
            reported = whole.both
        elif self.reported:
            reported = (
                self._sum_containers(self._actuated_amounts, defaults),
                self._sum_containers(self._allocated_amounts, defaults),
            )
        else:
            return self._sum_containers(_get_requests, defaults)
        return self._effective_amounts(self._sum_containers(_get_requests, defaults), *reported)

    def _allocated_amounts(self, container: Container) -> Amounts:
        if container.running and container.running.allocated is not None:
            return container.running.allocated
        return {} if self.resize_infeasible else container.requests

    def _actuated_amounts(self, container: Container) -> Amounts:
        if container.running and container.running.actuated is not None:
            return container.running.actuated
        return self._allocated_amounts(container)

    def _effective_amounts(self, spec: Amounts, actuated: Amounts, allocated: Amounts) -> Amounts:
        # A resize that cannot be done does not count.
        effective: Amounts = {} if self.resize_infeasible else dict(spec)
        _raise_amounts(effective, actuated)
        _raise_amounts(effective, allocated)
        return effective

    def _at_pod_level(self, status: bool) -> Amounts:
        """Return the values for the pod as a whole, or higher ones that the kubelet reports."""
        requested, running = self._pod_level_requests(), self.pod_running
        if not (status and self.counting.of_pod and running and running.is_reported):
            return {name: amount for name, amount in requested.items() if is_pod_level(name)}
        effective = self._effective_amounts(requested, *running.both)
        names = effective if self.counting.by_sums else requested
        return {name: effective.get(name, 0) for name in names if is_pod_level(name)}

    def _pod_level_requests(self) -> Amounts:
        """Return the requests of the pod as a whole, with what the API server adds of its containers."""
        if not self.pod_requests or not self.counting.completed:
            return self.pod_requests or {}
        together = self._sum_containers(_get_requests, None)
        return {name: together[name] for name in (CPU, MEMORY) if name in together} | self.pod_requests


def _get_requests(container: Container) -> Amounts:
    return container.requests


def _add_amounts(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_amounts(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def read_resources(spec: Json, status: Json) -> PodResources:
    """Read the resources in a pod's spec and status, with the API server's defaults (requests from limits)."""
    reported = {
        get_string(item, "name", at): (item, at)
        for key in ("containerStatuses", "initContainerStatuses")
        for item, at in get_objects_and_paths(status, key, "status.")
    }
    containers = tuple(
        _read_container(item, reported, at) for item, at in get_objects_and_paths(spec, "containers", "spec.")
    )
    inits = tuple(
        _read_container(item, reported, at, init=True)
        for item, at in get_objects_and_paths(spec, "initContainers", "spec.")
    )
    resources = PodResources(containers, inits, read_quantities(spec, "overhead", "spec."))
    pod_requests, pod_running = _pod_level(spec, status, resources)
    resize = next((c for c in get_objects(status, "conditions", "status.") if c.get("type") == "PodResizePending"), {})
    infeasible, deferred = (resize.get("reason") == reason for reason in ("Infeasible", "Deferred"))
    return PodResources(containers, inits, resources.overhead, pod_requests, pod_running, infeasible, deferred)


def _read_container(raw: Json, reported: dict[str, tuple[Json, str]], path: str, *, init: bool = False) -> Container:
    raw_resources, name = get_mapping(raw, "resources", path), get_string(raw, "name", path)
    limits = read_quantities(raw_resources, "limits", f"{path}resources.")
    requests = read_quantities(raw_resources, "requests", f"{path}resources.")
    running = _read_running(*reported.get(name, ({}, "")))
    sidecar = raw.get("restartPolicy") == "Always"
    return Container(name, {**limits, **requests}, sidecar, init and not sidecar, running, limits)


def _read_running(status: Json, path: str) -> Running | None:
    """Return the report in the status of a container or pod; ``None`` if there is none."""
    resources = get_mapping(status, "resources", path)
    actuated = (
        read_quantities(resources, "requests", f"{path}resources.") if resources.get("requests") is not None else None
    )
    has_allocated = status.get("allocatedResources") is not None
    allocated = read_quantities(status, "allocatedResources", path) if has_allocated else None
    has_resources = status.get("resources") is not None
    return Running(has_resources, actuated, allocated) if has_resources or has_allocated else None


def _pod_level(spec: Json, status: Json, resources: PodResources) -> tuple[Amounts | None, Running | None]:
    """Return requests and the kubelet's report of the pod as a whole, with the API server's defaults."""
    running = _read_running(status, "status.")
    if spec.get("resources") is None:
        return None, running
    raw_resources = get_mapping(spec, "resources", "spec.")
    requests = read_quantities(raw_resources, "requests", "spec.resources.")
    limits = read_quantities(raw_resources, "limits", "spec.resources.")
    if requests or limits:
        pages = {name: amount for name, amount in _container_limits(spec).items() if name.startswith("hugepages-")}
        limits = {name: amount for name, amount in pages.items() if name not in requests} | limits
    if limits:
        together = PodResources(resources.containers, resources.init_containers, {}).total()
        # The API server derives missing requests from the containers first, then from the limits.
        asked_of_containers = {name: amount for name, amount in together.items() if name in (CPU, MEMORY)}
        allowed = {name: amount for name, amount in limits.items() if is_pod_level(name)}
        requests = allowed | asked_of_containers | requests
    return requests, running


def read_limits(spec: Json) -> Amounts:
    """Return the amounts that a pod may use in nano-units.

    They are its containers' limits, summed as requests are, or those of the pod as a whole.
    """
    limits = _container_limits(spec)
    if spec.get("resources") is not None:
        limits |= read_quantities(get_mapping(spec, "resources", "spec."), "limits", "spec.resources.")
    _add_amounts(
        limits, {name: amount for name, amount in read_quantities(spec, "overhead", "spec.").items() if name in limits}
    )
    return limits


def _container_limits(spec: Json) -> Amounts:
    """Return the limits of all containers, summed as requests are."""

    def limit_containers(key: str) -> tuple[Container, ...]:
        return tuple(
            Container(
                get_string(item, "name", at),
                read_quantities(get_mapping(item, "resources", at), "limits", f"{at}resources."),
                item.get("restartPolicy") == "Always",
            )
            for item, at in get_objects_and_paths(spec, key, "spec.")
        )

    return PodResources(limit_containers("containers"), limit_containers("initContainers"), {}).total()
