"""The decision over REST: the keys and values of the real scheduler's answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.services import cluster_import
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.config import Release
from kschedweb.engine.json_types import Json
from kschedweb.policies.models import Revision
from kschedweb.web.rest import snake_case
from tests.engine.builders import node, pod

from .conftest import HEAD, MOST_ALLOCATED, RATIO

ADDRESS = "/api/v1/clusters/demo/pods/{}/decision/"
OURS = (
    "snapshot", "policy", "revision", "release", "bound_to", "warnings", "watermarks", "pre_enqueue", "post_filter",
    "maximum", "ranks", "shares", "verdicts", "status", "scheduler", "approval", "fixes", "device_chains",
)  # fmt: skip


def scheduler_part(answer: Json) -> Json:
    """Without what we add, and without victims: of equally good nodes kube-scheduler takes any."""
    return {key: value for key, value in answer.items() if key not in (*OURS, "preemption")}


def comparable(value: Any) -> Any:
    """The order of reasons inside one status is free."""
    if isinstance(value, dict):
        return {key: sorted(item) if key == "reasons" else comparable(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize(
    "document", [HEAD, MOST_ALLOCATED, RATIO], ids=["defaults", "MostAllocated", "RequestedToCapacityRatio"]
)
def test_the_answer_equals_the_real_schedulers(
    demo: Snapshot,
    demo_objects: list[Json],
    policy: Callable[..., Revision],
    api_as: Callable[[str], Any],
    oracle: Callable[[str, str], Any],
    real_release: Release,
    document: str,
) -> None:
    """Every pending pod of the demo, but those whose volumes decide."""
    policy("asked", document, {"release": real_release.name})
    pending = [
        pod.raw for pod in EngineSnapshot.from_objects(demo_objects).pending if not pod.raw["spec"].get("volumes")
    ]
    names = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pending}
    objects = [
        item
        for item in demo_objects
        if item["kind"] != "Pod" or (item["metadata"]["namespace"], item["metadata"]["name"]) not in names
    ]
    objects = [item for item in objects if item["kind"] != "Pod" or item["spec"].get("nodeName")]
    # kube-scheduler's own code does not know Kueue's objects.
    objects = [item for item in objects if not item["apiVersion"].startswith("kueue.x-k8s.io/")]
    scenario = {
        "name": "demo",
        "config": yaml.safe_load(document),
        "objects": objects,
        "pending": pending,
        "mode": "each",
    }
    (expected,) = oracle("explain", json.dumps(scenario) + "\n")
    assert len(expected["pods"]) > 15
    for expected_pod in expected["pods"]:
        answer = api_as("viewer").get(ADDRESS.format(expected_pod["pod"]), {"policy": "asked"})
        assert answer.status_code == 200
        assert comparable(scheduler_part(answer.json())) == comparable(scheduler_part(snake_case(expected_pod)))


def test_it_says_which_snapshot_and_revision_were_asked(demo: Snapshot, api_as: Callable[[str], Any]) -> None:
    answer = api_as("viewer").get(ADDRESS.format("ml/notebook")).json()
    assert (answer["snapshot"], answer["policy"], answer["revision"]) == (str(demo.pk), "default", 1)
    assert answer["bound_to"] == ""


def test_ranks_and_shares_hold_policies_of_different_scales_together(
    demo: Snapshot, classic: Callable[..., Revision], api_as: Callable[[str], Any]
) -> None:
    classic(priorities=[{"name": "LeastRequestedPriority", "weight": 2}])
    for name, maximum in (("default", 900), ("old", 20)):
        answer = api_as("viewer").get(ADDRESS.format("ml/notebook"), {"policy": name}).json()
        totals = answer["total"]
        assert answer["maximum"] == maximum
        assert answer["shares"] == {node: round(total / maximum, 6) for node, total in totals.items()}
        assert answer["ranks"] == {
            node: 1 + sum(rival > total for rival in totals.values()) for node, total in totals.items()
        }


def test_equal_verdicts_are_told_as_groups_with_what_tells_them_apart(
    demo: Snapshot, api_as: Callable[[str], Any]
) -> None:
    answer = api_as("viewer").get(ADDRESS.format("analytics/cube-builder")).json()
    groups = answer["verdicts"]
    assert sorted(node for group in groups for node in group["nodes"]) == sorted(answer["rejected"])
    for group in groups:
        assert group["count"] == len(group["nodes"])
        verdicts = {json.dumps(answer["rejected"][node], sort_keys=True) for node in group["nodes"]}
        assert verdicts == {json.dumps({key: group[key] for key in ("plugin", "code", "reasons")}, sort_keys=True)}
    taint_words = [group["words"] for group in groups if group["plugin"] == "TaintToleration"]
    assert "untolerated taint {dedicated=database:NoSchedule}" in taint_words
    assert len(set(taint_words)) == len(taint_words) > 1


def test_what_the_import_left_out_is_told_where_it_may_change_the_answer(
    db: None, api_as: Callable[[str], Any], client_as: Callable[[str], Any]
) -> None:
    def replica_set(name: str, namespace: str) -> Json:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "apps/v9", "kind": "ReplicaSet", "metadata": metadata}

    deployment = {"apiVersion": "apps/v9", "kind": "Deployment", "metadata": {"name": "d"}}
    sets = [replica_set("a", "default"), replica_set("b", "default"), replica_set("c", "other")]
    distant_pod = pod("there")
    distant_pod["metadata"]["namespace"] = "third"
    cluster_import(
        user=None,
        name="old",
        files=[("f", json.dumps([node("n1"), pod("here"), distant_pod, deployment, *sets]))],
        limit=1 << 20,
    )
    left_out_warning = (
        "2 objects of kind ReplicaSet are left out of this snapshot. Without them, default topology spreading does not "
        "group pods by controller."
    )
    address = "/api/v1/clusters/old/pods/{}/decision/?policy=default"
    assert left_out_warning in api_as("viewer").get(address.format("default/here")).json()["warnings"]
    elsewhere = api_as("viewer").get(address.format("third/there")).json()["warnings"]
    assert not [warning for warning in elsewhere if "left out" in warning]
    page = client_as("viewer").get("/decision/old/default/here/?policy=default")
    assert left_out_warning in page.context["doubts"]
    assert left_out_warning in page.content.decode()


def test_a_bound_pod_comes_with_a_warning(demo: Snapshot, api_as: Callable[[str], Any]) -> None:
    pod = demo.pods.filter(pending=False).exclude(node="").first()
    assert pod is not None
    answer = api_as("viewer").get(ADDRESS.format(f"{pod.namespace}/{pod.name}")).json()
    assert answer["bound_to"] == pod.node
    assert any("as if it were not bound" in warning for warning in answer["warnings"])


def test_extenders_of_a_policy_are_named_and_not_asked(
    demo: Snapshot, policy: Callable[[str, str], Revision], api_as: Callable[[str], Any]
) -> None:
    url = "http://extender.example/scheduler"
    policy("extended", f"{HEAD}extenders:\n- {{urlPrefix: '{url}', filterVerb: filter, nodeCacheCapable: true}}\n")
    client = api_as("viewer")
    answers = [
        client.get(ADDRESS.format(f"{pod.namespace}/{pod.name}"), {"policy": "extended"}).json()
        for pod in demo.pods.filter(pending=True)
    ]
    decided_answers = [answer for answer in answers if "chosen" in answer]
    assert decided_answers
    for answer in answers:
        has_warning = f"Not evaluated here: extender {url}." in answer["warnings"]
        assert has_warning == ("chosen" in answer)
        assert answer.get("extenders_not_asked", []) == ([url] if has_warning else [])


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("", "/api/v1/clusters/nowhere/pods/ml/notebook/decision/"),
        ("", ADDRESS.format("ml/nobody")),
        ("policy=nothing", ADDRESS.format("ml/notebook")),
        ("revision=99", ADDRESS.format("ml/notebook")),
        ("revision=-1", ADDRESS.format("ml/notebook")),
        ("revision=99999999999999999999", ADDRESS.format("ml/notebook")),
        ("snapshot=x", ADDRESS.format("ml/notebook")),
    ],
)
def test_what_is_not_there_is_a_problem_that_says_what(
    demo: Snapshot, api_as: Callable[[str], Any], query: str, address: str
) -> None:
    answer = api_as("viewer").get(f"{address}?{query}")
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_a_pod_that_is_in_another_namespace_is_pointed_to(demo: Snapshot, api_as: Callable[[str], Any]) -> None:
    answer = api_as("viewer").get(ADDRESS.format("default/notebook"))
    assert answer.status_code == 404
    assert answer.json()["detail"] == (
        "The snapshot has no pod default/notebook that a scheduler would look at. There is one in ml."
    )


def test_nobody_asks_without_logging_in(demo: Snapshot, client: Any) -> None:
    assert client.get(ADDRESS.format("ml/notebook")).status_code == 401
