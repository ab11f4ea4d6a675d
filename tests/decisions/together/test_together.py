"""Several pods explained at once: page and REST."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions.together.selectors import MAX_PODS, explain_together
from kschedweb.policies.models import Revision
from tests.support.html import elements

PAGE_PATH, REST_PATH = "/clusters/demo/together/", "/api/v1/clusters/demo/decisions/"


def pod_keys(snapshot: Snapshot, **filters: object) -> list[str]:
    rows = PodRow.objects.filter(snapshot=snapshot, **filters).order_by("namespace", "name")
    return [f"{row.namespace}/{row.name}" for row in rows]


def test_every_pod_is_in_one_group_with_those_of_the_same_reasons(demo: Snapshot, revision: Revision) -> None:
    wanted_keys = [*pod_keys(demo, pending=True), *pod_keys(demo, pending=False, node__gt="")[:20]]
    groups = explain_together(demo, revision, wanted_keys, 60.0)
    assert sorted(verdict.key for group in groups for verdict in group.pods) == sorted(wanted_keys)
    assert len({(group.kind, group.reasons) for group in groups}) == len(groups)
    kinds = {"stuck": 0, "fits": 0, "moves": 0, "stays": 0}
    for group in groups:
        for verdict in group.pods:
            assert verdict.outcome is not None
            kinds[group.kind] += 1
            if group.kind == "stuck":
                assert (verdict.outcome.node, tuple(sorted(verdict.outcome.reasons))) == ("", group.reasons)
            elif group.kind == "fits":
                assert verdict.outcome.node
                assert not verdict.row.node
            else:
                assert (verdict.row.node == verdict.outcome.node) == (group.kind == "stays")
    assert kinds["stuck"] > 10
    assert kinds["fits"] == 4
    assert [group.kind for group in groups] == sorted((group.kind for group in groups), key=list(kinds).index)


def test_a_group_says_whether_there_was_time_to_look_for_fixes(demo: Snapshot, revision: Revision) -> None:
    keys = pod_keys(demo, pending=True)
    searched = explain_together(demo, revision, keys, 60.0)
    assert all(group.has_searched_fixes for group in searched)
    assert any(group.fixes["fixes"] for group in searched)
    # The verdicts are at hand now, so that only the search for fixes wants time.
    in_no_time = explain_together(demo, revision, keys, 0.0)
    assert {group.kind for group in in_no_time} == {"stuck", "fits"}
    assert {group.kind for group in in_no_time if not group.has_searched_fixes} == {"stuck"}
    assert not any(group.fixes["fixes"] for group in in_no_time)


def test_the_page_is_where_the_list_of_pods_leads(demo: Snapshot, client_as: Callable[[str], Client]) -> None:
    client = client_as("viewer")
    (form,) = elements(client.get("/pods/?cluster=demo"), "form#selection")
    assert form["action"] == PAGE_PATH
    boxes = elements(client.get("/pods/?cluster=demo"), "input[form=selection][name=pod]")
    keys = [box["value"] for box in boxes[:3]]
    page = client.get(f"{PAGE_PATH}?{urlencode({'pod': keys}, doseq=True)}")
    links = [a["href"] for a in elements(page, "#main tbody th a")]
    assert len(links) == 3
    assert all("snapshot=" in link and "revision=1" in link for link in links)


def test_without_pods_the_pending_ones_are_explained(demo: Snapshot, client_as: Callable[[str], Client]) -> None:
    page = client_as("viewer").get(PAGE_PATH)
    assert page.context["count"] == len(pod_keys(demo, pending=True))


@pytest.mark.parametrize(
    ("keys", "message"),
    [(["shop/nobody"], "has no pod"), (["web"], "Write namespace/name"), (["a\x00/b"], "has no pod")],
)
def test_a_pod_that_is_not_there_is_named(
    demo: Snapshot,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], APIClient],
    keys: list[str],
    message: str,
) -> None:
    page = client_as("viewer").get(PAGE_PATH, {"pod": keys})
    assert (page.status_code, message in page.context["error"]) == (400, True)
    answer = api_as("viewer").get(REST_PATH, {"pod": keys})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "pod")


def test_there_is_a_limit(demo: Snapshot, api_as: Callable[[str], APIClient]) -> None:
    answer = api_as("viewer").get(REST_PATH, {"pod": [f"shop/web-{n}" for n in range(MAX_PODS + 1)]})
    assert answer.status_code == 400
    assert f"At most {MAX_PODS}" in answer.json()["errors"][0]["message"]


def test_rest_gives_the_same_groups(demo: Snapshot, revision: Revision, api_as: Callable[[str], APIClient]) -> None:
    wanted_keys = pod_keys(demo, pending=True)
    answer = api_as("viewer").get(REST_PATH, {"pod": wanted_keys}).json()
    expected = explain_together(demo, revision, wanted_keys, 60.0)
    assert [(group_answer["kind"], tuple(group_answer["reasons"])) for group_answer in answer["groups"]] == [
        (group.kind, group.reasons) for group in expected
    ]
    first = answer["groups"][0]["pods"][0]
    assert first["message"].startswith("0/60 nodes are available")
    assert first["node"] == ""
    assert answer["snapshot"] == str(demo.pk)
