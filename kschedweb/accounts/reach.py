"""The clusters within reach of the person whose request is answered. Only this module tells query sets.

A request sets its user and the action once (``set_looker``). From then on every query set of a covered model
(row_access.py) has only rows within that person's grants. Outside of a request, and in jobs, nobody is set, and query
sets have all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol
from uuid import UUID


class ClusterPart(NamedTuple):
    """A cluster that grants cover in part: its name, and the namespaces."""

    name: str
    namespaces: frozenset[str]


@dataclass(frozen=True)
class Reach:
    """The clusters that a person's grants cover, in whole or in part."""

    # The primary key of the person.
    user: int
    # Clusters covered in whole.
    clusters: frozenset[UUID]
    # The names of the clusters covered in whole.
    names: frozenset[str]
    # Clusters covered in part.
    parts: Mapping[UUID, ClusterPart] = field(default_factory=dict)
    # The parts, if the page or call shows whole clusters only.
    withheld: Mapping[UUID, ClusterPart] = field(default_factory=dict)

    @property
    def whole(self) -> Reach:
        """The same reach without clusters in part, which become ``withheld``."""
        return replace(self, parts={}, withheld=self.parts) if self.parts else self

    def only(self, clusters: Iterable[UUID]) -> Reach:
        """Return a reach of these ``clusters``, which are covered in part, as if they were covered in whole."""
        cluster_ids = frozenset(clusters)
        return Reach(self.user, cluster_ids, frozenset(self.parts[cluster_id].name for cluster_id in cluster_ids))

    @property
    def parts_by_namespaces(self) -> Iterator[tuple[frozenset[str], Reach]]:
        """The clusters in part by their namespaces, each as if it were covered in whole."""
        for spaces in sorted({part.namespaces for part in self.parts.values()}, key=sorted):
            yield spaces, self.only(pk for pk, part in self.parts.items() if part.namespaces == spaces)


class Looker(Protocol):
    """A person with grants."""

    def reach(self, action: str) -> Reach | None: ...


Look = Callable[[], "Reach | None"]
# A callable, so that grants are read only if a query needs them.
_looking: ContextVar[Look | None] = ContextVar("looking", default=None)


def current_reach() -> Reach | None:
    """Return the reach of the current user; ``None`` for everything."""
    ask = _looking.get()
    return ask() if ask is not None else None


def set_looker(user: Looker, action: str, in_part: bool = False) -> None:
    """Let ``user`` be the current user up to the end of the request, with the grants that allow ``action``.

    Clusters that they see in part are within reach only if the page or call can show a part (``in_part``).
    """
    _looking.set(lambda: reach_of(user, action, in_part))


def reach_of(user: Looker, action: str, in_part: bool) -> Reach | None:
    """Return the reach of ``user``, with or without clusters in part."""
    reach = user.reach(action)
    return reach if reach is None or in_part else reach.whole


def namespaces_of(cluster: UUID) -> frozenset[str] | None:
    """Return the namespaces of ``cluster`` that the current user sees; ``None`` for all."""
    reach = current_reach()
    part = reach.parts.get(cluster) if reach is not None else None
    return part.namespaces if part is not None else None


def can_see_namespace(cluster: UUID, namespace: str) -> bool:
    """Return whether the current user sees ``namespace`` of ``cluster``, which they see at least in part."""
    spaces = namespaces_of(cluster)
    return spaces is None or namespace in spaces


def withheld_namespaces(name: str) -> frozenset[str]:
    """Return the namespaces of the cluster ``name`` that the user sees, if the page shows whole clusters only."""
    reach = current_reach()
    parts = (part for part in reach.withheld.values() if part.name == name) if reach is not None else iter(())
    return next((part.namespaces for part in parts), frozenset())


@contextmanager
def as_looker(ask: Look | None) -> Iterator[None]:
    """Set the current user's reach inside of the context. Afterwards it is as before, whatever was set inside."""
    token = _looking.set(ask)
    try:
        yield
    finally:
        _looking.reset(token)


def unrestricted() -> Any:
    """Lift all limits for the site's own work, such as turns of jobs. A context manager and a decorator."""
    return as_looker(None)
