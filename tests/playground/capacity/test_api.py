"""REST about capacity."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, NodeRow, Snapshot
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.playground.capacity import services
from kschedweb.playground.capacity.queries import FitQuery, PodQuery
from kschedweb.policies.models import Policy
from kschedweb.policies.selectors import revision_get
from tests.engine.builders import node
from tests.engine.storage import DRIVER, csi_node, storage_class

pytestmark = pytest.mark.django_db


def post(api: Any, kind: str, **fields: object) -> Any:
    return api.post(f"/api/v1/capacity/{kind}/", {"cluster": "demo", **fields}, format="json")


def test_a_workload_of_the_snapshot_is_counted(api_as: Callable[..., Any], demo: Snapshot) -> None:
    response = post(api_as("viewer"), "fit", pod={"workload": "kube-system/Deployment/coredns"}, limit=50)
    assert response.status_code == 200, response.json()
    data = response.json()
    assert (data["policy"], data["revision"], data["count"], data["exact"]) == ("default", 1, 50, False)
    assert sum(data["nodes"].values()) == 50
    assert data["answer"] == "At least 50 more such pods fit: counting stopped at the limit."


def test_it_is_answered_as_the_clusters_kube_scheduler_where_the_policy_names_none(
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, editor: User
) -> None:
    """At once and by a job, over REST and on the page."""
    fields = {"pod": {"requests": {"cpu": "9000"}}}
    assert post(api_as("viewer"), "fit", **fields).json()["engine"] == CURRENT.engine
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.35.2")
    assert post(api_as("viewer"), "fit", **fields).json()["engine"] == RELEASES["1.35"].engine
    page = client_as("viewer").get("/capacity/", {"ask": "1", "cluster": demo.cluster.name, "cpu": "9000"})
    assert f"Answered by {RELEASES['1.35'].engine}." in page.content.decode()
    demo.refresh_from_db()
    default = revision_get(Policy.objects.get(name="default"), 1)
    asked_of_a_job = FitQuery(PodQuery(requests=(("cpu", "9000"),)))
    question = services.question_ask(user=editor, snapshot=demo, revision=default, query=asked_of_a_job)
    services.KIND.answer(question, lambda *_: None)
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.36.2")
    answer = api_as("viewer").get(f"/api/v1/capacity/answers/{question.pk}/").json()
    assert answer["engine"] == RELEASES["1.35"].engine
    page = client_as("viewer").get(f"/capacity/answers/{question.pk}/")
    assert f"Answered by {RELEASES['1.35'].engine}." in page.content.decode()


def test_what_does_not_fit_says_why_in_the_schedulers_words(api_as: Callable[..., Any], demo: Snapshot) -> None:
    data = post(api_as("viewer"), "fit", pod={"requests": {"cpu": "9000"}}).json()
    assert (data["count"], data["exact"], data["nodes"]) == (0, True, {})
    assert data["message"].startswith("0/60 nodes are available:")
    assert sum(reason["nodes"] for reason in data["reasons"]) == 60
    assert {"NodeResourcesFit", "TaintToleration"} <= {reason["plugin"] for reason in data["reasons"]}


def test_what_an_api_server_would_refuse_of_a_manifest_is_a_note(api_as: Callable[..., Any], demo: Snapshot) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "main"}]}}
    pod["spec"] |= {"tolerations": [{"operator": "Exists", "value": "b"}]}  # type: ignore[operator]
    message = "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"
    answer = post(api_as("viewer"), "fit", pod={"manifest": json.dumps(pod)}).json()
    assert answer["notes"] == [f'A cluster would not take this pod. Pod "a" is invalid: {message}.']
    assert answer["count"] > 0


def test_a_manifest_may_be_a_workload(api_as: Callable[..., Any], demo: Snapshot) -> None:
    manifest = """
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}}
"""
    plain = post(api_as("viewer"), "fit", pod={"requests": {"cpu": "3"}}).json()
    from_manifest = post(api_as("viewer"), "fit", pod={"manifest": manifest}).json()
    assert from_manifest["count"] == plain["count"] > 0


EPHEMERAL = """
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [{name: c}]
  volumes:
  - name: data
    ephemeral: {volumeClaimTemplate: {spec: {storageClassName: disk, resources: {requests: {storage: 1Gi}}}}}
"""
STATEFUL_SET = """
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: disk, resources: {requests: {storage: 1Gi}}}
  template: {spec: {containers: [{name: c, volumeMounts: [{name: data, mountPath: /data}]}]}}
"""


@pytest.mark.parametrize("manifest", [EPHEMERAL, STATEFUL_SET])
def test_volumes_of_each_pod_are_counted_over_rest_and_on_the_page(
    api_as: Callable[..., Any],
    client_as: Callable[..., Any],
    demo: Snapshot,
    store_snapshot: Callable[..., Snapshot],
    manifest: str,
) -> None:
    """Two nodes that attach two volumes each."""
    csi_nodes = [csi_node(name, csi_example_com=2) for name in "ab"]
    store_snapshot([node("a"), node("b"), *csi_nodes, storage_class("disk", DRIVER)])
    answer = post(api_as("viewer"), "fit", pod={"manifest": manifest}).json()
    assert (answer["count"], answer["exact"], answer["nodes"]) == (4, True, {"a": 2, "b": 2})
    page = client_as("viewer").get("/capacity/", {"ask": "1", "cluster": "demo", "manifest": manifest})
    assert answer["answer"].removesuffix(".") in page.content.decode()


def test_nodes_are_added_until_all_fit(api_as: Callable[..., Any], demo: Snapshot) -> None:
    fields = {"node": {"allocatable": {"cpu": "16", "memory": "64Gi"}}, "pending": False, "copies": 60}
    data = post(api_as("viewer"), "nodes", **fields, pod={"requests": {"cpu": "7500m"}}).json()
    node_count = data["needed"]
    assert data["tried"][str(node_count)] == 0 < data["tried"][str(node_count - 1)]
    assert len(data["nodes"]) == node_count >= data["at_least"]


def test_a_drain_names_moves_and_blocks(api_as: Callable[..., Any], demo: Snapshot) -> None:
    names = list(NodeRow.objects.filter(snapshot=demo).values_list("name", flat=True))
    data = post(api_as("viewer"), "drain", nodes=names).json()
    assert not data["emptied"]
    blocks = [block for node in data["nodes"] for block in node["blocks"]]
    assert {block["kind"] for block in blocks} >= {"no room elsewhere"}
    assert all(block["message"] for block in blocks)


@pytest.mark.parametrize(
    ("kind", "fields", "path", "status"),
    [
        ("fit", {"pod": {}}, "pod", 400),
        ("fit", {"pod": {"requests": {"cpu": "x"}}}, "requests.cpu", 400),
        ("fit", {"pod": {"workload": "a/Deployment/b"}}, "workload", 400),
        ("fit", {"pod": {"requests": {"cpu": "1"}}, "limit": 0}, "limit", 400),
        ("nodes", {"node": {}}, "node", 400),
        ("nodes", {"node": {"like": "none"}}, "like", 400),
        ("drain", {"nodes": []}, "nodes", 400),
        ("drain", {"nodes": ["none"]}, "nodes", 400),
    ],
)
def test_wrong_input_is_a_problem_with_its_place(
    api_as: Callable[..., Any], demo: Snapshot, kind: str, fields: dict[str, Any], path: str, status: int
) -> None:
    answer = post(api_as("viewer"), kind, **fields)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["errors"][0]["path"] == path


def test_an_unknown_cluster_or_policy_is_not_found(api_as: Callable[..., Any], demo: Snapshot) -> None:
    pod = {"requests": {"cpu": "1"}}
    assert post(api_as("viewer"), "fit", pod=pod, cluster="none").status_code == 404
    assert post(api_as("viewer"), "fit", pod=pod, policy="none").status_code == 404
