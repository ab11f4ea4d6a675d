"""How far the person reaches whose request is being answered: the one place that query sets of clusters ask.

A request says once who looks and for which action (``set_looker``). From then on every query set of a covered model
(covered.py) has the rows within that person's grants only. Outside of a request, and in jobs, nobody looks: there is
everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol
from uuid import UUID


class ClusterPart(NamedTuple):
    """Of a cluster that grants cover in part: its name, and the namespaces that they name."""

    name: str
    namespaces: frozenset[str]


@dataclass(frozen=True)
class Reach:
    """The clusters that grants cover, of the person with the key ``user``: in whole, or in part.

    ``withheld`` are those in part while what is asked for shows clusters in whole only.
    """

    user: int
    clusters: frozenset[UUID]
    names: frozenset[str]
    parts: Mapping[UUID, ClusterPart] = field(default_factory=dict)
    withheld: Mapping[UUID, ClusterPart] = field(default_factory=dict)

    @property
    def whole(self) -> Reach:
        """This without clusters in part."""
        return replace(self, parts={}, withheld=self.parts) if self.parts else self

    def only(self, clusters: Iterable[UUID]) -> Reach:
        """Of the clusters in part these, as if they were covered in whole."""
        cluster_ids = frozenset(clusters)
        return Reach(self.user, cluster_ids, frozenset(self.parts[cluster_id].name for cluster_id in cluster_ids))

    @property
    def parts_by_namespaces(self) -> Iterator[tuple[frozenset[str], Reach]]:
        """The clusters in part by their namespaces, each as if it were covered in whole."""
        for spaces in sorted({part.namespaces for part in self.parts.values()}, key=sorted):
            yield spaces, self.only(pk for pk, part in self.parts.items() if part.namespaces == spaces)


class Looker(Protocol):
    """Somebody with grants."""

    def reach(self, action: str) -> Reach | None: ...


Look = Callable[[], "Reach | None"]
_looking: ContextVar[Look | None] = ContextVar("looking", default=None)


def current_reach() -> Reach | None:
    """How far who looks now reaches; ``None``: to everything."""
    ask = _looking.get()
    return ask() if ask is not None else None


def set_looker(user: Looker, action: str, in_part: bool = False) -> None:
    """From here to the end of the request ``user`` looks, at what their grants allow ``action`` for.

    Clusters that they see in part are there only where what is asked for can show them so (``in_part``).
    """
    _looking.set(lambda: reach_of(user, action, in_part))


def reach_of(user: Looker, action: str, in_part: bool) -> Reach | None:
    """How far ``user`` reaches, with clusters in part or without them."""
    reach = user.reach(action)
    return reach if reach is None or in_part else reach.whole


def namespaces_of(cluster: UUID) -> frozenset[str] | None:
    """The namespaces of ``cluster`` that who looks now sees; ``None``: all."""
    reach = current_reach()
    part = reach.parts.get(cluster) if reach is not None else None
    return part.namespaces if part is not None else None


def can_see_namespace(cluster: UUID, namespace: str) -> bool:
    """Whether who looks now sees ``namespace`` of ``cluster``, which they see at least in part."""
    spaces = namespaces_of(cluster)
    return spaces is None or namespace in spaces


def withheld_namespaces(name: str) -> frozenset[str]:
    """Their namespaces, where who looks now sees the cluster ``name`` in part, and what they ask for whole ones."""
    reach = current_reach()
    parts = (part for part in reach.withheld.values() if part.name == name) if reach is not None else iter(())
    return next((part.namespaces for part in parts), frozenset())


@contextmanager
def as_looker(ask: Look | None) -> Iterator[None]:
    """What is done inside is done for who ``ask`` tells of; afterwards it is as before, whatever was set inside."""
    token = _looking.set(ask)
    try:
        yield
    finally:
        _looking.reset(token)


def unrestricted() -> Any:
    """For the site itself, whoever's request leads to it: turns of jobs, say. A context manager and a decorator."""
    return as_looker(None)
