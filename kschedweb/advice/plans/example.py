"""The plan that a new site begins with: the nodes of the demo that could go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.plans.offers import offer_later
from kschedweb.clusters.models import ClusterSource, Snapshot
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.jobs.models import Job


def plan_example(id: UUID) -> Job | None:
    """Start to find out which nodes of the demo could go, as the first look at its overview does."""
    snapshots = Snapshot.objects.filter(cluster__source=ClusterSource.DEMO, complete=True)
    snapshot = snapshots.select_related("cluster").defer("content").order_by("-taken_at").first()
    if snapshot is None:
        raise NotFound("There is no demo to plan moves in.")
    return offer_later(snapshot=snapshot)
