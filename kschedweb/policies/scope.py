"""The scope of a page: the cluster and the policy chosen in the top bar, from the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from django.utils.functional import cached_property

from kschedweb.clusters.scope import ClusterScope, cluster_scope_of, named
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from django.http import HttpRequest

# Pages that only make sense for profiles.
TAKES_PROFILES = frozenset(
    {
        "capacity-answer",
        "capacity-drain",
        "capacity-fit",
        "capacity-gangs",
        "capacity-nodes",
        "gate",
        "pod-group",
        "pod-groups",
        "watermark-policies",
    }
)


class Scope(ClusterScope):
    """The cluster and policy chosen in a request."""

    @cached_property
    def policies(self) -> list[Policy]:
        """The policies to choose from: some pages do not support classic ones."""
        return [one for one in self._every_policy if not self._takes_profiles or one.dialect.has_profiles]

    @cached_property
    def policy(self) -> Policy | None:
        asked = self.request.GET.get("policy", "")
        if asked:
            found = next((policy for policy in self._every_policy if policy.name == asked), None)
            self.remember("policy", found)
            return found
        remembered = self.remembered("policy")
        known = remembered in {policy.name for policy in self.policies}
        return named(self.policies, remembered if known else DEFAULT_POLICY)

    @cached_property
    def _every_policy(self) -> list[Policy]:
        return list(Policy.objects.all())

    @property
    def _takes_profiles(self) -> bool:
        match = self.request.resolver_match
        return match is not None and match.url_name in TAKES_PROFILES

    @cached_property
    def revision(self) -> Revision | None:
        """The revision in the address, by default the newest."""
        if self.policy is None:
            return None
        revisions = self.policy.revisions.select_related("policy", "author")
        asked = self.request.GET.get("revision", "")
        if asked:
            return revisions.filter(number=int(asked)).first() if asked.isdecimal() and len(asked) < 10 else None
        return revisions.first()

    @cached_property
    def query(self) -> str:
        """The choices as a query string, "" or with its "?", for links of the frame."""
        chosen = {
            "cluster": self.cluster.name if self.cluster and self.request.GET.get("cluster") else "",
            "namespace": self.namespace,
        }
        # Pages for profiles only would refuse a classic policy; the others remember it.
        if self.policy and self.policy.dialect.has_profiles:
            asked = self.request.GET.get("revision", "")
            chosen["policy"] = self.request.GET.get("policy", "")
            chosen["revision"] = asked if asked and self.revision else ""
        text = urlencode({name: value for name, value in chosen.items() if value})
        return f"?{text}" if text else ""

    @cached_property
    def decision_query(self) -> str:
        """The policy and revision in the address as a query, for links to decisions."""
        asked = {name: self.request.GET.get(name, "") for name in ("policy", "revision")}
        text = urlencode({name: value for name, value in asked.items() if value})
        return f"?{text}" if text else ""


def scope_of(request: HttpRequest) -> Scope:
    """The request's scope, which the view and the frame share."""
    return cast("Scope", cluster_scope_of(request))
