"""Number of further gangs that fit, over REST and as a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.clusters.models import Cluster, NodeRow, Snapshot
from kschedweb.engine.config import default_document
from kschedweb.engine.releases import CURRENT
from kschedweb.jobs.models import Job
from kschedweb.playground.capacity import services, tasks
from kschedweb.policies.models import Revision
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}

ZONE = "topology.kubernetes.io/zone"
POD = {"requests": {"cpu": "3"}}


def post(api: Any, **fields: object) -> Any:
    return api.post("/api/v1/capacity/gangs/", {"cluster": "demo", "pod": POD, **fields}, format="json")


def get_page(client: Any, **parameters: object) -> Any:
    return client.get(f"/capacity/gangs/?{urlencode({'cluster': 'demo', **parameters})}")


def test_gangs_are_counted_and_the_next_one_is_explained(api_as: Callable[..., Any], demo: Snapshot) -> None:
    client = api_as("viewer")
    data = post(client, pods=8).json()
    alone = client.post("/api/v1/capacity/fit/", {"cluster": "demo", "pod": POD}, format="json").json()
    assert (data["count"], data["exact"]) == (alone["count"] // 8, True)
    assert [sum(gang["nodes"].values()) for gang in data["gangs"]] == [8] * data["count"]
    assert data["message"].startswith("minCount (8) cannot be satisfied:")
    assert data["domains"][0]["message"].startswith("0/60 nodes are available:")
    assert data["domains"][0]["placed"] == alone["count"] % 8
    assert data["notes"] == ["Computed with the feature gate GenericWorkload on, which the policy leaves off."]


def test_in_one_zone_each_gang_has_its_domain_and_each_zone_its_reason(
    api_as: Callable[..., Any], demo: Snapshot
) -> None:
    data = post(api_as("viewer"), pods=8, topology_key=ZONE).json()
    zones = dict(NodeRow.objects.filter(snapshot=demo).values_list("name", "zone"))
    assert data["count"] > 0
    for gang in data["gangs"]:
        assert {zones[name] for name in gang["nodes"]} == {gang["domain"]}
    assert {domain["domain"] for domain in data["domains"]} == set(zones.values()) - {""}
    assert "GenericWorkload and TopologyAwareWorkloadScheduling on" in data["notes"][0]


def test_a_policy_with_the_gates_on_needs_no_note(
    api_as: Callable[..., Any], demo: Snapshot, policy: Callable[..., Revision]
) -> None:
    policy("gangs", default_document(), {"release": "1.37", "featureGates": {"GenericWorkload": True}})
    assert post(api_as("viewer"), pods=8, limit=1, policy="gangs").json()["notes"] == []


def test_a_policy_or_else_a_cluster_of_an_older_release_is_refused_by_name(
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, policy: Callable[..., Revision]
) -> None:
    policy("older", default_document(), {"release": "1.36"})
    answer = post(api_as("viewer"), pods=8, policy="older")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (error["path"], "1.36 does not schedule gangs" in error["message"]) == ("policy", True)
    response = get_page(client_as("viewer"), cpu="3", pods=8, policy="older")
    assert response.status_code == 400
    assert "1.36 does not schedule gangs" in html_of(response)
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.35.4")
    assert post(api_as("viewer"), pods=8).json()["errors"][0]["path"] == "policy"
    policy("newer", default_document(), {"release": "1.37"})
    assert post(api_as("viewer"), pods=8, policy="newer").status_code == 200


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "pods"),
        ({"pods": 0}, "pods"),
        ({"pods": 4, "min_count": 5}, "min_count"),
        ({"pods": 4, "topology_key": "a zone"}, "topology_key"),
        ({"pods": 4, "pod": {}}, "pod"),
        ({"pods": 4, "limit": 0}, "limit"),
    ],
)
def test_wrong_input_is_a_problem_with_its_place(
    api_as: Callable[..., Any], demo: Snapshot, fields: dict[str, Any], path: str
) -> None:
    answer = post(api_as("viewer"), **fields)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == path


@pytest.mark.parametrize("cpu", ["3", "9000"])
def test_a_job_gives_the_answer_that_a_request_gives(
    api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch, cpu: str
) -> None:
    client, fields = api_as("viewer"), {"pods": 8, "topology_key": ZONE, "pod": {"requests": {"cpu": cpu}}}
    quick = post(client, **fields).json()
    services.clear_caches()
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    slow = post(client, **fields)
    assert slow.status_code == 202
    tasks.answer(str(Job.objects.get(kind="capacity.answer").pk))
    answer = client.get(slow["Location"]).json()
    context_fields = ("snapshot", "policy", "revision", "engine")
    assert answer["engine"] == quick["engine"] == CURRENT.with_gates(GATES).engine
    assert answer["gangs"] == {name: value for name, value in quick.items() if name not in context_fields}
    assert (quick["count"] > 0) is (cpu == "3")


def test_a_job_without_the_time_for_one_gang_says_so(
    api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    monkeypatch.setattr(services, "SECONDS", 0.0)
    client = api_as("viewer")
    slow = post(client, pods=8)
    tasks.answer(str(Job.objects.get(kind="capacity.answer").pk))
    answer = client.get(slow["Location"]).json()
    assert (answer["state"], answer["gangs"]) == ("failed", None)
    assert answer["error"].endswith("Ask about a smaller one.")


def test_the_page_says_it_in_one_sentence_with_reasons_and_files(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client, parameters = client_as("viewer"), {"cpu": "3", "pods": 8, "topology": ZONE}
    answer = get_page(client, **parameters)
    gangs = answer.context["answer"]
    assert answer.context["sentence"].startswith(f"{gangs.count} more gangs of 8 pods fit; then only ")
    assert answer.context["sentence"].endswith(" pods of the next one find a node in one domain")
    assert elements(answer, "[data-figure=gangs-figure]")
    assert len(elements(answer, "section[aria-labelledby=why-title] tbody tr")) == len(gangs.results) > 1
    items = get_page(client, **parameters, format="json").json()["items"]
    assert [item["pods"] for item in items] == [8] * gangs.count


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"cpu": "3"}, "pods"),
        ({"cpu": "3", "pods": 4, "least": 5}, "least"),
        ({"cpu": "3", "pods": 4, "topology": "a zone"}, "topology"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Callable[..., Any], demo: Snapshot, parameters: dict[str, Any], field: str
) -> None:
    answer = get_page(client_as("viewer"), **parameters)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert elements(answer, ".field-error")


def test_no_gang_and_a_limit_are_said(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    no_gang = get_page(client, cpu="9000", pods=2).context["sentence"]
    assert no_gang == "No gang of 2 pods fits: no pod of it finds a node"
    stopped = get_page(client, cpu="10m", pods=2, limit=3).context["sentence"]
    assert stopped == "At least 3 more gangs of 2 pods fit: counting stopped at the limit"
