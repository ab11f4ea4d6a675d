"""The decision page as a person gets it, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.engine.objects.affinity import PREFERRED
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.models import Revision
from tests.engine import builders
from tests.support.html import elements, text

from .conftest import HEAD, MOST_ALLOCATED

ADDRESS = "/decision/demo/{}/"


@pytest.fixture
def viewer_client(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_every_pending_pod_has_a_page_with_the_schedulers_message(viewer_client: Client, demo: Snapshot) -> None:
    for pod in PodRow.objects.filter(snapshot=demo, pending=True):
        response = viewer_client.get(ADDRESS.format(f"{pod.namespace}/{pod.name}"))
        page = text(response)
        explanation = response.context["explanation"]
        assert f"<h1>{pod.name} " in page
        if explanation.message:
            assert explanation.message in page


def test_a_bar_of_the_funnel_filters_the_matrix(viewer_client: Client) -> None:
    response = viewer_client.get(ADDRESS.format("ml/notebook"), {"stage": "TaintToleration"})
    assert response.context["stage"] == "TaintToleration"
    assert {row.status.plugin for row in response.context["rows"]} == {"TaintToleration"}


@pytest.mark.parametrize("kind", [PolicyKind.PROFILES, PolicyKind.CLASSIC])
def test_a_term_that_cannot_be_read_is_named_and_no_other_policy_advised(
    store_snapshot: Callable[..., Snapshot],
    classic: Callable[..., Revision],
    client_as: Callable[[str], Client],
    kind: PolicyKind,
) -> None:
    term = {"matchExpressions": [{"key": "memory", "operator": "Gt", "values": ["4Gi"]}]}
    preferences = [{"weight": 1, "preference": term}]
    asks, alone = (builders.pod(name, affinity={"nodeAffinity": {PREFERRED: preferences}}) for name in ("p", "alone"))
    alone["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "a"}
    store_snapshot([builders.node("a"), builders.node("b"), asks, alone])
    policy = classic().policy.name if kind == PolicyKind.CLASSIC else "default"
    page = client_as("viewer").get(ADDRESS.format("default/p"), {"policy": policy})
    operator_error = "for 'Gt', 'Lt' operators, the value must be an integer"
    assert page.context["error"].why.count(operator_error) == (2 if kind == PolicyKind.CLASSIC else 1)
    (field,) = elements(page, "[data-mend=pod]")
    path = f"spec.affinity.nodeAffinity.{PREFERRED}[0].matchExpressions[0].values[0]"
    assert field.text == f'{path}: Invalid value: "4Gi": {operator_error}'
    assert "another" not in text(page).partition("<main")[2]
    placed_page = client_as("viewer").get(ADDRESS.format("default/alone"), {"policy": policy})
    assert placed_page.context["explanation"].node == "a"  # an only node is not scored


def test_why_not_here_gives_every_filters_verdict_in_the_schedulers_words(viewer_client: Client) -> None:
    response = viewer_client.get(ADDRESS.format("analytics/wide-join"), {"node": "general-a-1"})
    messages = {
        verdict.plugin: verdict.status.message for verdict in response.context["verdicts"] if verdict.state == "fail"
    }
    assert messages == {
        "NodeAffinity": "node(s) didn't match Pod's node affinity/selector",
        "NodeResourcesFit": "Insufficient cpu",
    }
    assert all(words in text(response) for words in messages.values())


def test_an_unknown_node_is_said_beside_the_field(viewer_client: Client) -> None:
    page = viewer_client.get(ADDRESS.format("ml/notebook"), {"node": "<b>x"})
    assert elements(page, "#why-node[aria-invalid=true][aria-describedby=why-error]")
    assert b"<b>x" not in page.content


def test_the_arithmetic_of_a_cell_is_on_the_page_and_in_the_fragment(viewer_client: Client) -> None:
    query = {"node": "gpu-a-2", "cell": "NodeResourcesFit"}
    page = text(viewer_client.get(ADDRESS.format("ml/notebook"), query))
    headers = {"HX-Request": "true", "HX-Target": "cell"}
    fragment = text(viewer_client.get(ADDRESS.format("ml/notebook"), query, headers=headers))
    assert "How NodeResourcesFit scores gpu-a-2" in fragment
    assert fragment.strip() in page


def test_node_names_are_suggested_by_the_server(viewer_client: Client) -> None:
    names = text(viewer_client.get(ADDRESS.format("ml/notebook") + "nodes/", {"node": "gpu"}))
    assert names.count("<option") == 3
    assert text(viewer_client.get(ADDRESS.format("ml/notebook") + "nodes/", {"node": ""})).count("<option") == 20


def test_another_policy_is_compared_by_rank_and_share_both_winners_first(
    viewer_client: Client, policy: Callable[[str, str], Revision]
) -> None:
    policy("most", MOST_ALLOCATED)
    response = viewer_client.get(ADDRESS.format("ml/notebook"), {"against": "most@1"})
    comparison, rows = response.context["comparison"], response.context["rows"]
    assert comparison.title in text(response)
    assert [winner.node for winner in comparison.winners] == [row.node for row in rows[: len(comparison.winners)]]
    chosen_row, other_row = (
        next(row for row in rows if getattr(row, attribute)) for attribute in ("chosen", "other_chosen")
    )
    assert (chosen_row.place.rank, other_row.other.rank) == (1, 1)
    assert all(row.other is not None and 0 <= row.other.share <= 1 for row in rows)
    assert any(row.other.rank != row.place.rank for row in rows)
    (table,) = elements(response, "[data-table=compared-winners]")
    assert chosen_row.place.percent in table.text
    heads = [head.label for head in response.context["heads"]]
    assert heads[1:7] == ["Rank", "Total", "Margin", "Share", "Rank under most@1", "Share under most@1"]


def test_the_page_takes_any_revision_of_any_policy(
    viewer_client: Client, policy: Callable[[str, str], Revision]
) -> None:
    first = policy("mine", HEAD)
    Revision.objects.create(policy=first.policy, number=2, document=MOST_ALLOCATED)
    addresses = [{"policy": "mine"}, {"policy": "mine", "revision": "1"}, {}]
    revisions = [viewer_client.get(ADDRESS.format("ml/notebook"), query).context["revision"] for query in addresses]
    # The policy chosen last stays chosen.
    assert [(item.policy.name, item.number) for item in revisions] == [("mine", 2), ("mine", 1), ("mine", 2)]


@pytest.mark.parametrize(
    "query",
    [
        {"policy": "nothing"},
        {"policy": "a\0"},
        {"against": "\0@1"},
        {"revision": "77"},
        {"revision": "x"},
        {"against": "nothing@1"},
        {"snapshot": "1"},
    ],
)
def test_what_is_not_there_is_not_found(viewer_client: Client, query: dict[str, str]) -> None:
    assert viewer_client.get(ADDRESS.format("ml/notebook"), query).status_code == 404


def test_a_page_beyond_the_last_shows_the_last(viewer_client: Client) -> None:
    assert viewer_client.get(ADDRESS.format("ml/notebook"), {"page": "99"}).context["page"].number == 1


def test_a_policy_without_the_pods_profile_says_so(
    viewer_client: Client, policy: Callable[[str, str], Revision]
) -> None:
    policy("other", f"{HEAD}profiles:\n- schedulerName: batch\n")
    page = viewer_client.get(ADDRESS.format("ml/notebook"), {"policy": "other"})
    assert "notebook is handled by default-scheduler" in text(page)


def test_the_pending_pods_are_a_chain(viewer_client: Client, demo: Snapshot) -> None:
    pods = PodRow.objects.filter(snapshot=demo, pending=True).order_by("namespace", "name")
    keys = [(pod.namespace, pod.name) for pod in pods]
    for number, (namespace, name) in enumerate(keys):
        neighbours = viewer_client.get(ADDRESS.format(f"{namespace}/{name}")).context["neighbours"]
        names = [(pod.namespace, pod.name) if pod else None for pod in neighbours]
        assert names == [keys[number - 1] if number else None, keys[number + 1] if number + 1 < len(keys) else None]


def test_a_visitor_is_sent_to_the_login(demo: Snapshot, client: Client) -> None:
    response = client.get(ADDRESS.format("ml/notebook"))
    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=/decision/")


def test_the_number_of_queries_does_not_grow_with_the_nodes(
    store_snapshot: Callable[..., Snapshot],
    demo_objects: list[dict[str, Any]],
    client_as: Callable[[str], Client],
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    store_snapshot(demo_objects)
    client = client_as("viewer")
    client.get(ADDRESS.format("ml/notebook"))
    with django_assert_max_num_queries(23) as queries:
        client.get(ADDRESS.format("ml/notebook"))
    query_count = len(queries)
    node = next(item for item in demo_objects if item["kind"] == "Node")
    extra_nodes = [{**node, "metadata": {**node["metadata"], "name": f"n-{number}"}} for number in range(300)]
    store_snapshot([*demo_objects, *extra_nodes], "large")
    client.get("/decision/large/ml/notebook/")
    with django_assert_max_num_queries(query_count):
        client.get("/decision/large/ml/notebook/")


def test_totals_of_heavy_weights_have_separators(viewer_client: Client, policy: Callable[[str, str], Revision]) -> None:
    scores = "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeResourcesFit, weight: 50}]}}}]\n"
    policy("heavy", HEAD + scores)
    query = {"policy": "heavy", "node": "gpu-a-2", "cell": "NodeResourcesFit"}
    response = viewer_client.get(ADDRESS.format("ml/notebook"), query)
    [title] = [heading.text for heading in elements(response, "h1")]
    assert re.search(r"\(\d,\d{3} of 5,800\), \d", title)
    assert not re.search(r"\d{4,} (ahead|behind)|<td[^>]*>\d{4}", text(response))


def test_a_sentence_about_a_node_leaves_its_name_as_it_is(viewer_client: Client) -> None:
    page = text(viewer_client.get(ADDRESS.format("ml/notebook"), {"node": "edge-a-1"}))
    assert "<br>edge-a-1 is tainted" in page
    assert "Edge-a-1" not in page
