"""The scope of a page: the cluster and namespace chosen in the top bar, from the address.

Apps above this one can add choices to the scope with ``extend``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from django.core.cache import cache
from django.utils.functional import cached_property

from kschedweb.clusters.models import Cluster, PodRow, Snapshot
from kschedweb.clusters.selectors import snapshot_current

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest

Item = TypeVar("Item", bound="Model")

# Pages whose address has the cluster's name as "name".
NAMED = frozenset({"cluster", "watermark-source", "watermark-source-change", "annotations"})


@dataclass
class ClusterScope:
    """The choices of one request; each is read from the database on first use."""

    request: HttpRequest

    @cached_property
    def clusters(self) -> list[Cluster]:
        return list(Cluster.objects.all())

    @cached_property
    def cluster(self) -> Cluster | None:
        """The named cluster; by default the last chosen one, or the first. ``None`` for an unknown name."""
        match = self.request.resolver_match
        in_path = match.kwargs.get("cluster", "") if match else ""
        if not in_path and match and match.url_name in NAMED:
            in_path = match.kwargs.get("name", "")
        asked = in_path or self.request.GET.get("cluster", "")
        if asked:
            found = next((cluster for cluster in self.clusters if cluster.name == asked), None)
            self.remember("cluster", found)
            return found
        return named(self.clusters, self.remembered("cluster"))

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The newest complete snapshot of the cluster, without its content."""
        return None if self.cluster is None else snapshot_current(self.cluster)

    @cached_property
    def namespace(self) -> str:
        return self.request.GET.get("namespace", "").strip()

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces with pods, cached because a snapshot never changes."""
        if self.snapshot is None:
            return []
        key = f"namespaces:{self.snapshot.pk}"
        names: list[str] | None = cache.get(key)
        if names is None:
            pods = PodRow.objects.filter(snapshot=self.snapshot)
            names = list(pods.order_by("namespace").values_list("namespace", flat=True).distinct())
            cache.set(key, names, 3600)
        return names

    def remembered(self, name: str) -> str:
        """The choice of ``name`` in the session, "" for none."""
        session = getattr(self.request, "session", None)
        return session.get(name, "") if session is not None else ""

    def remember(self, name: str, chosen: Model | None) -> None:
        """Store the name of ``chosen`` in the session as the choice of ``name``."""
        session = getattr(self.request, "session", None)
        if chosen is not None and session is not None and session.get(name) != chosen.name:  # type: ignore[attr-defined]
            session[name] = chosen.name  # type: ignore[attr-defined]


_scope: type[ClusterScope] = ClusterScope


def extend(scope: type[ClusterScope]) -> None:
    """Use the class ``scope`` for every request."""
    global _scope
    _scope = scope


def cluster_scope_of(request: HttpRequest) -> ClusterScope:
    """The request's scope, which the view and the frame share."""
    scope: ClusterScope | None = getattr(request, "scope_chosen", None)
    if scope is None:
        scope = _scope(request)
        request.scope_chosen = scope  # type: ignore[attr-defined]
    return scope


def named(items: list[Item], name: str) -> Item | None:
    """The item of this name, or the first one."""
    return next((item for item in items if item.name == name), items[0] if items else None)  # type: ignore[attr-defined]
