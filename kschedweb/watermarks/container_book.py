"""The recorded use of containers of workloads, a row for each cluster, which each collection carries on.

See ``engine.rightsizing``. Besides, the series ``container/RESOURCE/peak`` has the most that one pod's container used
at each time.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from django.db import transaction

from kschedweb.engine.rightsizing.aggregate_states import AggregateContainerStates, ContainerSample
from kschedweb.engine.rightsizing.samples import UsageSample
from kschedweb.watermarks.container_requests import Requested
from kschedweb.watermarks.figures import CONTAINER, PEAK, RESOURCES, Figure
from kschedweb.watermarks.inventory import WITHOUT_OWNER
from kschedweb.watermarks.models import ContainerBook
from kschedweb.watermarks.storage import samples_store
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.state.columns import Floats
    from kschedweb.watermarks.collection import CollectedFigures
    from kschedweb.watermarks.inventory import Inventory

# Nanoseconds, the unit of the engine's times.
SECOND = 10**9
# Namespace, pod, container.
Key: TypeAlias = tuple[str, str, str]
Used: TypeAlias = Mapping[Key, Mapping[str, float]]


@dataclass(frozen=True)
class KnownContainers:
    """The recorded use and the requests of a cluster's containers."""

    # Seconds of the epoch.
    updated: int
    book: AggregateContainerStates
    requested: tuple[Requested, ...]


_books: LRU[KnownContainers] = LRU(4)


def load_known_containers(cluster: Cluster) -> KnownContainers | None:
    """Return the newest record of ``cluster``; ``None`` if there is none. Each is read once."""
    updated = ContainerBook.objects.filter(pk=cluster.pk).values_list("updated", flat=True).first()
    return None if updated is None else _books.get((cluster.pk, updated), lambda: _read_book(cluster))


def _read_book(cluster: Cluster) -> KnownContainers:
    row = ContainerBook.objects.get(pk=cluster.pk)
    listed = json.loads(zlib.decompress(row.requested))
    return KnownContainers(
        row.updated, AggregateContainerStates.from_bytes(bytes(row.content)), tuple(Requested(*item) for item in listed)
    )


def book_carry(*, cluster: Cluster, collected: CollectedFigures, at: int, origin: str) -> None:
    """Carry the record of ``cluster`` on by a collection at ``at``. Values that are not newer are left out."""
    if collected.containers:
        book_add(cluster=cluster, inventory=collected.inventory, rows=[(at, collected.containers)], origin=origin)


@transaction.atomic
def book_add(
    *, cluster: Cluster, inventory: Inventory, rows: Iterable[tuple[int, Used]], origin: str, peaks: int | None = None
) -> None:
    """Add the use of containers at several times (seconds of the epoch). ``peaks`` is the resolution of their peaks."""
    row = ContainerBook.objects.select_for_update().filter(pk=cluster.pk).first()
    book, before = (
        (AggregateContainerStates.from_bytes(bytes(row.content)), row.updated)
        if row
        else (AggregateContainerStates.create_empty(), 0)
    )
    # The book is carried on in order of time, and a sample must not count twice.
    newer = [(at, used) for at, used in rows if at > before]
    if not newer:
        return
    name_by_key = _container_names(inventory, {key for _, used in newer for key in used})
    samples: list[ContainerSample] = [] if peaks else list(_kill_samples(inventory))
    for at, used in newer:
        samples += _build_samples(name_by_key, used, at)
    last = newer[-1][0]
    book = book.with_samples(samples, last * SECOND)
    content = {
        "updated": last,
        "content": book.to_bytes(),
        "requested": zlib.compress(json.dumps(inventory.containers).encode(), 1),
    }
    ContainerBook.objects.update_or_create(cluster=cluster, defaults=content)
    names = sorted(set(name_by_key.values()))
    if names:
        values = [(at, _peak_figures(name_by_key, used, names)) for at, used in newer]
        more = {} if peaks is None else {"resolution": peaks}
        samples_store(cluster=cluster, kind=CONTAINER, names=names, rows=values, origin=origin, **more)


def _container_names(inventory: Inventory, keys: Iterable[Key]) -> dict[Key, str]:
    """Return "namespace/Kind/name/container" for those ``keys`` that are containers of workloads."""
    places = {key: inventory.owners.get(key[:2], WITHOUT_OWNER) for key in keys}
    return {key: f"{inventory.workloads[place]}/{key[2]}" for key, place in places.items() if place != WITHOUT_OWNER}


def _build_samples(name_by_key: Mapping[Key, str], used: Used, at: int) -> Iterable[ContainerSample]:
    time = at * SECOND
    for key, amounts in used.items():
        if key in name_by_key:
            cpu, memory = amounts.get("cpu"), amounts.get("memory")
            sample = UsageSample(
                time, None if cpu is None else round(cpu * 1000), None if memory is None else round(memory)
            )
            yield ContainerSample(name_by_key[key], key[1], sample)


def _kill_samples(inventory: Inventory) -> Iterable[ContainerSample]:
    for namespace, pod, container, at, request in inventory.kills:
        place = inventory.owners.get((namespace, pod), WITHOUT_OWNER)
        if place != WITHOUT_OWNER:
            name = f"{inventory.workloads[place]}/{container}"
            yield ContainerSample(name, pod, UsageSample(round(at * SECOND), oom=request))


def _peak_figures(name_by_key: Mapping[Key, str], used: Used, names: list[str]) -> dict[Figure, Floats]:
    highest: dict[str, dict[str, float]] = {resource: {} for resource in RESOURCES}
    for key, amounts in used.items():
        name = name_by_key.get(key)
        if name is not None:
            for resource, amount in amounts.items():
                before = highest[resource].get(name, math.nan)
                # NaN never replaces a value, but any value replaces NaN: the comparison is false with it.
                highest[resource][name] = before if amount <= before or math.isnan(amount) else amount
    return {
        Figure(CONTAINER, resource, PEAK): np.array([peaks.get(name, math.nan) for name in names])
        for resource, peaks in highest.items()
    }
