"""The recording that a new site begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.playground.recordings.services import recording_start

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.recordings.models import Recording

SECONDS = 120


def sandbox_has() -> bool:
    """Return whether this site has a sandbox, which alone changes on a new site."""
    return Cluster.objects.filter(source=ClusterSource.SANDBOX).exists()


def recording_example(id: UUID) -> Recording:
    """Start to record what happens in the sandbox."""
    sandbox = Cluster.objects.get(source=ClusterSource.SANDBOX)
    return recording_start(user=None, cluster=sandbox, seconds=SECONDS, id=id)
