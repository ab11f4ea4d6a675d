"""Changes of recordings, and scenarios and files made from them."""

from __future__ import annotations

import math
from datetime import UTC
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.accounts.roles import may_change
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.jobs.services import job_start
from kschedweb.playground.recordings import selectors
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.scenarios import services as scenarios
from kschedweb.playground.scenarios import uploads
from kschedweb.playground.scenarios.models import FileKind
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from datetime import datetime

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import Scenario, ScenarioFile

# Seconds that a recording lasts; at most a day.
MIN_SECONDS, MAX_SECONDS = 10, 86_400
# Notes of a recording that are stored.
MOST_NOTES = 20


@transaction.atomic
def recording_start(*, user: User | None, cluster: Cluster, seconds: int, id: UUID | None = None) -> Recording:
    """Start to record ``cluster``; raise ``Conflict`` if it is not connected, or is being recorded already.

    ``id`` is for an example of the site.
    """
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        message = f"A recording lasts from {MIN_SECONDS} s to {MAX_SECONDS // 3600} h."
        raise ApplicationError.at("seconds", message)
    if cluster.source not in CONNECTED:
        raise Conflict.at("cluster", f"Cluster {cluster.name} is not connected: there is nothing to watch.")
    # The lock lets only one of two requests see that there is no running recording.
    Cluster.objects.select_for_update().get(pk=cluster.pk)
    if selectors.recording_running(cluster) is not None:
        problem = f"Cluster {cluster.name} is being recorded already: wait for the end, or stop it."
        raise Conflict.at("cluster", problem)
    recording = Recording.objects.create(id=id or uuid4(), cluster=cluster, seconds=seconds, created_by=user)
    title = f"Record cluster {cluster.name}"
    recording.job = job_start("recordings.record", title=title, params={"recording": str(recording.pk)}, user=user)
    recording.save(update_fields=["job"])
    audit.record(user, "recording.started", recording, cluster.name, seconds=seconds)
    return recording


def recording_begin(*, recording: Recording, at: datetime) -> datetime:
    """Set the beginning of the recording to ``at``, unless it began before, and return it."""
    Recording.objects.filter(pk=recording.pk, began_at=None).update(began_at=at)
    recording.refresh_from_db(fields=["began_at"])
    assert recording.began_at is not None
    return recording.began_at


@transaction.atomic
def recording_delete(*, user: User | None, recording: Recording) -> None:
    """Delete ``recording``; raise ``Conflict`` while it is running. Scenarios keep their copies."""
    if user is not None and not may_change(user, recording):
        raise PermissionDenied("Only who made a recording, or an admin, may delete it.")
    if not recording.ended:
        raise Conflict(gettext("The cluster is still being recorded: stop that first."))
    audit.record(user, "recording.deleted", recording, recording.cluster.name, records=recording.records)
    recording.delete()


@transaction.atomic
def scenario_make(*, user: User, recording: Recording, name: str = "", autoscaler: Json | None = None) -> Scenario:
    """Create a scenario that replays ``recording`` in an empty cluster; initial pods stay on their nodes.

    ``autoscaler`` is the part of the document under that key.
    """
    upload = _recording_upload(recording)
    assert recording.began_at is not None
    start = recording.began_at.astimezone(UTC)
    lasted, cluster = math.ceil(recording.lasted), recording.cluster.name
    scenario_name = name.strip() or scenarios.name_free(f"{cluster} as recorded {start:%Y-%m-%d %H:%M}", user)
    document = {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": scenario_name,
        "description": f"What happened in {cluster} within {lasted:,} s from {start:%Y-%m-%d %H:%M:%S %Z}.",
        # The records begin with every object of the cluster, so its nodes arrive at time 0.
        "base": {"empty": True},
        "arrivals": [{"trace": {"file": upload.name, "format": FileKind.RECORDS.value}}],
        "run": {"place": "pending", "until": lasted},
        **({"autoscaler": autoscaler} if autoscaler else {}),
    }
    comment = f"Made of a recording of {cluster}"
    scenario = scenarios.scenario_create(text=as_yaml(document), author=user, comment=comment, files=[upload])
    audit.record(user, "recording.used", recording, recording.cluster.name, scenario=scenario.name)
    return scenario


@transaction.atomic
def file_give(*, user: User, recording: Recording, scenario: Scenario) -> ScenarioFile:
    """Copy ``recording`` to a file of ``scenario``, which its document can name."""
    row = scenarios.file_add(scenario=scenario, upload=_recording_upload(recording), author=user)
    audit.record(user, "recording.used", recording, recording.cluster.name, scenario=scenario.name)
    return row


def _recording_upload(recording: Recording) -> uploads.Upload:
    """Return the recording as a file of a scenario; raise ``Conflict`` if it is empty or running."""
    if not recording.ended:
        raise Conflict(gettext("The cluster is still being recorded: wait for the end, or stop it."))
    if not recording.records:
        raise Conflict(gettext("Nothing was recorded: there is nothing to replay."))
    content = b"".join(selectors.read_chunks(recording))
    # The last line may have exceeded the limit.
    limit = max(settings.UPLOAD_LIMIT, recording.size)
    return uploads.read_upload(recording.file_name, content, limit=limit, kind=FileKind.RECORDS)
