"""The recorded use of containers of workloads, a row for each cluster, which each collection carries on.

See ``engine.rightsizing``. Besides, the series ``container/RESOURCE/peak`` has the most that one pod's container used
at each time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from django.db import transaction

from kschedweb.engine.rightsizing.aggregate_states import (
    AggregateContainerStates,
    ContainerSample,
    UsageColumns,
)
from kschedweb.engine.rightsizing.samples import UNKNOWN_AMOUNT, UsageSample
from kschedweb.watermarks.container_requests import Requested
from kschedweb.watermarks.figures import CONTAINER, PEAK, RESOURCES, Figure
from kschedweb.watermarks.inventory import WITHOUT_OWNER
from kschedweb.watermarks.models import ContainerBook
from kschedweb.watermarks.storage import samples_store
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.rightsizing.histogram import Ints
    from kschedweb.engine.state.columns import Floats
    from kschedweb.watermarks.collection import CollectedFigures
    from kschedweb.watermarks.inventory import Inventory

# Nanoseconds, the unit of the engine's times.
SECOND = 10**9
# Namespace, pod, container.
Key: TypeAlias = tuple[str, str, str]
Used: TypeAlias = Mapping[Key, Mapping[str, float]]


# What is recorded is whole millicores and whole bytes.
_UNITS = {"cpu": 1000, "memory": 1}


@dataclass(frozen=True)
class ContainerUse:
    """The use of containers of pods at several times."""

    # Seconds of the epoch, ascending.
    times: NDArray[np.int64]
    keys: Sequence[Key]
    # By resource, cores or bytes: [times, keys], NaN where it is not known.
    amounts: Mapping[str, Floats]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[int, Used]]) -> ContainerUse:
        """Return the columns of ``rows``: a time, and what each container used then."""
        listed = list(rows)
        keys = tuple(dict.fromkeys(chain.from_iterable(used for _, used in listed)))
        nothing: Mapping[str, float] = {}
        amounts = {
            resource: np.array(
                [[used.get(key, nothing).get(resource, np.nan) for key in keys] for _, used in listed], np.float64
            )
            for resource in RESOURCES
        }
        return cls(np.array([at for at, _ in listed], np.int64), keys, amounts)

    def select_columns(self, rows: NDArray[np.bool_], columns: Ints) -> ContainerUse:
        """Return the use at some times of some containers."""
        keys = [self.keys[column] for column in columns]
        chosen = np.ix_(rows, columns)
        return ContainerUse(
            self.times[rows], keys, {resource: amounts[chosen] for resource, amounts in self.amounts.items()}
        )


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
        use = ContainerUse.from_rows([(at, collected.containers)])
        book_add(cluster=cluster, inventory=collected.inventory, use=use, origin=origin)


@transaction.atomic
def book_add(
    *, cluster: Cluster, inventory: Inventory, use: ContainerUse, origin: str, peaks: int | None = None
) -> None:
    """Add the use of containers. ``peaks`` is the resolution of their peaks."""
    row = ContainerBook.objects.select_for_update().filter(pk=cluster.pk).first()
    book, before = (
        (AggregateContainerStates.from_bytes(bytes(row.content)), row.updated)
        if row
        else (AggregateContainerStates.create_empty(), 0)
    )
    # The book is carried on in order of time, and a sample must not count twice.
    newer = use.times > before
    if not newer.any():
        return
    name_by_key = _container_names(inventory, use.keys)
    owned = [column for column, key in enumerate(use.keys) if key in name_by_key]
    use = use.select_columns(newer, np.array(owned, np.int64))
    kills = [] if peaks else list(_kill_samples(inventory))
    last = int(use.times[-1])
    book = book.with_samples(kills, last * SECOND, _to_usage(name_by_key, use))
    content = {
        "updated": last,
        "content": book.to_bytes(),
        "requested": zlib.compress(json.dumps(inventory.containers).encode(), 1),
    }
    ContainerBook.objects.update_or_create(cluster=cluster, defaults=content)
    names = sorted(set(name_by_key.values()))
    if names:
        peak_by_figure = _find_peaks([name_by_key[key] for key in use.keys], use, names)
        values = [
            (at, {figure: rows[place] for figure, rows in peak_by_figure.items()})
            for place, at in enumerate(use.times.tolist())
        ]
        more = {} if peaks is None else {"resolution": peaks}
        samples_store(cluster=cluster, kind=CONTAINER, names=names, rows=values, origin=origin, **more)


def _container_names(inventory: Inventory, keys: Sequence[Key]) -> dict[Key, str]:
    """Return "namespace/Kind/name/container" for those ``keys`` that are containers of workloads."""
    places = {key: inventory.owners.get(key[:2], WITHOUT_OWNER) for key in keys}
    return {key: f"{inventory.workloads[place]}/{key[2]}" for key, place in places.items() if place != WITHOUT_OWNER}


def _to_usage(name_by_key: Mapping[Key, str], use: ContainerUse) -> UsageColumns:
    columns = {}
    for resource, unit in _UNITS.items():
        amounts = np.rint(use.amounts[resource] * unit)
        known = ~np.isnan(amounts)
        columns[resource] = np.where(known, np.where(known, amounts, 0).astype(np.int64), UNKNOWN_AMOUNT)
    containers = [(name_by_key[key], key[1]) for key in use.keys]
    return UsageColumns(containers, use.times * SECOND, columns["cpu"], columns["memory"])


def _kill_samples(inventory: Inventory) -> Iterable[ContainerSample]:
    for namespace, pod, container, at, request in inventory.kills:
        place = inventory.owners.get((namespace, pod), WITHOUT_OWNER)
        if place != WITHOUT_OWNER:
            name = f"{inventory.workloads[place]}/{container}"
            yield ContainerSample(name, pod, UsageSample(round(at * SECOND), oom=request))


def _find_peaks(name_by_column: Sequence[str], use: ContainerUse, names: Sequence[str]) -> dict[Figure, Floats]:
    """Return the most that one pod's container used: [times, names], NaN where nothing is known."""
    place_by_name = {name: place for place, name in enumerate(names)}
    places = np.array([place_by_name[name] for name in name_by_column], np.int64)
    # Containers of one name side by side; ``names`` has no name without a container.
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(len(names)))
    return {
        Figure(CONTAINER, resource, PEAK): np.fmax.reduceat(amounts[:, order], starts, axis=1)
        for resource, amounts in use.amounts.items()
    }
