"""Read recordings. Everyone who is signed in sees those of all clusters, like the clusters themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import Http404

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.jobs.models import ENDED
from kschedweb.playground.recordings.models import Chunk, Recording
from kschedweb.playground.scenarios.models import Scenario

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User


def recording_list() -> QuerySet[Recording]:
    """Return the recordings, newest first."""
    return Recording.objects.select_related("cluster", "job", "created_by")


def recording_get(recording_id: UUID | str) -> Recording:
    """Return the recording of this id; raise ``Http404`` if there is none."""
    recording = recording_list().filter(pk=recording_id).first()
    if recording is None:
        raise Http404("There is no such recording.")
    return recording


def recording_running(cluster: Cluster) -> Recording | None:
    """Return the running recording of ``cluster``; ``None`` if it is not being recorded."""
    return recording_list().filter(cluster=cluster, job__isnull=False).exclude(job__state__in=ENDED).first()


def read_chunks(recording: Recording) -> Iterator[bytes]:
    """Yield the chunks of gzipped text of a recording."""
    for content in Chunk.objects.filter(recording=recording).order_by("number").values_list("content", flat=True):
        yield bytes(content)


def list_recordable() -> QuerySet[Cluster]:
    """Return the clusters that can be recorded, by name."""
    return Cluster.objects.filter(source__in=CONNECTED)


def list_own_scenarios(user: User) -> QuerySet[Scenario]:
    """Return the scenarios to which ``user`` may copy a recording, by name."""
    scenarios = Scenario.objects.filter(built_in=False)
    return scenarios if user.everywhere("administer") else scenarios.filter(created_by=user)
