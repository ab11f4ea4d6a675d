"""The pages of capacity: a question in the address, an answer in one sentence, a figure, files, and errors."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import NodeRow, Snapshot
from tests.support import seed_classic
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db


def get_page(client: Any, page: str, **parameters: object) -> Any:
    return client.get(f"/capacity/{page}?{urlencode({'cluster': 'demo', **parameters})}")


PAGES = [("", "fit"), ("gangs/", "gangs"), ("nodes/", "nodes"), ("drain/", "drain"), ("buffer/", "buffer")]


@pytest.mark.parametrize(("page", "kind"), PAGES)
def test_a_page_opens_with_an_answer_that_its_form_asks_again(
    page: str, kind: str, client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("viewer")
    opened = get_page(client, page)
    assert (opened.status_code, opened.context["kind"]) == (200, kind)
    fields = {name: value for name, value in opened.context["form"].initial.items() if value not in (None, "", False)}
    asked = get_page(client, page, **{**fields, "ask": "1"})
    assert asked.context["sentence"] == opened.context["sentence"] != ""
    assert elements(opened, "form.capacity-form")


def test_a_large_cluster_opens_with_the_form(
    client_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.MOST_OPENED_NODES", demo.counts["Node"] - 1)
    for page, _ in PAGES:
        answer = get_page(client_as("viewer"), page)
        assert (answer.status_code, "answer" in answer.context) == (200, False)
        assert elements(answer, "form.capacity-form")


def test_what_takes_long_opens_with_the_form_and_without_an_error(
    client_as: Callable[..., Any], demo: Snapshot, slow: None
) -> None:
    for page, _ in PAGES[:3]:
        answer = get_page(client_as("viewer"), page)
        assert (answer.status_code, "answer" in answer.context) == (200, False)
        assert not elements(answer, ".field-error")


def test_without_a_cluster_nothing_can_be_asked(client_as: Callable[..., Any], no_cluster: None) -> None:
    assert client_as("viewer").get("/capacity/").status_code == 200


def test_how_many_fit_is_said_with_reasons_and_files(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client, parameters = client_as("viewer"), {"cpu": "500m", "memory": "1Gi"}
    answer = get_page(client, "", **parameters)
    fit = answer.context["answer"]
    assert "more such pods fit; then Insufficient cpu on" in answer.context["sentence"]
    assert fit.exact
    assert fit.message.startswith("0/60 nodes are available:")
    assert elements(answer, "[data-figure=fit-figure]")
    lines = b"".join(get_page(client, "", **parameters, format="csv").streaming_content).decode().splitlines()
    assert lines[0] == "node,pods,plugin,reason,engine"
    assert all(line.endswith(f',"{answer.context["engine"]}"') for line in lines[1:])
    assert len(lines) == 1 + NodeRow.objects.filter(snapshot=demo).count()
    exported_count = sum(item["pods"] for item in get_page(client, "", **parameters, format="json").json()["items"])
    assert fit.count == exported_count
    assert f"{exported_count:,} more such pods fit" in answer.content.decode()


def test_a_limit_gives_at_least_so_many(client_as: Callable[..., Any], demo: Snapshot) -> None:
    text = get_page(client_as("viewer"), "", cpu="10m", limit=7).content.decode()
    assert "At least 7 more such pods fit: counting stopped at the limit" in text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cpu": "much"}, "is not a quantity"),
        ({"cpu": "-1"}, "must not be negative"),
        ({"cpu": "1", "workload": "a/Deployment/b"}, "Choose pods in one way only"),
        ({"workload": "shop/Deployment/none"}, "has neither a template nor a pod of it"),
        ({"workload": "shop/none"}, "The snapshot has no pod shop/none."),
        ({"workload": "no-such"}, "No workload or pod has no-such in its name."),
        ({"workload": "a"}, "Choose one of them."),
        ({"manifest": "kind: Pod\nspec: {}"}, "a pod needs at least one container"),
        ({"manifest": "{"}, "line 1"),
        ({"manifest": "kind: Job\nspec: {}"}, "has neither containers nor spec.template"),
        ({"other": "gpu"}, "write a name, an equals sign and a value"),
        ({"cpu": "1", "limit": "0"}, "greater than or equal to 1"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Callable[..., Any], demo: Snapshot, parameters: dict[str, str], message: str
) -> None:
    answer = get_page(client_as("viewer"), "", **parameters)
    assert answer.status_code == 400
    assert message in " ".join(error for errors in answer.context["form"].errors.values() for error in errors)
    assert elements(answer, ".field-error")


def test_names_are_searched_on_the_server_and_a_part_of_one_is_enough(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("viewer")
    (field,) = elements(get_page(client, ""), "input[name=workload]")
    assert field.attributes["hx-get"] == "/capacity/names/workloads/?cluster=demo"
    names = elements(client.get(field.attributes["hx-get"], {"cluster": "demo", "workload": "vau"}), "option")
    assert names[0].attributes["value"] == "payments/StatefulSet/vault"
    assert get_page(client, "", workload="vault").context["answer"].count >= 0
    nodes = elements(client.get("/capacity/names/nodes/", {"cluster": "demo", "like": "gpu-a"}), "option")
    assert nodes
    assert all("gpu-a" in node.attributes["value"] for node in nodes)
    assert client.get("/capacity/names/rooms/", {"cluster": "demo"}).status_code == 404


def test_new_nodes_are_counted_for_pods_to_come(client_as: Callable[..., Any], demo: Snapshot) -> None:
    parameters = {"ask": "1", "copies": "60", "cpu": "7", "node_cpu": "8", "node_memory": "64Gi", "zones": "a b c"}
    client = client_as("viewer")
    text = get_page(client, "nodes/", **parameters).content.decode()
    items = get_page(client, "nodes/", **parameters, format="json").json()["items"]
    assert f"{len(items)} new nodes are needed for all 60 pods" in text
    assert {item["zone"] for item in items} == {"a", "b", "c"}
    assert all(item["pods"] == 1 for item in items)


def test_pending_pods_that_no_node_helps_are_named_with_the_reason(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    like = NodeRow.objects.filter(snapshot=demo, name__startswith="general").first()
    assert like is not None
    answer = get_page(client_as("viewer"), "nodes/", ask="1", pending="on", like=like.name)
    unfit = {pod: group.message for group in answer.context["answer"].unfit for pod in group.pods}
    assert unfit["batch/pinned-import"]
    assert "batch/pinned-import" in html_of(answer)
    assert unfit["batch/pinned-import"] in unescape(html_of(answer))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"like": "none", "pending": "on"}, "The snapshot has no node none."),
        ({"pending": "on"}, "Choose a node of the cluster, or describe one."),
        ({"like": "a", "node_cpu": "1", "pending": "on"}, "not both"),
        ({"node_cpu": "1"}, "Choose the pending pods, further pods, or both."),
        ({"node_cpu": "1", "copies": "3"}, "Choose which pods to add"),
        ({"node_cpu": "1", "cpu": "1"}, "Enter how many such pods to add."),
    ],
)
def test_a_question_about_nodes_that_lacks_something_is_refused(
    client_as: Callable[..., Any], demo: Snapshot, parameters: dict[str, str], message: str
) -> None:
    answer = get_page(client_as("viewer"), "nodes/", ask="1", **parameters)
    assert answer.status_code == 400
    assert message in answer.content.decode()


def test_a_drain_is_rehearsed_step_by_step(client_as: Callable[..., Any], demo: Snapshot) -> None:
    names = list(NodeRow.objects.filter(snapshot=demo, name__startswith="general").values_list("name", flat=True)[:2])
    client = client_as("viewer")
    answer = get_page(client, "drain/", nodes=" ".join(names))
    assert answer.context["sentence"].startswith("All 2 nodes can be emptied")
    items = get_page(client, "drain/", nodes=" ".join(names), format="json").json()["items"]
    assert {item["node"] for item in items} == set(names)
    evicted_pods = [item for item in items if item["what"] == "evicted"]
    assert f"{len(evicted_pods)} pods move" in answer.context["sentence"]
    assert all(item["target"] and item["target"] not in names for item in evicted_pods)


def test_a_whole_zone_can_be_rehearsed_and_an_unknown_one_is_said(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    zone = NodeRow.objects.filter(snapshot=demo).exclude(zone="").values_list("zone", flat=True)[0]
    client = client_as("viewer")
    assert get_page(client, "drain/", zone=zone).context["page"].paginator.count > 0
    assert get_page(client, "drain/", zone="atlantis").status_code == 400
    assert list(get_page(client, "drain/", nodes="x").context["form"].errors) == ["nodes"]


@pytest.mark.parametrize("parameters", ["?cpu=1&memory=1Gi", "nodes/?pending=on&like=NODE", "drain/?nodes=NODE"])
def test_a_classic_policy_answers(parameters: str, demo: Snapshot, editor: User, client_as: Callable[..., Any]) -> None:
    seed_classic.classic(editor)
    node = NodeRow.objects.filter(snapshot=demo).order_by("name").values_list("name", flat=True)[0]
    page = client_as("viewer").get(f"/capacity/{parameters.replace('NODE', node)}&cluster=demo&policy=old")
    assert page.status_code == 200
    assert page.context["engine"].endswith("kube-scheduler 1.13.0")
    assert page.context["answer"] is not None
