"""Requests and limits of the containers of workloads, and the containers that were killed for want of memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.dateparse import parse_datetime

from kschedweb.engine.objects import ObjectError
from kschedweb.engine.objects.quantity import NANO, parse_quantity

RawObject = Mapping[str, Any]
ENDED = ("Succeeded", "Failed")


class Requested(NamedTuple):
    """A container of a workload's pods. Amounts are those of all pods together."""

    # "namespace/Kind/name/container".
    name: str
    # How many pods have it.
    pods: int
    # Millicores.
    cpu: int
    # Bytes.
    memory: int
    # Millicores; 0 if any of the pods has no limit.
    cpu_limit: int
    # Bytes; 0 if any of the pods has no limit.
    memory_limit: int
    # How many containers a pod has.
    siblings: int
    # True for an init container that keeps running.
    sidecar: bool


class Kill(NamedTuple):
    """A container that was killed for want of memory."""

    namespace: str
    pod: str
    container: str
    # Seconds of the epoch.
    at: float
    # The memory that it requested, in bytes.
    request: int


@dataclass
class _Sum:
    pods: int = 0
    cpu: int = 0
    memory: int = 0
    cpu_limit: int | None = 0
    memory_limit: int | None = 0
    siblings: int = 1
    sidecar: bool = False


def collect_requests(pods: Iterable[RawObject], owners: Mapping[tuple[str, str], str | None]) -> tuple[Requested, ...]:
    """Return the containers of the pods that have not ended, by name. Init containers that end are left out."""
    sums_by_container: dict[str, _Sum] = {}
    for pod in pods:
        metadata = pod["metadata"]
        workload = owners.get((str(metadata.get("namespace") or "default"), str(metadata["name"])))
        if workload is None or _pod_phase(pod) in ENDED:
            continue
        listed = list(_list_containers(pod))
        for container, sidecar in listed:
            sums = sums_by_container.setdefault(f"{workload}/{container.get('name')}", _Sum())
            sums.pods += 1
            sums.siblings, sums.sidecar = len(listed), sidecar
            sums.cpu += _parse_amount(container, "requests", "cpu", 1000) or 0
            sums.memory += _parse_amount(container, "requests", "memory", 1) or 0
            sums.cpu_limit = _add_limit(sums.cpu_limit, _parse_amount(container, "limits", "cpu", 1000))
            sums.memory_limit = _add_limit(sums.memory_limit, _parse_amount(container, "limits", "memory", 1))
    return tuple(
        Requested(
            name,
            total.pods,
            total.cpu,
            total.memory,
            total.cpu_limit or 0,
            total.memory_limit or 0,
            total.siblings,
            total.sidecar,
        )
        for name, total in sorted(sums_by_container.items())
    )


def find_kills(pods: Iterable[RawObject]) -> Iterator[Kill]:
    """Yield the last kill of each container, as its status reports it."""
    for pod in pods:
        status = pod.get("status") or {}
        memory = {
            str(container.get("name")): _parse_amount(container, "requests", "memory", 1) or 0
            for container, _ in _list_containers(pod)
        }
        for container_status in [
            *_list_objects(status, "containerStatuses"),
            *_list_objects(status, "initContainerStatuses"),
        ]:
            for key in ("lastState", "state"):
                ended = (container_status.get(key) or {}).get("terminated") or {}
                name, at = str(container_status.get("name")), _parse_moment(ended.get("finishedAt"))
                if ended.get("reason") == "OOMKilled" and at is not None and name in memory:
                    metadata = pod["metadata"]
                    space = str(metadata.get("namespace") or "default")
                    yield Kill(space, str(metadata["name"]), name, at, memory[name])


def _list_containers(pod: RawObject) -> Iterator[tuple[RawObject, bool]]:
    """Yield the containers that keep running, and whether each is a sidecar."""
    spec = pod.get("spec") or {}
    for container in _list_objects(spec, "containers"):
        yield container, False
    for container in _list_objects(spec, "initContainers"):
        if container.get("restartPolicy") == "Always":
            yield container, True


def _list_objects(raw: RawObject, key: str) -> list[RawObject]:
    listed = raw.get(key)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _parse_amount(container: RawObject, field: str, resource: str, units: int) -> int | None:
    """Return an amount in ``units`` per one, rounded up as Kubernetes does; ``None`` if it is missing or unreadable."""
    resources = container.get("resources")
    amounts = resources.get(field) if isinstance(resources, dict) else None
    if not isinstance(amounts, dict) or resource not in amounts:
        return None
    try:
        # Double negation makes the floor division round up.
        return -(-parse_quantity(str(amounts[resource])) * units // NANO)
    except ObjectError:
        return None


def _add_limit(so_far: int | None, amount: int | None) -> int | None:
    return None if so_far is None or amount is None else so_far + amount


def _pod_phase(pod: RawObject) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _parse_moment(value: Any) -> float | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.timestamp() if moment and moment.tzinfo else None
