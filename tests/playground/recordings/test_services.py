"""Recordings as rows: started once a cluster, kept chunk by chunk, used as scenarios and files."""

from __future__ import annotations

import gzip
import json

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import PodArrives
from kschedweb.jobs import services as jobs
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.recordings import selectors, services
from kschedweb.playground.recordings.models import Chunk, Recording
from kschedweb.playground.recordings.storage import CHUNK, Writer
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.scenarios.effect import describe_effect
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.web.errors import ApplicationError, Conflict
from tests.support import seed_recordings

pytestmark = pytest.mark.django_db


def recorded_text(recording: Recording) -> str:
    return gzip.decompress(b"".join(selectors.read_chunks(recording))).decode()


def test_a_connected_cluster_is_recorded_once_at_a_time(editor: User) -> None:
    cluster = seed_recordings.cluster()
    first = seed_recordings.started(editor, cluster)
    assert first.job is not None
    assert (first.job.params, first.job.restartable, first.state) == ({"recording": str(first.pk)}, True, "queued")
    with pytest.raises(Conflict, match="is being recorded already"):
        seed_recordings.started(editor, cluster)
    jobs.job_cancel(job=first.job, user=editor)
    seed_recordings.started(editor, cluster)
    imported_cluster = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    with pytest.raises(Conflict, match="is not connected"):
        services.recording_start(user=editor, cluster=imported_cluster, seconds=60)
    for seconds in (9, 86_401):
        with pytest.raises(ApplicationError, match="lasts from 10 s to 24 h"):
            services.recording_start(user=editor, cluster=cluster, seconds=seconds)


def test_lines_are_kept_in_chunks_that_grow_and_an_attempt_that_is_over_keeps_nothing(editor: User) -> None:
    recording = seed_recordings.started(editor)
    job = jobs.job_claim(str(recording.job_id))
    assert job is not None
    writer, lines = Writer(recording, job), []
    for size in (10, 20, CHUNK, 30, CHUNK + 5):
        lines.append("x" * size)
        writer.add_line(lines[-1])
        writer.store_lines(timezone.now(), pods=1)
        recording.refresh_from_db()
        assert recorded_text(recording).splitlines() == lines
        assert (recording.records, recording.size) == (len(lines), len(recorded_text(recording)))
    assert Chunk.objects.filter(recording=recording).count() == 2
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    second_attempt = jobs.job_claim(str(job.pk))
    assert second_attempt is not None
    writer.add_line("from a worker that was taken for dead")
    with pytest.raises(Cancelled):
        writer.store_lines(timezone.now())
    later = Writer(recording, second_attempt)
    later.add_line("last")
    later.store_lines(timezone.now())
    assert recorded_text(recording).splitlines() == [*lines, "last"]


def test_a_scenario_of_it_brings_the_pods_when_they_came(editor: User) -> None:
    recording = seed_recordings.recording(editor)
    scenario = services.scenario_make(user=editor, recording=recording)
    assert scenario.name == "recorded as recorded 2026-05-01 12:00"
    revision = scenarios.revision_get(scenarios.scenario_get(editor, scenario.pk))
    assert revision.document["run"] == {"place": "pending", "until": 3600}
    prepared = scenarios.prepare_revision(revision, 1)
    arrivals = [(event, event.pod) for event in prepared.events if isinstance(event, PodArrives)]
    arrivals_by_pod = {pod.name: (event.time, event.duration) for event, pod in arrivals if isinstance(pod, Pod)}
    later = {f"web-{n}": (60 * n + 0.5, 30.0 if n % 2 else None) for n in range(seed_recordings.PODS)}
    assert arrivals_by_pod == later | {"web-99": (0.0, None)}
    effect = describe_effect([], prepared)
    assert (effect.beginning, effect.waiting) == ("2 nodes and 1 pod on them", 0)
    assert {raw["metadata"]["name"] for raw in prepared.objects} == {"n0", "n1"}
    second_scenario = services.scenario_make(user=editor, recording=recording)
    assert second_scenario.name == "recorded as recorded 2026-05-01 12:00 2"
    services.recording_delete(user=editor, recording=recording)
    assert scenario.files.count() == 1, "the scenario keeps its copy"


def test_it_is_given_to_a_scenario_that_is_there(editor: User, admin: User) -> None:
    recording = seed_recordings.recording(editor)
    scenario = scenario_create(text="name: mine\n", author=editor)
    row = services.file_give(user=editor, recording=recording, scenario=scenario)
    assert (row.name, row.kind, row.lines) == ("recorded-20260501-120000.jsonl", "records", recording.records)
    assert row.problems == []
    assert services.file_give(user=editor, recording=recording, scenario=scenario) == row
    foreign_scenario = scenario_create(text="name: another's\n", author=admin)
    with pytest.raises(PermissionDenied):
        services.file_give(user=editor, recording=recording, scenario=foreign_scenario)


def test_what_is_not_done_or_empty_is_not_used(editor: User, admin: User) -> None:
    recording = seed_recordings.started(editor)
    with pytest.raises(Conflict, match="still being recorded"):
        services.scenario_make(user=editor, recording=recording)
    with pytest.raises(Conflict, match="stop that first"):
        services.recording_delete(user=editor, recording=recording)
    assert recording.job is not None
    jobs.job_cancel(job=recording.job, user=editor)
    recording = selectors.recording_get(recording.pk)
    with pytest.raises(Conflict, match="Nothing was recorded"):
        services.scenario_make(user=editor, recording=recording)
    with pytest.raises(PermissionDenied):
        services.recording_delete(user=User.objects.create(username="other", role="editor"), recording=recording)
    services.recording_delete(user=admin, recording=recording)


def test_a_record_is_what_kube_scheduler_simulator_writes(editor: User) -> None:
    first = json.loads(recorded_text(seed_recordings.recording(editor)).splitlines()[0])
    assert first["time"] == "2026-05-01T12:00:00.000000Z"
    assert (first["event"], first["resource"]["kind"]) == ("Add", "Node")
