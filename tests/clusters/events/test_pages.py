"""An object's page shows the words of its cluster and its YAML, within the grants of who asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from django.test import Client

from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.roles import Role
from kschedweb.clusters.manifests import simplify_object
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import cluster_import, demo_load
from tests.clusters.conftest import node, pod
from tests.support.html import elements, html_of, text
from tests.support.seed_events import event

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

pytestmark = pytest.mark.django_db
ClientAs = Callable[[str], Client]


def reasons(page: Any) -> list[str]:
    return [row["data-event"] for row in elements(page, "#events tr[data-event]")]


@pytest.fixture
def cluster() -> Cluster:
    """Two namespaces, of each a pod that waits with Events, and a node with one."""
    objects: list[Any] = [node(), pod("red", "a"), pod("blue", "b"), pod("quiet", "a")]
    objects += [event(f"red.{number}", objects[1], minute=number, message=f"red {number}") for number in range(12)]
    objects += [event("blue.1", objects[2], message="blue waits"), event("node-1.1", node(), message="a pod of b/blue")]
    # Of the pod that had this name before.
    objects += [event("red.old", pod("red", "a") | {"metadata": {"name": "red", "namespace": "a", "uid": "old"}})]
    files = [("cluster.yaml", yaml.safe_dump_all(objects))]
    return cluster_import(user=None, name="colours", files=files, limit=2**20)[0]


@pytest.fixture(scope="module")
def stored_demo(rows_of_module: Callable[[], AbstractContextManager[None]]) -> Cluster:
    with rows_of_module():
        return demo_load()


@pytest.fixture
def demo(stored_demo: Cluster, db: None) -> Cluster:
    return stored_demo


@pytest.fixture
def client_of_a() -> Client:
    """Somebody who may view namespace a, and nothing else."""
    user = User.objects.create(username="of-a", role=Role.NONE)
    Grant.objects.create(user=user, role=Role.VIEWER, scope=GrantScope.ALL, namespaces=["a"])
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_a_pod_has_the_ten_newest_of_its_own_with_a_way_to_all(client_as: ClientAs, cluster: Cluster) -> None:
    page = client_as("viewer").get("/decision/colours/a/red/")
    shown = page.context["events"]
    assert [event.row.message for event in shown.rows] == [f"red {number}" for number in range(11, 1, -1)]
    assert [event.age for event in shown.rows] == [60.0 * number for number in range(10)]
    assert shown.has_more
    answer = client_as("viewer").get(shown.address).json()
    assert [row["message"] for row in answer["results"]][:2] == ["red 11", "red 10"]
    assert len(answer["results"]) == 13
    assert answer["next"] is None


def test_who_sees_one_namespace_reads_no_words_about_others(client_of_a: Client, cluster: Cluster) -> None:
    assert {row["name"] for row in client_of_a.get("/api/v1/clusters/colours/events/").json()["results"]} == {"red"}
    assert reasons(client_of_a.get("/decision/colours/a/red/"))
    page = client_of_a.get("/nodes/node-1/?cluster=colours")
    assert not reasons(page)
    assert "need a grant for the whole cluster" in text(page)
    assert "b/blue" not in html_of(page)
    assert client_of_a.get("/decision/colours/b/blue/").status_code == 404
    assert client_of_a.get("/clusters/colours/yaml/pods/b/blue/").status_code == 404
    assert client_of_a.get("/clusters/colours/yaml/pods/a/red/").status_code == 200


def test_a_page_without_events_says_why(client_as: ClientAs, cluster: Cluster) -> None:
    absences = []
    client = client_as("viewer")
    for changes in (
        {},
        {"source": "token", "events_read_at": None},
        {"events_problem": "It is away."},
        {"events_read_at": "2026-01-15T12:00:00Z"},
        {"events_problem": ""},
    ):
        Cluster.objects.filter(pk=cluster.pk).update(**changes)
        absences.append(client.get("/decision/colours/a/quiet/").context["events"].absence)
    assert absences[0] == "The imported files have no Event about it."
    assert absences[1] == "Events are read at the next refresh."
    assert absences[2] == absences[3] == "Events could not be read: It is away."
    assert absences[4].startswith("No Event about it is known.")


def test_the_demo_speaks_on_each_page(client_as: ClientAs, demo: Cluster) -> None:
    client = client_as("viewer")
    assert reasons(client.get("/decision/demo/ml/notebook/")) == ["Nominated"]
    assert reasons(client.get("/decision/demo/analytics/cube-builder/")) == ["NotTriggerScaleUp", "FailedScheduling"]
    assert reasons(client.get("/nodes/spot-c-3/?cluster=demo")) == ["NodeNotReady"]
    assert reasons(client.get("/queues/demo/analytics/job-wide-join-prep/")) == ["Pending"]


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("/decision/demo/ml/notebook/", "Pod"),
        ("/nodes/gpu-a-1/?cluster=demo", "Node"),
        ("/queues/demo/analytics/job-wide-join-prep/", "Workload"),
    ],
)
def test_the_yaml_of_an_object_comes_when_it_is_opened(
    client_as: ClientAs, demo: Cluster, page: str, kind: str
) -> None:
    client = client_as("viewer")
    (link,) = elements(client.get(page), "#yaml a[hx-get]")
    plain = client.get(link["href"])
    assert plain["Content-Type"] == "text/plain; charset=utf-8"
    item = yaml.safe_load(plain.content)
    assert item["kind"] == kind
    assert item["metadata"]["name"] in page
    part = client.get(link["hx-get"], headers={"HX-Request": "true"})
    (button,) = elements(part, "button[data-copy]")
    assert yaml.safe_load(button["data-copy"]) == item
    assert not elements(part, "main")


def test_what_programs_note_and_what_may_be_secret_is_left_out() -> None:
    raw = pod()
    raw["metadata"] |= {
        "managedFields": [{"manager": "kubectl"}],
        "resourceVersion": "7",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "token: abc", "team": "red"},
    }
    raw["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "hunter2"}], "command": ["serve", "--key=hunter2"]}
    raw["status"] = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "lastProbeTime": None}]}
    item = simplify_object(raw)
    assert item["metadata"] == {
        "name": "pod-1", "namespace": "default", "uid": "uid-pod-1",
        "annotations": {"note": "token: [redacted]", "team": "red"},
    }  # fmt: skip
    assert item["spec"]["containers"] == [
        {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    ]
    assert item["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    assert "env" in raw["spec"]["containers"][0]


def test_only_kinds_with_a_page_are_shown(client_as: ClientAs, cluster: Cluster) -> None:
    client = client_as("admin")
    for kind in ("secrets/a/red", "configmaps/a/red", "pods/a/gone", "nodes/gone", "workloads/a/red"):
        assert client.get(f"/clusters/colours/yaml/{kind}/").status_code == 404, kind
