"""Pages and REST of classic decisions, and of what explains predicates and priorities."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import services
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS
from kschedweb.policies.models import Revision
from tests.engine.builders import node, pod
from tests.support.html import elements, templates, text

ADDRESS = "/decision/demo/{}/"
FIT = {"name": "PodFitsResources"}
LEAST_REQUESTED = {"name": "LeastRequestedPriority", "weight": 2}


@pytest.fixture
def viewer(client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_the_decision_is_told_with_predicates_and_priorities(
    demo: Snapshot, classic: Callable[..., Revision], viewer: Client
) -> None:
    classic(priorities=[LEAST_REQUESTED, {"name": "NodePreferAvoidPodsPriority", "weight": 10000}])
    answer = viewer.get(ADDRESS.format("ml/notebook"), {"policy": "old"})
    page = text(answer)
    assert answer.context["classic"].edition.version == "1.13"
    assert elements(answer, "#matrix a[href=/classic/LeastRequestedPriority/]")
    assert "mapped → reduced (0 to 10) × weight" in page
    assert "of 100,020" in answer.context["answer"].title
    assert "<strong>100," in page
    under_profile = viewer.get(ADDRESS.format("ml/notebook"), {"policy": "default"})
    to_capacity = [
        any(link["href"].startswith("/capacity/") for link in elements(page_response, "#main a"))
        for page_response in (answer, under_profile)
    ]
    assert to_capacity == [False, True]
    explanation = services.explain_pod(demo, "ml/notebook", classic("again", priorities=[LEAST_REQUESTED]))
    column = explanation.scores[0]
    assert f"{column.raw[0]} → {column.normalized[0]} × 2" in page


def test_the_figure_leaves_out_what_tells_no_node_apart(
    demo: Snapshot, classic: Callable[..., Revision], viewer: Client
) -> None:
    classic(priorities=[LEAST_REQUESTED, {"name": "NodePreferAvoidPodsPriority", "weight": 10000}])
    context = viewer.get(ADDRESS.format("ml/notebook"), {"policy": "old"}).context
    chart = context["chart"]
    assert chart.figure["data"][0]["y"] == ["LeastRequestedPriority"]
    assert len(chart.figure["data"][0]["z"]) == 1
    assert context["folded"] == [("NodePreferAvoidPodsPriority", 100_000)]
    assert chart.head[2:] == ["LeastRequestedPriority"]


def test_a_pod_that_fits_nowhere_has_the_message_of_then(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}]), node("b"), big("p")])
    classic()
    response = viewer.get(ADDRESS.format("default/p"), {"policy": "old", "node": "a"})
    answer = response.context["answer"]
    assert answer.quote == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    [miss] = elements(response, ".closest a[href=?policy=old&node=b#why]")
    assert miss.text == response.context["miss"].text
    assert miss.text.startswith("b lacks only 5 CPU")
    unevaluated = [
        verdict for verdict in response.context["verdicts"] if not verdict.is_evaluated and verdict.state == "fail"
    ]
    assert "Insufficient cpu" in [verdict.status.message for verdict in unevaluated]
    assert "not run any more; it would say <q>Insufficient cpu</q>" in text(response)
    assert not elements(response, "#room")


def test_who_would_have_to_go_is_told_as_for_a_profile(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    low = [pod(f"low-{name}", on=name, requests={"cpu": "3"}, priority=number) for number, name in enumerate("ab")]
    store_snapshot([node("a"), node("b"), *low, {**big("p"), **pod("p", requests={"cpu": "2"}, priority=9)}])
    classic()
    response = viewer.get(ADDRESS.format("default/p"), {"policy": "old"})
    assert [element.text for element in elements(response, "#room tbody th a")] == ["a", "b"]
    assert response.context["room"].preemption.chosen.node == "a"
    decision = viewer.get("/api/v1/clusters/demo/pods/default/p/decision/?policy=old").json()
    assert decision["preemption"]["node"] == "a"
    assert decision["preemption"]["candidates"]["b"] == {"pods": ["default/low-b"], "pdb_violations": 0}
    classic("older", {"version": "1.9"}, predicates=[{"name": "PodFitsResources"}])
    older = viewer.get(ADDRESS.format("default/p"), {"policy": "older"})
    assert not elements(older, "#room")
    assert any("It evicts no pods" in element for element in older.context["answer"].details)


def test_all_reasons_are_told_where_all_predicates_are_asked(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}]), big("p")])
    classic(alwaysCheckAllPredicates=True)
    response = viewer.get(ADDRESS.format("default/p"), {"policy": "old", "node": "a"})
    reasons_text = (
        "1 Insufficient cpu, 1 node(s) had taints that the pod didn't tolerate, 1 node(s) were unschedulable."
    )
    assert response.context["answer"].quote == f"0/1 nodes are available: {reasons_text}"
    assert all(verdict.is_evaluated for verdict in response.context["verdicts"])
    stages = {stage.key: (stage.lost, stage.note) for stage in response.context["stages"]}
    assert stages["CheckNodeCondition"] == (1, "1 node(s) were unschedulable")
    assert stages["GeneralPredicates"] == (0, "1 Insufficient cpu")


def test_equal_nodes_are_said_to_be_taken_in_turn(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a"), node("b"), pod("p")])
    classic()
    answer = viewer.get(ADDRESS.format("default/p"), {"policy": "old"}).context["answer"]
    assert answer.title == "p fits now: a scores best (100,038 of 100,070), tied with 1 other node"
    assert "take turns from pod to pod" in " ".join(answer.details)


def test_extenders_and_what_is_never_asked_are_said(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a"), node("b"), pod("p", schedulerName="batch")])
    extender = {"urlPrefix": "http://example/x", "filterVerb": "filter", "httpTimeout": 1000000000}
    classic(predicates=[{"name": "PodFitsPorts"}], extenders=[extender])
    page = viewer.get(ADDRESS.format("default/p"), {"policy": "old"})
    details = " ".join(page.context["answer"].details)
    assert "extender http://example/x" in text(page)
    assert "Never run, as the fixed order of predicates does not have them: PodFitsPorts." in details
    assert "The pod asks for the scheduler batch" in details
    assert details in " ".join(paragraph.text for paragraph in elements(page, "p.lead"))


def test_a_cycle_that_fails_has_a_page_that_says_so(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a"), pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}])])
    classic()
    response = viewer.get(ADDRESS.format("default/p"), {"policy": "old"})
    assert "decisions/failed.html" in templates(response)
    assert "gone" in response.context["error"].detail
    assert not elements(response, "[data-mend=profile]")
    against = viewer.get(ADDRESS.format("default/p"), {"policy": "default", "against": "old@1"})
    assert (against.context["against"].policy.name, against.context["comparison"]) == ("old", None)
    assert against.context["against_fails"] in text(against)
    assert against.context["against_fails"].startswith("The scheduling cycle of default/p fails")
    head = " ".join(heading.text for heading in elements(against, "#matrix thead th"))
    assert "Node" in head
    assert "old@1" not in head


@pytest.mark.parametrize(("policy", "against"), [("old", "default@1"), ("default", "old@1")])
def test_a_classic_policy_and_a_profile_are_held_together_by_ranks(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client, policy: str, against: str
) -> None:
    full = pod("busy", on="a", requests={"cpu": "3", "memory": "6Gi"})
    store_snapshot([node("a"), node("b"), full, pod("p", requests={"cpu": "500m"})])
    classic(priorities=[{"name": "MostRequestedPriority", "weight": 1}])
    response = viewer.get(ADDRESS.format("default/p"), {"policy": policy, "against": against})
    page = text(response)
    assert response.context["comparison"].mixed
    assert "/migration/?classic=old@1&profile=default@1&snapshot=" in page
    link = page.partition('href="/migration/?')[2].partition('"')[0]
    assert viewer.get(f"/migration/?{link}").context["form"].is_valid()
    first, second = ("a", "b") if policy == "old" else ("b", "a")
    ranks = {row.node: (row.place.rank, row.other.rank) for row in response.context["rows"]}
    assert ranks == {first: (1, 2), second: (2, 1)}


def test_revisions_of_a_classic_policy_are_tabs_and_compare_by_shares(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a"), node("b"), pod("p", requests={"cpu": "500m"})])
    first = classic(priorities=[LEAST_REQUESTED])
    document = first.document.replace('"weight": 2', '"weight": 3')
    Revision.objects.create(policy=first.policy, number=2, document=document)
    response = viewer.get(ADDRESS.format("default/p"), {"policy": "old", "revision": "1", "against": "old@2"})
    assert "Revision 2" in text(response)
    row = response.context["rows"][0]
    assert (row.place.total, row.place.percent, row.other.total, row.other.percent) == (16, "80.0 %", 24, "80.0 %")


def test_rest_answers_in_the_shape_of_profiles_with_what_is_classics(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], api_as: Callable[[str], APIClient]
) -> None:
    store_snapshot([node("a"), node("b", unschedulable=True), pod("p", requests={"cpu": "1"})])
    classic(predicates=[FIT], priorities=[LEAST_REQUESTED, {"name": "InterPodAffinityPriority", "weight": 1}])
    address = "/api/v1/clusters/demo/pods/default/p/decision/"
    decision = api_as("viewer").get(address, {"policy": "old"}).json()
    assert decision["chosen"] == "a"
    assert decision["rejected"] == {
        "b": {"plugin": "CheckNodeCondition", "code": "Unschedulable", "reasons": ["node(s) were unschedulable"]}
    }
    assert decision["scores"]["LeastRequestedPriority"] == {"weight": 2, "raw": {"a": 8}, "normalized": {"a": 8}}
    assert decision["classic"] == {
        "version": "1.13",
        "always_check_all_predicates": False,
        "never_asked": [],
        "priorities": {
            "InterPodAffinityPriority": {"weight": 1, "reduced": {"a": 0}},
            "LeastRequestedPriority": {"weight": 2, "mapped": {"a": 8}, "reduced": {"a": 8}},
        },
    }
    assert "classic" not in api_as("viewer").get(address).json()


def test_lists_of_pods_go_by_a_classic_policy(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision], viewer: Client
) -> None:
    store_snapshot([node("a", unschedulable=True), pod("p")])
    classic(process={"version": "1.9"})
    for address in ("/pods/", "/"):
        assert "NodeUnschedulable" in text(viewer.get(address, {"cluster": "demo", "policy": "old"}))


def test_the_catalogue_has_everything_in_order(db: None, classic: Callable[..., Revision], viewer: Client) -> None:
    classic(priorities=[LEAST_REQUESTED])
    page = viewer.get("/classic/")
    links = [link["href"] for link in elements(page, "tbody th a")]
    assert links == [f"/classic/{name}/" for name in DESCRIPTIONS]
    assert "by default, where switched on" in text(page)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_each_page_works_its_example_out(db: None, viewer: Client, name: str) -> None:
    response = viewer.get(f"/classic/{name}/")
    page = text(response)
    lines = response.context["lines"]
    assert len(lines) > 1
    if DESCRIPTIONS[name].kind == "predicate":
        states = {line.verdict.state for line in lines}
        assert states == {"pass", "fail"}
        reasons = {reason for line in lines if line.verdict.status for reason in line.verdict.status.reasons}
        words = " ".join((*DESCRIPTIONS[name].reasons, *DESCRIPTIONS[name].short_reasons))
        assert all(reason in words for reason in reasons)
        assert all(line.verdict.reading for line in lines if line.verdict.state == "fail")
    else:
        totals = {line.row.place.total for line in lines}
        assert len(totals) > 1 or name == "EqualPriority"
        assert all(len(line.steps) >= 3 for line in lines)
    assert DESCRIPTIONS[name].counterpart.text.split("'")[0] in page


def test_a_page_names_the_policies_that_have_it_run(db: None, classic: Callable[..., Revision], viewer: Client) -> None:
    classic(priorities=[{"name": "Disks", "weight": 1, "argument": {"labelPreference": {"label": "ssd"}}}])
    assert '<a href="/policies/old/">old</a>' in text(viewer.get("/classic/labelPreference/"))
    assert not viewer.get("/classic/EqualPriority/").context["entry"].policies


def test_an_unknown_name_is_not_found(db: None, viewer: Client) -> None:
    response = viewer.get("/classic/NoSuchThing/")
    assert response.status_code == 404
    assert "NoSuchThing" in response.content.decode()


def test_rest_tells_the_same(db: None, classic: Callable[..., Revision], api_as: Callable[[str], APIClient]) -> None:
    classic(priorities=[LEAST_REQUESTED])
    entries = {entry["name"]: entry for entry in api_as("viewer").get("/api/v1/classic/").json()["entries"]}
    assert list(entries) == list(DESCRIPTIONS)
    least_requested = entries["LeastRequestedPriority"]
    assert (least_requested["weight"], least_requested["policies"], least_requested["runs"]) == (
        1,
        ["old"],
        {"1.13": "default", "1.9": "default"},
    )
    assert least_requested["today"]["plugins"] == ["NodeResourcesFit"]
    assert entries["HostName"]["place"] == 4
    assert entries["HostName"]["rejects"] == "every node but the one the pod names"


def big(name: str) -> dict:
    return pod(name, requests={"cpu": "9"})
