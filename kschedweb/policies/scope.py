"""The scope of a page: the cluster and the policy chosen in the top bar, from the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from django.http import Http404
from django.utils.functional import cached_property

from kschedweb.clusters.scope import ClusterScope, cluster_scope_of, find_named
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.web.navigation import BarChoice

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.clusters.models import Snapshot

# Pages that only make sense for profiles.
TAKES_PROFILES = frozenset(
    {
        "capacity-gangs",
        "descheduling",
        "pod-group",
        "pod-groups",
        "load-aware",
        "plans",
    }
)


@dataclass(frozen=True)
class Resolved:
    """The revision and the snapshot that a page shows."""

    revision: Revision
    # True if the revision is the policy's newest.
    last: bool
    snapshot: Snapshot
    # True if the snapshot is the cluster's newest.
    newest: bool


class PolicyScope(ClusterScope):
    """The cluster and policy chosen in a request."""

    @cached_property
    def policies(self) -> list[Policy]:
        """The policies to choose from. Some pages do not support classic ones."""
        needs = "has_profiles" if self._takes_profiles else "decides"
        return [policy for policy in self._every_policy if getattr(policy.dialect, needs)]

    @cached_property
    def policy(self) -> Policy | None:
        if in_path := self.in_path("policy", "policies"):
            return next((policy for policy in self._every_policy if policy.name == in_path), None)
        if requested := self.request.GET.get("policy", ""):
            # Pages of profiles refuse any other policy, with a word about it; the rest take all that place pods.
            offered = self._every_policy if self._takes_profiles else self.policies
            policy = next((policy for policy in offered if policy.name == requested), None)
            self.remember_choice("policy", policy)
            return policy
        remembered = self.remembered_name("policy")
        is_offered = remembered in {policy.name for policy in self.policies}
        return find_named(self.policies, remembered if is_offered else DEFAULT_POLICY)

    @cached_property
    def _every_policy(self) -> list[Policy]:
        return list(Policy.objects.all())

    @property
    def _takes_profiles(self) -> bool:
        return self.page in TAKES_PROFILES

    @cached_property
    def revision(self) -> Revision | None:
        """The revision in the address, by default the newest."""
        if self.policy is None:
            return None
        revisions = self.policy.revisions.select_related("policy", "author")
        number = self.request.GET.get("revision", "")
        if number:
            return revisions.filter(number=int(number)).first() if number.isdecimal() and len(number) < 10 else None
        return revisions.first()

    def revision_asked(self) -> Revision:
        """Return the revision in the address, by default the newest. Raise Http404 if there is none."""
        if self.revision is None:
            raise Http404("There is no such policy or revision.")
        return self.revision

    def show(self, snapshot: Snapshot | None, revision: Revision | None) -> None:
        """Choose what the page is about, which its address does not name."""
        self.cluster, self.snapshot = snapshot.cluster if snapshot else None, snapshot
        self.policy, self.revision = revision.policy if revision else None, revision

    def question_query(self, snapshot: Snapshot) -> str:
        """Return the parameters of a question about ``snapshot``: its cluster, and those of the address."""
        parameters = {name: self.request.GET.get(name, "") for name in ("policy", "revision", "snapshot")}
        return urlencode({"cluster": snapshot.cluster.name} | {name: text for name, text in parameters.items() if text})

    @cached_property
    def query(self) -> str:
        """The choices as a query string, "" or with its "?", for links of the frame.

        They name the cluster that the page shows, even if the address does not: another tab may choose another one
        meanwhile.
        """
        chosen = {"cluster": self.cluster_shown, "namespace": self.namespace, "at": self.at_asked}
        policy, revision = self.request.GET.get("policy", ""), self.request.GET.get("revision", "")
        # Pages for profiles only would refuse a classic policy; the others remember it.
        if policy and self.policy and self.policy.dialect.has_profiles:
            chosen |= {"policy": policy, "revision": revision if revision and self.revision else ""}
        text = urlencode({name: value for name, value in chosen.items() if value})
        return f"?{text}" if text else ""

    @cached_property
    def decision_query(self) -> str:
        """The policy, revision and snapshot or moment in the address as a query, for links to decisions."""
        parameters = {name: self.request.GET.get(name, "") for name in ("policy", "revision")}
        text = urlencode({name: value for name, value in (parameters | self.pin).items() if value})
        return f"?{text}" if text else ""

    @property
    def pins(self) -> str:
        """The parameters that make a link show what the page shows now, as a query without its "?"."""
        parameters: dict[str, object] = {}
        if self.takes_choice(BarChoice.CLUSTER) and self.cluster:
            parameters |= {"cluster": self.cluster.name}
        if self.takes_choice(BarChoice.POLICY) and self.revision:
            parameters |= {"policy": self.revision.policy.name, "revision": self.revision.number}
        if self.takes_choice(BarChoice.SNAPSHOT) and self.snapshot:
            parameters |= self.pin if self.at else {"snapshot": self.snapshot.pk}
        return urlencode(parameters)

    @cached_property
    def resolved(self) -> Resolved | None:
        """The revision and snapshot that the page shows; ``None`` on pages that do not show both."""
        if (
            not (self.takes_choice(BarChoice.SNAPSHOT) and self.takes_choice(BarChoice.POLICY))
            or self.snapshot is None
            or self.cluster is None
            or self.revision is None
        ):
            return None
        # Without a pin the page shows the newest snapshot already, so it is not asked for again.
        newest = snapshot_current(self.cluster) if self.pinned else self.snapshot
        last = self.revision.policy.revisions.first() if self.request.GET.get("revision") else self.revision
        return Resolved(self.revision, last == self.revision, self.snapshot, newest == self.snapshot)


def scope_of(request: HttpRequest) -> PolicyScope:
    """Return the request's scope, which the view and the frame share."""
    return cast("PolicyScope", cluster_scope_of(request))
