"""The targets of grants. Clusters are in an app above this one, so that app registers the function that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID


class ClusterRef(NamedTuple):
    """A cluster as grants know it."""

    id: UUID
    name: str
    labels: Mapping[str, str]


Lister = Callable[[], Iterable[ClusterRef]]
_listers: list[Lister] = []


def register_lister(lister: Lister) -> None:
    """Use ``lister`` to list all clusters of the site whenever grants are looked at."""
    # There is one lister: a second registration replaces the first.
    _listers[:] = [lister]


def list_clusters() -> list[ClusterRef]:
    """Return all clusters of the site, regardless of the user."""
    return [cluster for lister in _listers for cluster in lister()]
