"""Data for the pages of the sandbox."""

from __future__ import annotations

import json

import pytest
from django.http import Http404
from pytest_django import Settings

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import sandbox_connect
from kschedweb.sandbox import selectors, services
from kschedweb.sandbox.running.process import Sandbox
from kschedweb.web.errors import NotFound
from tests.sandbox.test_services import DEPLOYMENT
from tests.support.processes import wait_until
from tests.support.sandbox import pod, use_sandbox

pytestmark = pytest.mark.django_db


def test_a_site_has_a_sandbox_only_where_one_runs(cluster: Cluster, settings: Settings) -> None:
    assert selectors.sandbox_get() == cluster
    use_sandbox(settings, "")
    with pytest.raises(Http404, match="without a sandbox"):
        selectors.sandbox_get()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"metadata": {}}, "Pending: no scheduler has said anything yet"),
        ({"metadata": {}, "spec": {"nodeName": "a"}, "status": {"phase": "Running"}}, "Running on a"),
        ({"metadata": {}, "spec": {"nodeName": "a"}}, "Pending on a"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"nodeName": "a"}}, "being deleted"),
        (
            {"metadata": {}, "status": {"conditions": [{"type": "PodScheduled", "message": "0/3 nodes"}]}},
            "Pending: 0/3 nodes",
        ),
    ],
)
def test_how_a_pod_stands(raw: dict[str, object], words: str) -> None:
    assert selectors.pod_state(raw) == words


def test_a_pod_and_a_deployment_find_their_pods_and_their_events(db: None, sandbox: Sandbox, editor: User) -> None:
    cluster = sandbox_connect()[0]
    text = DEPLOYMENT.replace("nobody", "default-scheduler")
    services.objects_create(user=editor, cluster=cluster, text=text)
    services.objects_create(user=editor, cluster=cluster, text=json.dumps(pod("one", scheduler="default-scheduler")))

    def running() -> bool:
        return selectors.get_details(cluster, "Deployment", "default", "pair").row.pods == 2

    wait_until(running, "both pods are ready")
    details = selectors.get_details(cluster, "Deployment", "default", "pair")
    assert len(details.pods) == 2
    assert all(row.state.startswith("Running on ") for row in details.pods)
    reasons = [row.reason for row in details.happenings]
    assert reasons.count("Scheduled") == 2
    assert reasons.index("ScalingReplicaSet") < reasons.index("SuccessfulCreate") < reasons.index("Scheduled")
    assert {row.kind for row in details.happenings} == {"Deployment", "ReplicaSet", "Pod"}

    def started() -> bool:
        return "Started" in [
            happening.reason for happening in selectors.get_details(cluster, "Pod", "default", "one").happenings
        ]

    wait_until(started, "the single one has started")
    single = selectors.get_details(cluster, "Pod", "default", "one")
    assert single.pods == []
    assert {happening.object_title for happening in single.happenings} == {"Pod default/one"}


def test_what_is_not_there_and_what_has_no_page(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match="no Pod default/none"):
        selectors.get_details(cluster, "Pod", "default", "none")
    with pytest.raises(NotFound, match="A Node has no page here: Pod, Deployment"):
        selectors.get_details(cluster, "Node", "default", "a")


def test_new_events_are_counted_from_those_that_were_shown(cluster: Cluster) -> None:
    newest = max((happening.version for happening in selectors.list_happenings(limit=10_000)), default=0)
    with selectors.open_client() as client:
        event = {"metadata": {"name": "told"}, "reason": "Told", "message": "something", "type": "Normal"}
        reference = {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "seed"}}
        client.create("/api/v1/namespaces/default/events", event | reference)
    # The sandbox goes on beside the test: other events may come between two looks.
    fewest = selectors.happenings_since(newest)
    newer = [happening for happening in selectors.list_happenings(limit=10_000) if happening.version > newest]
    assert 1 <= fewest <= len(newer) <= selectors.happenings_since(newest)
    assert "Told" in [happening.reason for happening in newer]
