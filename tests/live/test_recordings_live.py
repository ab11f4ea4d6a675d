"""A real cluster with the real kube-scheduler is recorded and played again; a worker that records is killed."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from pytest_django import Settings

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import PodArrives
from kschedweb.jobs import services as jobs
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.recordings import selectors, services, tasks
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.scenarios import selectors as scenarios
from tests.jobs.conftest import WorkerProcess, broker, send, worker_process
from tests.live.test_clusters_live import by_token
from tests.live.test_extender_endpoint_live import EMPTY
from tests.live.test_shadow_live import node, pod
from tests.support.controlplane import READ_EVERYTHING
from tests.support.kubescheduler import kube_scheduler
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

__all__ = ["broker", "send", "worker_process"]
pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]

PODS = "/api/v1/namespaces/default/pods"
NOW = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


@pytest.fixture(autouse=True)
def allowed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    monkeypatch.setenv("KSCHEDWEB_CLUSTER_ALLOWLIST", "127.0.0.1")


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.grant("reader", READ_EVERYTHING)
    control_plane.create_nodes(node(number) for number in range(4))
    yield control_plane
    control_plane.wipe()


@pytest.fixture
def watched(plane: ControlPlane) -> Cluster:
    cluster, job = by_token(plane)
    jobs.job_cancel(job=job, user=None)
    return cluster


def recorded(recording: Recording) -> list[Json]:
    text = gzip.decompress(b"".join(selectors.read_chunks(recording)))
    return [json.loads(line) for line in text.splitlines()]


def select_records(lines: list[Json], event: str, name: str) -> list[Json]:
    return [record for record in lines if (record["event"], record["resource"]["metadata"]["name"]) == (event, name)]


def moment(line: Json) -> float:
    return datetime.fromisoformat(line["time"]).timestamp()


def knows(recording: Recording, name: str, events: int = 1) -> Callable[[], bool]:
    """Return a check that the recording has at least so many records of an object of that name."""
    return lambda: sum(record["resource"]["metadata"]["name"] == name for record in recorded(recording)) >= events


def ended(job: Job) -> Job:
    wait_until(lambda: Job.objects.get(pk=job.pk).ended_at is not None, "the job ended")
    return Job.objects.get(pk=job.pk)


def place(plane: ControlPlane, number: int) -> tuple[float, float, str]:
    """Create a pod and wait until kube-scheduler has placed it: the times around its creation, and its node."""
    before = time.time()
    plane.call("POST", PODS, pod(number))
    after = time.time()

    def on() -> str:
        return str(plane.call("GET", f"{PODS}/pod-{number}")["spec"].get("nodeName", ""))

    wait_until(lambda: bool(on()), "kube-scheduler placed the pod", step=0.02)
    return before, after, on()


def test_what_happened_is_recorded_and_played_with_its_times_and_names(
    plane: ControlPlane, watched: Cluster, editor: User
) -> None:
    with kube_scheduler(plane, EMPTY):
        _, _, first = place(plane, 0)
        time.sleep(1.1)  # objects tell their times in whole seconds: this one is older than the recording
        recording = services.recording_start(user=editor, cluster=watched, seconds=3600)
        assert recording.job is not None
        tasks.record(str(recording.job.pk))
        wait_until(knows(recording, "pod-0"), "what is there at first is kept")
        wait_until(knows(recording, "node-03"), "the nodes are kept")
        placements = {f"pod-{number}": place(plane, number) for number in range(1, 7)}
        deleted_at = {}
        for number in (1, 2):
            deleted_at[f"pod-{number}"] = time.time()
            plane.call("DELETE", f"{PODS}/pod-{number}", NOW)
        plane.call("PATCH", "/api/v1/nodes/node-03", {"spec": {"unschedulable": True}})
        plane.call("PATCH", "/api/v1/nodes/node-03", {"metadata": {"annotations": {"nobody": "reads this"}}})
        wait_until(knows(recording, "node-03", 2), "the last change is kept")
        jobs.job_cancel(job=recording.job, user=editor)
        assert ended(recording.job).state == JobState.CANCELLED

    lines = recorded(recording)
    assert {record["resource"]["kind"] for record in lines}.isdisjoint({"Secret", "ConfigMap"})
    assert all("managedFields" not in record["resource"]["metadata"] for record in lines)
    for name, (before, after, on) in placements.items():
        (added,), (bound,) = select_records(lines, "Add", name), select_records(lines, "Update", name)
        assert before - 0.1 <= moment(added) <= after + 0.5, name
        assert "nodeName" not in added["resource"]["spec"]
        assert (bound["resource"]["spec"]["nodeName"], moment(bound) >= moment(added)) == (on, True)
        assert [moment(record) >= deleted_at[name] for record in select_records(lines, "Delete", name)] == (
            [True] if name in deleted_at else []
        )
    assert [
        record["resource"]["spec"].get("unschedulable") for record in select_records(lines, "Update", "node-03")
    ] == [True]

    recording = selectors.recording_get(recording.pk)
    assert recording.notes == []
    assert (recording.nodes, recording.pods, recording.records) == (4, 7, len(lines))
    scenario = services.scenario_make(user=editor, recording=recording)
    prepared = scenarios.prepare_revision(scenarios.revision_get(scenarios.scenario_get(editor, scenario.pk)), 1)
    assert recording.began_at is not None
    start_time = recording.began_at.timestamp()
    came_with = [(event, event.pod) for event in prepared.events if isinstance(event, PodArrives)]
    arrivals = {pod.name: event for event, pod in came_with if isinstance(pod, Pod)}
    nodes = {pod.name: pod.node_name for _, pod in came_with if isinstance(pod, Pod)}
    times = {
        name: pytest.approx(moment(select_records(lines, "Add", name)[0]) - start_time, abs=1e-5) for name in placements
    }
    assert {name: event.time for name, event in arrivals.items()} == {"pod-0": 0.0} | times
    assert nodes == dict.fromkeys(placements, "") | {"pod-0": first}, "what was there at first stays where it was"
    for name in deleted_at:
        life = moment(select_records(lines, "Delete", name)[0]) - moment(select_records(lines, "Update", name)[0])
        assert arrivals[name].duration == pytest.approx(life, abs=1e-5)


@pytest.mark.nightly
def test_a_worker_killed_in_the_middle_loses_nothing_and_another_goes_on(
    plane: ControlPlane,
    watched: Cluster,
    editor: User,
    worker_process: WorkerProcess,
    send: Callable[[Job], None],
) -> None:
    recording = services.recording_start(user=editor, cluster=watched, seconds=3600)
    job = recording.job
    assert job is not None
    with worker_process("first") as first:
        send(job)
        wait_until(knows(recording, "node-03"), "the nodes are kept")
        plane.create_all(PODS, [pod(number) for number in range(4)])
        for number in range(4):
            wait_until(knows(recording, f"pod-{number}"), "the pods are kept")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait(10)
    before = recorded(recording)
    plane.call("DELETE", f"{PODS}/pod-0", NOW)
    plane.call("POST", PODS, pod(9))
    created = plane.call("GET", f"{PODS}/pod-9")["metadata"]["creationTimestamp"]
    # Nobody waits a minute here: the clock is put back instead.
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - jobs.SILENT - timedelta(seconds=1))
    assert jobs.jobs_reconcile()["requeued"] == 1
    tasks.record(str(job.pk))
    wait_until(knows(recording, "pod-9"), "another worker goes on")
    plane.call("POST", PODS, pod(10))
    wait_until(knows(recording, "pod-10"), "it follows the cluster")
    jobs.job_cancel(job=job, user=editor)
    assert (ended(job).state, ended(job).attempt) == (JobState.CANCELLED, 2)
    lines = recorded(recording)
    assert lines[: len(before)] == before
    later = [(record["event"], record["resource"]["metadata"]["name"]) for record in lines[len(before) :]]
    assert sorted(later) == [("Add", "pod-10"), ("Add", "pod-9"), ("Delete", "pod-0")]
    (added,) = select_records(lines, "Add", "pod-9")
    assert moment(added) == datetime.fromisoformat(created).timestamp(), "it came when it says"


def test_a_cluster_that_may_not_be_read_says_so(
    plane: ControlPlane, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.playground.recordings.recorder.PATIENCE", 3.0)
    plane.grant("limited", [rule | {"resources": ["pods"]} for rule in READ_EVERYTHING])
    cluster, refresh = by_token(plane, "limited", name="limited")
    with contextlib.suppress(Exception):
        jobs.job_cancel(job=refresh, user=None)
    recording = services.recording_start(user=editor, cluster=cluster, seconds=60)
    assert recording.job is not None
    tasks.record(str(recording.job.pk))
    job = ended(recording.job)
    assert (job.state, job.error) == (JobState.FAILED, "The credentials may not read /api/v1/nodes (403).")
