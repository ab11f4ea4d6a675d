"""Recorder of watch events, without a connection: bounds, gaps, and kinds that may not be read."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from kschedweb.accounts.models import User
from kschedweb.clusters.following.reflector import Changed, Listed
from kschedweb.clusters.models import Cluster
from kschedweb.jobs import services as jobs
from kschedweb.jobs.models import Job
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.recordings import recorder
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.recordings.recorder import ClusterRecorder
from kschedweb.web.errors import ApplicationError, NotFound
from tests.support import seed_recordings

pytestmark = pytest.mark.django_db


class Clock:
    """Time that passes when it is asked for."""

    def __init__(self, step: float = 0.1) -> None:
        self.now, self.step = timezone.now().timestamp(), step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "LONGEST_WAIT", 0.0)
    monkeypatch.setattr(recorder, "KEEP_EVERY", 0.0)
    monkeypatch.setattr(recorder, "close_old_connections", lambda: None)  # the test's is in a transaction


def claim_job(recording: Recording) -> Job:
    job = jobs.job_claim(str(recording.job_id))
    assert job is not None
    return job


def record_news(user: User, *news: object, clock: Clock | None = None) -> Recording:
    """A recording of ten seconds in which ``news`` were heard."""
    recording = seed_recordings.started(user, seconds=10)
    cluster_recorder = ClusterRecorder(recording, claim_job(recording), clock=clock or Clock())
    for kind in recorder.SCHEDULER_KINDS:
        cluster_recorder._inbox.put(Listed(kind.name, [], "1", "start"))
    for event in news:
        cluster_recorder._inbox.put(event)
    cluster_recorder._follow_events([])
    recording.refresh_from_db()
    return recording


def pods(count: int) -> list[object]:
    now = timezone.now().timestamp()
    return [Changed("Pod", seed_recordings.pod(number, now)) for number in range(count)]


def test_it_ends_when_its_time_is_over_and_says_how_far_it_was(editor: User) -> None:
    recording = record_news(editor, *pods(3))
    assert (recording.records, recording.pods, recording.notes, recording.lasted) == (3, 3, [], 10.0)
    job = Job.objects.get()
    assert (job.done, job.total, job.seconds_left) == (10, 10, 0.0)
    assert job.step == "3 records of 0 nodes and 3 pods; seconds:"


@pytest.mark.parametrize(
    ("bound", "value", "reason"),
    [
        ("MOST_EVENTS", 5, "a scenario takes at most 5 records"),
        ("MOST_PODS", 4, "a scenario takes at most 4 pods"),
        ("UPLOAD_LIMIT", 1000, "a file has at most 0 MiB of text (KSCHEDWEB_UPLOAD_LIMIT_MIB)"),
    ],
)
def test_it_ends_early_where_no_more_fits_and_says_why(
    editor: User, settings: Settings, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, reason: str
) -> None:
    monkeypatch.setattr(settings if bound == "UPLOAD_LIMIT" else recorder, bound, value)
    recording = record_news(editor, *pods(20))
    assert 0 < recording.records <= 5
    assert recording.lasted < 10.0
    (note,) = recording.notes
    assert note.startswith("Ended after ")
    assert note.endswith(f": {reason}.")


def test_an_object_that_no_scenario_takes_is_left_out(editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_RECORD", 600)
    large: Any = seed_recordings.pod(9, timezone.now().timestamp())
    large["metadata"]["annotations"] = {"much": "x" * 600}
    recording = record_news(editor, Changed("Pod", large), *pods(1))
    assert recording.records == 1
    assert recording.notes[0].endswith("characters was left out; a record has at most 600.")


def test_a_kind_that_may_not_be_read_is_noted_but_for_those_that_few_clusters_serve(editor: User) -> None:
    words = "may not be listed with these credentials"
    recording = record_news(
        editor,
        Listed("StorageClass", [], "", "error", problem=f"storageclasses {words}"),
        Listed("CloneSet", [], "", "error", problem="clonesets are not served by this cluster"),
    )
    assert recording.notes == [f"storageclasses {words}: they are missing."]


def test_another_attempt_goes_on_to_the_same_end_and_tells_of_the_gap(editor: User) -> None:
    recording, clock = seed_recordings.started(editor, seconds=60), Clock()
    first = ClusterRecorder(recording, claim_job(recording), clock=clock)
    first._handle_event(pods(1)[0])
    first._store_lines()
    Job.objects.update(state="queued")
    clock.now += 30.0
    recording = Recording.objects.get(pk=recording.pk)
    second = ClusterRecorder(recording, claim_job(recording), clock=clock)
    with pytest.raises(Cancelled):
        first._store_lines()
    second._handle_event(Listed("Pod", [seed_recordings.pod(0, 0.0)], "2", "start"))
    second._follow_events([])
    recording.refresh_from_db()
    assert (recording.records, recording.lasted) == (1, 60.0)
    (note,) = recording.notes
    assert note.startswith("Nobody watched for 3")


def test_a_cluster_that_does_not_answer_is_not_waited_for_in_vain(
    editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", -1.0)
    recording = seed_recordings.started(editor)
    with pytest.raises(ApplicationError, match="did not list its nodes and pods in time"):
        ClusterRecorder(recording, claim_job(recording), clock=Clock())._follow_events([])


def test_a_cluster_that_is_deleted_ends_its_recording(editor: User) -> None:
    recording = seed_recordings.started(editor)
    cluster_recorder = ClusterRecorder(recording, claim_job(recording), clock=Clock())
    cluster_recorder._handle_event(pods(1)[0])
    Cluster.objects.filter(pk=recording.cluster_id).delete()
    with pytest.raises(NotFound, match="deleted while it was recorded"):
        cluster_recorder._store_lines()
