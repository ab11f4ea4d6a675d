"""The plan that a new site begins with: the nodes of the demo that could go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.plans.offers import offer_later
from kschedweb.clusters.models import ClusterSource, Snapshot

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.jobs.models import Job


def plan_example(id: UUID) -> Job | None:
    """Start to find out which nodes of the demo could go, as the first look at its overview does."""
    snapshots = Snapshot.objects.filter(cluster__source=ClusterSource.DEMO, complete=True)
    return offer_later(snapshot=snapshots.select_related("cluster").defer("content").latest("taken_at"))
