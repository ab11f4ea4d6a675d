"""What a pod asks of a node: the sum over its containers as Kubernetes computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kschedweb.engine.objects.access import Json, each, mapping, objects, text
from kschedweb.engine.objects.labels import is_qualified_name
from kschedweb.engine.objects.quantity import NANO, read_list, whole
from kschedweb.engine.values import dataclass

CPU, MEMORY, EPHEMERAL = "cpu", "memory", "ephemeral-storage"
# What the scheduler assumes of a container that asks for nothing, where it compares use.
DEFAULT_REQUESTS = {CPU: NANO // 10, MEMORY: 200 * 1024 * 1024 * NANO}

Amounts = dict[str, int]


def is_extended(name: str) -> bool:
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


def is_scalar(name: str) -> bool:
    """Whether the scheduler counts ``name`` beside CPU, memory and ephemeral storage."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def units(amounts: Amounts) -> Amounts:
    """Nano-units to what the scheduler counts."""
    return {name: whole(name, amount) for name, amount in amounts.items()}


@dataclass(frozen=True)
class Counting:
    """How releases count what a running pod takes.

    ``by_sums``: the sums of what its containers ask for, have and were promised are compared, not each container's.
    ``of_pod``: what the kubelet reports for the pod as a whole counts. ``completed``: to what is asked for the pod as a
    whole the API server has added what its containers ask for together.
    """

    by_sums: bool
    of_pod: bool = True
    completed: bool = True


COUNTING = Counting(by_sums=True)
"""As the release counts that is meant where a document says nothing."""


@dataclass(frozen=True, slots=True)
class Running:
    """What the kubelet reports that a container, or the pod, has and was promised; ``None`` where it does not say.

    ``known``: it reports what the container has, be that nothing.
    """

    known: bool
    actuated: Amounts | None
    allocated: Amounts | None

    @property
    def both(self) -> tuple[Amounts, Amounts]:
        return self.actuated or {}, self.allocated or {}


@dataclass(frozen=True, slots=True)
class Container:
    """One container's share in nano-units: asked for, at most, and, once running, as the kubelet reports it.

    ``passing``: an init container that ends before the others start.
    """

    name: str
    requests: Amounts
    sidecar: bool = False
    passing: bool = False
    running: Running | None = None
    limits: Amounts = field(default_factory=dict)  # only what has a limit


@dataclass(frozen=True, slots=True)
class PodResources:
    """The resources of a pod, before they are summed, and their sums in milli-CPU and whole units."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    overhead: Amounts
    pod_requests: Amounts | None = None
    pod_running: Running | None = None
    resize_infeasible: bool = False
    resize_deferred: bool = False
    counting: Counting = COUNTING

    @property
    def reported(self) -> bool:
        """Whether the kubelet says anything of what the pod has, so that releases may count otherwise."""
        running = any(one.running for one in (*self.containers, *self.init_containers))
        return running or self.pod_running is not None or self.resize_infeasible

    @property
    def pod_level_set(self) -> bool:
        return any(pod_level(name) for name in self._asked_of_pod())

    @property
    def requests(self) -> Amounts:
        """What the pod asks for when it comes in."""
        return units(self.total())

    @property
    def occupied(self) -> Amounts:
        """What the pod takes from the node it is on."""
        return units(self.total(status=True))

    @property
    def occupied_nonzero(self) -> tuple[int, int]:
        """(milli-CPU, bytes) taken from its node, with defaults for what is not asked for."""
        defaults = DEFAULT_REQUESTS
        if self.pod_level_set:
            asked = self.total(status=True)
            defaults = {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in asked}
        total = units(self.total(status=True, defaults=defaults))
        return total.get(CPU, 0), total.get(MEMORY, 0)

    @property
    def scoring_requests(self) -> Amounts:
        """What NodeResourcesFit scores with: container defaults in, pod-level resources left out."""
        return units(self.total(at_pod_level=False, defaults=DEFAULT_REQUESTS))

    @property
    def evicted(self) -> Amounts:
        """What the kubelet takes the end of the pod to free. Where the pod asks as a whole, no container counts."""
        asked = self._at_pod_level(status=False) if self.pod_level_set else self._sum(_asked, None)
        return units({name: amount + self.overhead.get(name, 0) for name, amount in asked.items() if amount})

    def total(self, *, at_pod_level: bool = True, status: bool = False, defaults: Amounts | None = None) -> Amounts:
        """The pod's requests in nano-units.

        ``at_pod_level``: values set for the pod as a whole replace the sum. ``status``: a running container counts
        with what it really has. ``defaults``: what a container that does not name a resource is taken to ask for.
        """
        if status and self.counting.by_sums:
            total = self._greatest_sum(defaults)
        else:
            total = self._sum(self._larger if status else _asked, defaults)
        if at_pod_level and self.pod_level_set:
            total.update(self._at_pod_level(status))
        _add(total, self.overhead)
        return total

    def _sum(self, share: Callable[[Container], Amounts], defaults: Amounts | None) -> Amounts:
        """The sum of the containers' shares, or what an init container needs beside those before it."""

        def of(container: Container) -> Amounts:
            return {**defaults, **share(container)} if defaults else share(container)

        total: Amounts = {}
        for container in self.containers:
            _add(total, of(container))
        sidecars: Amounts = {}
        peak: Amounts = {}
        for container in self.init_containers:
            amounts = of(container)
            candidate = dict(sidecars)
            _add(candidate, amounts)
            if container.sidecar:
                _add(total, amounts)
                sidecars = candidate
            _raise(peak, candidate)
        _raise(total, peak)
        return total

    def _larger(self, container: Container) -> Amounts:
        """The larger of what the container asks for, has and was promised, up to 1.36."""
        if container.running is None or not container.running.known or container.passing:
            return container.requests
        return self._running(container.requests, *container.running.both)

    def _greatest_sum(self, defaults: Amounts | None) -> Amounts:
        """The largest of the sums of what the containers ask for, have and were promised, since 1.37."""
        whole = self.pod_running if self.counting.of_pod else None
        if whole and whole.actuated is not None and whole.allocated is not None:
            reported = whole.both
        elif self.reported:
            reported = self._sum(self._actuated, defaults), self._sum(self._allocated, defaults)
        else:
            return self._sum(_asked, defaults)
        return self._running(self._sum(_asked, defaults), *reported)

    def _allocated(self, container: Container) -> Amounts:
        if container.running and container.running.allocated is not None:
            return container.running.allocated
        return {} if self.resize_infeasible else container.requests

    def _actuated(self, container: Container) -> Amounts:
        if container.running and container.running.actuated is not None:
            return container.running.actuated
        return self._allocated(container)

    def _running(self, spec: Amounts, actuated: Amounts, allocated: Amounts) -> Amounts:
        effective: Amounts = {} if self.resize_infeasible else dict(spec)
        _raise(effective, actuated)
        _raise(effective, allocated)
        return effective

    def _at_pod_level(self, status: bool) -> Amounts:
        """What is set for the pod as a whole, larger where the kubelet reports more."""
        asked, running = self._asked_of_pod(), self.pod_running
        if not (status and self.counting.of_pod and running and running.known):
            return {name: amount for name, amount in asked.items() if pod_level(name)}
        effective = self._running(asked, *running.both)
        names = effective if self.counting.by_sums else asked
        return {name: effective.get(name, 0) for name in names if pod_level(name)}

    def _asked_of_pod(self) -> Amounts:
        """What is asked for the pod as a whole, with what the API server has added of its containers."""
        if not self.pod_requests or not self.counting.completed:
            return self.pod_requests or {}
        together = self._sum(_asked, None)
        return {name: together[name] for name in (CPU, MEMORY) if name in together} | self.pod_requests


def _asked(container: Container) -> Amounts:
    return container.requests


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def read_resources(spec: Json, status: Json) -> PodResources:
    """The resources in a pod's spec and status, defaulted as the API server does (requests from limits)."""
    reported = {
        text(item, "name", at): (item, at)
        for key in ("containerStatuses", "initContainerStatuses")
        for item, at in each(status, key, "status.")
    }
    containers = tuple(_container(item, reported, at) for item, at in each(spec, "containers", "spec."))
    inits = tuple(_container(item, reported, at, init=True) for item, at in each(spec, "initContainers", "spec."))
    resources = PodResources(containers, inits, read_list(spec, "overhead", "spec."))
    pod_requests, pod_running = _pod_level(spec, status, resources)
    resize = next((c for c in objects(status, "conditions", "status.") if c.get("type") == "PodResizePending"), {})
    infeasible, deferred = (resize.get("reason") == reason for reason in ("Infeasible", "Deferred"))
    return PodResources(containers, inits, resources.overhead, pod_requests, pod_running, infeasible, deferred)


def _container(raw: Json, reported: dict[str, tuple[Json, str]], path: str, *, init: bool = False) -> Container:
    asked, name = mapping(raw, "resources", path), text(raw, "name", path)
    limits = read_list(asked, "limits", f"{path}resources.")
    requests = read_list(asked, "requests", f"{path}resources.")
    running = _running(*reported.get(name, ({}, "")))
    sidecar = raw.get("restartPolicy") == "Always"
    return Container(name, {**limits, **requests}, sidecar, init and not sidecar, running, limits)


def _running(status: Json, path: str) -> Running | None:
    """What the status of a container, or of the pod, says; ``None`` where it says nothing."""
    resources = mapping(status, "resources", path)
    actuated = read_list(resources, "requests", f"{path}resources.") if resources.get("requests") is not None else None
    given = status.get("allocatedResources") is not None
    allocated = read_list(status, "allocatedResources", path) if given else None
    known = status.get("resources") is not None
    return Running(known, actuated, allocated) if known or given else None


def _pod_level(spec: Json, status: Json, resources: PodResources) -> tuple[Amounts | None, Running | None]:
    running = _running(status, "status.")
    if spec.get("resources") is None:
        return None, running
    asked = mapping(spec, "resources", "spec.")
    requests = read_list(asked, "requests", "spec.resources.")
    limits = read_list(asked, "limits", "spec.resources.")
    if requests or limits:
        pages = {name: amount for name, amount in _container_limits(spec).items() if name.startswith("hugepages-")}
        limits = {name: amount for name, amount in pages.items() if name not in requests} | limits
    if limits:
        together = PodResources(resources.containers, resources.init_containers, {}).total()
        asked_of_containers = {name: amount for name, amount in together.items() if name in (CPU, MEMORY)}
        allowed = {name: amount for name, amount in limits.items() if pod_level(name)}
        requests = allowed | asked_of_containers | requests
    return requests, running


def read_limits(spec: Json) -> Amounts:
    """What a pod may use in nano-units: its containers' limits, summed as requests are, or those of the pod itself."""
    limits = _container_limits(spec)
    if spec.get("resources") is not None:
        limits |= read_list(mapping(spec, "resources", "spec."), "limits", "spec.resources.")
    _add(limits, {name: amount for name, amount in read_list(spec, "overhead", "spec.").items() if name in limits})
    return limits


def _container_limits(spec: Json) -> Amounts:
    """The limits of all containers together, summed as requests are."""

    def limited(key: str) -> tuple[Container, ...]:
        return tuple(
            Container(
                text(item, "name", at),
                read_list(mapping(item, "resources", at), "limits", f"{at}resources."),
                item.get("restartPolicy") == "Always",
            )
            for item, at in each(spec, key, "spec.")
        )

    return PodResources(limited("containers"), limited("initContainers"), {}).total()
