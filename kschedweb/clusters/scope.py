"""The scope of a page: the cluster and namespace chosen in the top bar, from the address.

Apps above this one can add choices to the scope with ``use_scope_class``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.http import Http404
from django.utils.functional import cached_property
from django.utils.translation import gettext

from kschedweb.accounts.reach import current_reach, namespaces_of, withheld_namespaces
from kschedweb.clusters.flight.selectors import has_recording
from kschedweb.clusters.models import Cluster, PodRow, Snapshot
from kschedweb.clusters.selectors import snapshot_current, snapshot_get, snapshot_named
from kschedweb.web.errors import ApplicationError
from kschedweb.web.moments import MomentField, MomentInput, read_moment
from kschedweb.web.navigation import BarChoice, choices_of

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest

Item = TypeVar("Item", bound="Model")
# Namespaces to choose from on a page.
MOST_LISTED = 200


@dataclass
class ClusterScope:
    """The choices of one request. Each is read from the database on first use."""

    request: HttpRequest

    @cached_property
    def clusters(self) -> list[Cluster]:
        return list(Cluster.objects.all())

    @cached_property
    def cluster(self) -> Cluster | None:
        """The named cluster; by default the last chosen one, or the first. ``None`` for an unknown name."""
        if name := self.name_in_address("cluster", "clusters"):
            chosen = next((cluster for cluster in self.clusters if cluster.name == name), None)
            self.remember_choice("cluster", chosen)
            return chosen
        return find_named(self.clusters, self.remembered_name("cluster"))

    @property
    def in_part(self) -> list[str]:
        """The namespaces of the cluster that the person sees, if grants name some; [] for all."""
        reach = current_reach()
        if reach is None or not reach.parts or not self.cluster_shown or self.cluster is None:
            return []
        return sorted(namespaces_of(self.cluster.pk) or ())

    @property
    def left_out(self) -> str:
        """The chosen cluster if the person sees it in part, but the page shows whole clusters; "" otherwise."""
        name = self.name_in_address("cluster", "clusters") or (
            self.remembered_name("cluster") if self.takes_choice(BarChoice.CLUSTER) else ""
        )
        return name if name and withheld_namespaces(name) else ""

    @property
    def page(self) -> str:
        """The URL name of the page; "" for an address without one."""
        match = self.request.resolver_match
        return (match.url_name or "") if match else ""

    def in_path(self, choice: str, folder: str) -> str:
        """Return the name that the path gives for ``choice``: an argument of that name, or the one in ``folder``."""
        match = self.request.resolver_match
        if match is None:
            return ""
        if match.route.startswith(f"{folder}/<slug:name>/"):
            return str(match.kwargs["name"])
        return str(match.kwargs.get(choice, ""))

    def name_in_address(self, choice: str, folder: str) -> str:
        """Return the name that the path gives for ``choice``, or else the query's parameter."""
        return self.in_path(choice, folder) or self.request.GET.get(choice, "")

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The complete snapshot that the page shows, without its content; ``None`` for an unknown one.

        It is the newest one, unless the address names another and the page can show it.
        """
        try:
            return self.snapshot_asked()
        # The page reports the error; the frame around it does without a snapshot.
        except (Http404, ApplicationError):
            return None

    def snapshot_asked(self) -> Snapshot | None:
        """Return ``snapshot``. Raises ``Http404`` or NotFound if the cluster has none that the address names."""
        return self._requested_snapshot

    @cached_property
    def _requested_snapshot(self) -> Snapshot | None:
        if self.cluster is None:
            return None
        return snapshot_get(self.cluster, self.pinned) if self.pinned else snapshot_current(self.cluster)

    @property
    def pinned(self) -> str:
        """The snapshot or the moment that the address names; "" on pages that show the newest one only.

        Raises ApplicationError for a text that is no moment.
        """
        if self.at_asked and self.takes_moment:
            return snapshot_named(self.request.GET)
        return self.request.GET.get("snapshot", "") if self.takes_choice(BarChoice.SNAPSHOT) else ""

    @property
    def takes_moment(self) -> bool:
        """True if the page can show the cluster as of a moment."""
        return self.takes_choice(BarChoice.SNAPSHOT) or self.takes_choice(BarChoice.MOMENT)

    @property
    def at_asked(self) -> str:
        """The moment in the address, as it is written there."""
        return self.request.GET.get("at", "").strip()

    @cached_property
    def at(self) -> datetime | None:
        """The moment that the page shows; ``None`` for now, or if the address names a snapshot."""
        try:
            moment = read_moment(self.pinned)
        except ApplicationError:
            return None
        return moment if isinstance(moment, datetime) else None

    @property
    def pin(self) -> dict[str, str]:
        """The snapshot or the moment that the address names, by its parameter; {} for the newest."""
        return {"at" if self.at else "snapshot": self.pinned} if self.pinned else {}

    @property
    def as_of(self) -> str:
        """``pin`` as text to append to a query; "" for the newest."""
        return f"&{urlencode(self.pin)}" if self.pin else ""

    @property
    def moment_field(self) -> str:
        """The HTML of the input that chooses a moment, in the person's zone."""
        field = MomentField(widget=MomentInput(attrs={"required": True, "step": 1}))
        moment = self.at or (self.snapshot.taken_at if self.snapshot else None)
        return str(field.widget.render("at", moment, {"id": "f-moment"}))

    @property
    def recorded(self) -> bool:
        """True if the page can show other moments of its cluster."""
        return self.takes_moment and self.cluster is not None and has_recording(self.cluster)

    def takes_choice(self, choice: BarChoice) -> bool:
        return choice in choices_of(self.page)

    @property
    def cluster_shown(self) -> str:
        """The name of the cluster that the page is about; "" for none."""
        shows = self.takes_choice(BarChoice.CLUSTER) or self.name_in_address("cluster", "clusters")
        return self.cluster.name if shows and self.cluster else ""

    @cached_property
    def namespace(self) -> str:
        return self.request.GET.get("namespace", "").strip()

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces with pods. They are cached, because a snapshot never changes."""
        if self.snapshot is None:
            return []
        visible = namespaces_of(self.snapshot.cluster_id)
        key = f"namespaces:{self.snapshot.pk}"
        names: list[str] | None = cache.get(key)
        if names is None:
            pods = PodRow.objects.filter(snapshot=self.snapshot)
            names = list(pods.order_by("namespace").values_list("namespace", flat=True).distinct())
            # The cache holds all namespaces, so only a request that sees all may fill it.
            if visible is None:
                cache.set(key, names, 3600)
        return names if visible is None else [name for name in names if name in visible]

    @property
    def has_many_namespaces(self) -> bool:
        """True if there are more namespaces than a page lists."""
        return len(self.namespaces) > MOST_LISTED

    def remembered_name(self, name: str) -> str:
        """Return the choice of ``name`` in the session; "" for none."""
        session = getattr(self.request, "session", None)
        return session.get(name, "") if session is not None else ""

    def remember_choice(self, name: str, chosen: Model | None) -> None:
        """Store the name of ``chosen`` in the session as the choice of ``name``."""
        session = getattr(self.request, "session", None)
        if chosen is not None and session is not None and session.get(name) != chosen.name:  # type: ignore[attr-defined]
            session[name] = chosen.name  # type: ignore[attr-defined]


_scope: type[ClusterScope] = ClusterScope


def use_scope_class(scope: type[ClusterScope]) -> None:
    """Use the class ``scope`` for every request."""
    global _scope
    _scope = scope


def cluster_scope_of(request: HttpRequest) -> ClusterScope:
    """Return the request's scope, which the view and the frame share.

    Raises ``Http404`` once, for the view, if the address of a page of a cluster names an unknown one.
    """
    scope: ClusterScope | None = getattr(request, "scope_chosen", None)
    if scope is None:
        scope = _scope(request)
        request.scope_chosen = scope  # type: ignore[attr-defined]
        name = request.GET.get("cluster", "") if scope.takes_choice(BarChoice.CLUSTER) else ""
        if name and scope.cluster is None and not scope.left_out:
            raise Http404(
                gettext("There is no cluster %(name)s. It may have been deleted or renamed.") % {"name": name[:63]}
            )
    return scope


def find_named(items: list[Item], name: str) -> Item | None:
    """Return the item of this name, or the first one."""
    return next((item for item in items if item.name == name), items[0] if items else None)  # type: ignore[attr-defined]
