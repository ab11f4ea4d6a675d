"""The target of a change in the address of the page: the policy that is changed, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404
from django.urls import reverse

from kschedweb.clusters.selectors import snapshot_get
from kschedweb.playground.runs.selectors import revision_asked as scenario_asked
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.scope import scope_of

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.models import Revision

# Parameters that the page's forms keep.
ADDRESS_PARAMS = ("cluster", "namespace", "policy", "revision", "snapshot", "scenario", "pod")


@dataclass(frozen=True)
class ChangeTarget:
    """The policy that is changed, and the snapshot or scenario on which it is tried."""

    base: Revision
    snapshot: Snapshot | None
    scenario: ScenarioRevision | None
    # A pod whose node the answer tells, as namespace/name; "" for none.
    pod: str = ""

    @classmethod
    def from_request(cls, request: PageRequest) -> ChangeTarget | None:
        """Return the target that the address names; ``None`` if there is no cluster to try anything on. Raise
        Http404."""
        scope, query = scope_of(request), request.GET
        if scope.revision is None:
            raise Http404("There is no such policy, or no such revision of it.")
        scenario = scenario_asked(request.user, query["scenario"]) if query.get("scenario") else None
        snapshot = None if scenario else _find_snapshot(request)
        if snapshot is None and scenario is None:
            return None
        return cls(scope.revision, snapshot, scenario, query.get("pod", "")[:320])

    @classmethod
    def from_tried_change(cls, tried_change: TriedChange) -> ChangeTarget | None:
        """Return the target of a tried change; ``None`` if its policy or cluster was deleted."""
        if tried_change.base is None or (tried_change.snapshot is None and tried_change.revision is None):
            return None
        return cls(tried_change.base, tried_change.snapshot, tried_change.revision, tried_change.pod)

    @property
    def version(self) -> str:
        """The version of the cluster; "" if it is unknown."""
        if self.snapshot is not None:
            return self.snapshot.cluster.server_version
        return cluster_version(self.scenario) if self.scenario is not None else ""

    @property
    def query(self) -> str:
        """The same policy at the same place as a query, whatever is the newest."""
        query = {
            "cluster": self.snapshot.cluster.name if self.snapshot else "",
            "policy": self.base.policy.name,
            "revision": self.base.number,
            "snapshot": self.snapshot.pk if self.snapshot else "",
            "scenario": self.scenario.scenario_id if self.scenario else "",
            "pod": self.pod,
        }
        return urlencode({name: value for name, value in query.items() if value})

    @property
    def address(self) -> str:
        """The page for the same policy at the same place, whatever is the newest."""
        return f"{reverse('trying')}?{self.query}"


def _find_snapshot(request: HttpRequest) -> Snapshot | None:
    scope, snapshot_id = scope_of(request), request.GET.get("snapshot", "")
    if scope.cluster is None or not snapshot_id:
        return scope.snapshot
    try:
        return snapshot_get(scope.cluster, str(UUID(snapshot_id)))
    except ValueError:
        raise Http404("There is no such snapshot.") from None
