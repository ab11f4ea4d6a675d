"""What a page is about: the cluster, namespace and policy chosen in the top bar, as the address says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.utils.functional import cached_property

from kschedweb.clusters.models import Cluster, PodRow, Snapshot
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.policies.models import Kind, Policy, Revision
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from django.http import HttpRequest

# Pages that ask of profiles what a classic policy has no answer to.
TAKES_PROFILES = frozenset(
    {"capacity-answer", "capacity-drain", "capacity-fit", "capacity-nodes", "gate", "watermark-policies"}
)
# Pages whose address calls the cluster's name just "name".
NAMED = frozenset({"cluster", "watermark-source", "watermark-source-change", "annotations"})

Item = TypeVar("Item", Cluster, Policy)


@dataclass
class Scope:
    """The choices of one request; each is read from the database when it is first asked for."""

    request: HttpRequest

    @cached_property
    def clusters(self) -> list[Cluster]:
        return list(Cluster.objects.all())

    @cached_property
    def cluster(self) -> Cluster | None:
        """The named cluster; without a name the one chosen last, or the first. An unknown name is ``None``."""
        match = self.request.resolver_match
        in_path = match.kwargs.get("cluster", "") if match else ""
        if not in_path and match and match.url_name in NAMED:
            in_path = match.kwargs.get("name", "")
        asked = in_path or self.request.GET.get("cluster", "")
        if asked:
            found = next((cluster for cluster in self.clusters if cluster.name == asked), None)
            self._remember("cluster", found)
            return found
        return _named(self.clusters, self._remembered("cluster"))

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The newest complete snapshot of the cluster, without its content."""
        return None if self.cluster is None else snapshot_current(self.cluster)

    @cached_property
    def namespace(self) -> str:
        return self.request.GET.get("namespace", "").strip()

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces that hold pods; a snapshot never changes, so they are counted once."""
        if self.snapshot is None:
            return []
        key = f"namespaces:{self.snapshot.pk}"
        names: list[str] | None = cache.get(key)
        if names is None:
            pods = PodRow.objects.filter(snapshot=self.snapshot)
            names = list(pods.order_by("namespace").values_list("namespace", flat=True).distinct())
            cache.set(key, names, 3600)
        return names

    @cached_property
    def policies(self) -> list[Policy]:
        """What the page can be asked about: some know nothing of classic policies."""
        return [one for one in self._every_policy if not self._takes_profiles or one.kind == Kind.PROFILES]

    @cached_property
    def policy(self) -> Policy | None:
        asked = self.request.GET.get("policy", "")
        if asked:
            found = next((policy for policy in self._every_policy if policy.name == asked), None)
            self._remember("policy", found)
            return found
        remembered = self._remembered("policy")
        known = remembered in {policy.name for policy in self.policies}
        return _named(self.policies, remembered if known else DEFAULT_POLICY)

    @cached_property
    def _every_policy(self) -> list[Policy]:
        return list(Policy.objects.all())

    @property
    def _takes_profiles(self) -> bool:
        match = self.request.resolver_match
        return match is not None and match.url_name in TAKES_PROFILES

    @cached_property
    def revision(self) -> Revision | None:
        """The asked revision of the policy, the newest where none was asked."""
        if self.policy is None:
            return None
        revisions = self.policy.revisions.select_related("policy", "author")
        asked = self.request.GET.get("revision", "")
        if asked:
            return revisions.filter(number=int(asked)).first() if asked.isdecimal() and len(asked) < 10 else None
        return revisions.first()

    @cached_property
    def query(self) -> str:
        """The choices as a query string, "" or with its "?", to hang on a link of the frame."""
        chosen = {
            "cluster": self.cluster.name if self.cluster and self.request.GET.get("cluster") else "",
            "namespace": self.namespace,
        }
        # Pages that take profiles only would refuse a classic one; the others remember it.
        if self.policy and self.policy.kind == Kind.PROFILES:
            asked = self.request.GET.get("revision", "")
            chosen["policy"] = self.request.GET.get("policy", "")
            chosen["revision"] = asked if asked and self.revision else ""
        text = urlencode({name: value for name, value in chosen.items() if value})
        return f"?{text}" if text else ""

    @cached_property
    def decision_query(self) -> str:
        """The policy and revision of the address, to hang on links to decisions."""
        asked = {name: self.request.GET.get(name, "") for name in ("policy", "revision")}
        text = urlencode({name: value for name, value in asked.items() if value})
        return f"?{text}" if text else ""

    def _remembered(self, name: str) -> str:
        session = getattr(self.request, "session", None)
        return session.get(name, "") if session is not None else ""

    def _remember(self, name: str, chosen: Cluster | Policy | None) -> None:
        session = getattr(self.request, "session", None)
        if chosen is not None and session is not None and session.get(name) != chosen.name:
            session[name] = chosen.name


def scope_of(request: HttpRequest) -> Scope:
    """The request's scope, one for the view and the frame around it."""
    scope = getattr(request, "scope_chosen", None)
    if scope is None:
        scope = Scope(request)
        request.scope_chosen = scope  # type: ignore[attr-defined]
    return scope


def _named(items: list[Item], name: str) -> Item | None:
    return next((item for item in items if item.name == name), items[0] if items else None)
