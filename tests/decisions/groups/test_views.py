"""The pages of groups of pods, without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from kschedweb.policies.models import Revision
from tests.decisions.conftest import HEAD
from tests.engine.builders import pod
from tests.engine.gangs import IN_TREES, THREE_CPUS, composite, group, member, members, part
from tests.support.html import elements

from .conftest import RACK

Lab = Callable[..., Snapshot]
LIST = "/clusters/lab/podgroups/"


@pytest.fixture
def get_page(client_as: Callable[[str], Client], on: Revision) -> Callable[..., Any]:
    """``get_page(name="gang", policy="on", **query)``: the page of a group of the namespace ``default``."""

    def get(name: str = "gang", policy: str = "on", **query: str) -> Any:
        return client_as("viewer").get(f"{LIST}default/{name}/", {"policy": policy, **query})

    return get


def group_links(response: Any) -> list[str]:
    """List the page's links about groups."""
    targets = (link.attributes.get("href", "") for link in elements(response, "a"))
    return [href for href in targets if href.startswith(LIST)]


def member_states(response: Any) -> dict[str, str]:
    return {row.attributes["data-pod"]: row.attributes["data-state"] for row in elements(response, "[data-pod]")}


def test_the_page_says_where_each_pod_would_go(lab: Lab, get_page: Callable[..., Any]) -> None:
    lab(group("gang"), *members(2, requests=THREE_CPUS), member("on-0", on="n0", requests=THREE_CPUS))
    response = get_page()
    assert response.context["answer"].title == "gang fits: the 2 pods without a node go to 2 nodes"
    assert member_states(response) == {"on-0": "bound", "gang-0": "fits", "gang-1": "fits"}


def test_the_page_names_the_pod_that_blocks_and_what_came_of_each_domain(
    lab: Lab, get_page: Callable[..., Any]
) -> None:
    lab(group("gang", 3, topology=RACK), *members(3, requests=THREE_CPUS), pod("full", on="n0", requests=THREE_CPUS))
    response = get_page()
    assert response.context["group_page"].blocking.key == "default/gang-1"
    assert [(row.name, row.placed, row.pod) for row in response.context["group_page"].domains] == [
        ("r0", 1, "gang-1"),
        ("r1", 2, "gang-2"),
    ]
    assert member_states(response) == {"gang-0": "given up", "gang-1": "refused", "gang-2": "refused"}
    assert response.context["group_page"].blocking.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_the_page_lists_whom_preemption_would_evict(lab: Lab, get_page: Callable[..., Any]) -> None:
    low = [pod(f"low-{number}", on=f"n{number}", requests=THREE_CPUS, priority=-1) for number in range(4)]
    lab(group("gang", priority=0), *members(2, requests=THREE_CPUS, priority=0), *low)
    response = get_page()
    victims = {row.attributes["data-victim"] for row in elements(response, "[data-victim]")}
    assert victims == {victim.key for victim in response.context["group_page"].room.victims}
    assert set(member_states(response).values()) == {"waits"}


def test_the_gate_can_be_put_on_for_the_answer(lab: Lab, get_page: Callable[..., Any]) -> None:
    lab(group("gang"), *members(2))
    off = get_page(policy="default")
    (notice,) = elements(off, "[data-gates=off] a")
    assert notice.attributes["href"] == "?policy=default&gates=on"
    assert member_states(off) == {"gang-0": "", "gang-1": ""}
    on = get_page(policy="default", gates="on")
    assert elements(on, "[data-gates=on]")
    assert set(member_states(on).values()) == {"fits"}


def test_a_group_of_another_scheduler_is_no_error(lab: Lab, get_page: Callable[..., Any]) -> None:
    lab(group("gang"), *members(2, schedulerName="theirs"))
    answer = get_page().context["answer"]
    assert (answer.title, answer.state) == ("gang is handled by theirs", "")
    assert get_page("nobody").status_code == 404


def test_the_list_leads_to_each_group_and_the_pod_to_its_group(
    lab: Lab, on: Revision, client_as: Callable[[str], Client]
) -> None:
    lab(group("gang", 8), *members(2), group("there"), member("there-0", "there", on="n0"))
    client = client_as("viewer")
    list_page = client.get(LIST, {"policy": "on"})
    rows = elements(list_page, "[data-group]")
    assert {row.attributes["data-group"]: row.attributes["data-state"] for row in rows} == {
        "default/gang": "incomplete",
        "default/there": "incomplete",
    }
    assert [link for link in group_links(list_page) if "default" in link] == [
        f"{LIST}default/gang/?policy=on",
        f"{LIST}default/there/?policy=on",
    ]
    decision = client.get("/decision/lab/default/gang-0/", {"policy": "on"})
    assert group_links(decision) == [f"{LIST}default/gang/?policy=on&revision=1"]
    assert group_links(client.get("/clusters/lab/")) == [LIST]


def test_a_pods_own_decision_says_that_it_is_placed_with_its_group(
    lab: Lab, on: Revision, client_as: Callable[[str], Client], api_as: Callable[[str], Any]
) -> None:
    lab(group("gang"), *members(2), pod("plain"))
    group_note = "kube-scheduler places it together with its group gang. Here it is explained alone."
    for name, policy, note in (("gang-0", "on", group_note), ("gang-0", "default", ""), ("plain", "on", "")):
        page = client_as("viewer").get(f"/decision/lab/default/{name}/", {"policy": policy})
        assert page.context["by_itself"] == note
        decision = (
            api_as("viewer").get(f"/api/v1/clusters/lab/pods/default/{name}/decision/", {"policy": policy}).json()
        )
        assert decision["warnings"] == ([note] if note else [])


def test_pods_and_searches_lead_to_groups(lab: Lab, on: Revision, client_as: Callable[[str], Client]) -> None:
    lab(group("gang"), *members(2), pod("plain"))
    client = client_as("viewer")
    pods = client.get("/pods/", {"cluster": "lab", "group": "gang"})
    assert [item.row.name for item in pods.context["rows"]] == ["gang-0", "gang-1"]
    assert group_links(pods) == [LIST, *[f"{LIST}default/gang/"] * 2]
    for words in ("ang", "default/ga"):
        assert group_links(client.get("/search/", {"cluster": "lab", "q": words})) == [f"{LIST}default/gang/"]
    assert not group_links(client.get("/search/", {"cluster": "lab", "q": "gong"}))


def test_pods_may_name_what_no_group_can_be_called(lab: Lab, on: Revision, client_as: Callable[[str], Client]) -> None:
    lab(group("gang"), member("odd", "a/b <i>?"))
    client, odd = client_as("viewer"), f"{LIST}default/a/b%20%3Ci%3E%3F/"
    assert group_links(client.get("/pods/", {"cluster": "lab"})) == [LIST, odd]
    assert group_links(client.get("/search/", {"cluster": "lab", "q": "<i>"})) == [odd]
    assert odd in group_links(client.get(LIST))
    assert [link.partition("?")[0] for link in group_links(client.get("/decision/lab/default/odd/"))] == [odd]
    assert client.get(odd).context["group_page"].state == "missing"


def test_a_cluster_without_groups_says_so(lab: Lab, client_as: Callable[[str], Client]) -> None:
    lab(pod("plain"))
    client = client_as("viewer")
    assert client.get(LIST).context["page"].paginator.count == 0
    assert not group_links(client.get("/clusters/lab/"))
    assert not group_links(client.get("/decision/lab/default/plain/"))


HOST = "kubernetes.io/hostname"


def tree_of_four() -> list[dict]:
    """A root of two racks' choice with the group a and the composite group inner, whose group b wants one node."""
    b = part("b", "inner", topology=HOST)
    return [composite("root", topology=RACK), part("a"), composite("inner", 1, parent="root"), b]


def tree_groups(response: Any) -> list[tuple[str, str, str]]:
    """Name, reason and depth of each group of the tree, in the order of the page."""
    rows = elements(response, "[data-tree-group]")
    return [
        (row.attributes["data-tree-group"], row.attributes["data-reason"], row.attributes["class"].split("-")[-1])
        for row in rows
    ]


def test_the_tree_is_drawn_with_the_domains_of_each_group(
    lab: Lab, get_page: Callable[..., Any], in_trees: Revision
) -> None:
    """Of two racks the first has a full node: the tree goes to the second, and b to one node of it."""
    full = pod("full", on="n0", requests=THREE_CPUS)
    pods = [*members(2, "a", requests=THREE_CPUS), *members(1, "b", requests={"cpu": "1"})]
    trees = tree_of_four()
    trees[-1]["spec"]["schedulingPolicy"] = {"gang": {"minCount": 1}}
    lab(*trees, *pods, full)
    response = get_page("b", "trees")
    assert tree_groups(response) == [
        ("root", "Scheduled", "0"),
        ("a", "Scheduled", "1"),
        ("inner", "Scheduled", "1"),
        ("b", "Scheduled", "2"),
    ]
    tree = {row.name: row for row in response.context["group_page"].tree}
    domains = {
        name: [(each.name, each.nodes, each.fits, each.taken) for each in row.domains] for name, row in tree.items()
    }
    assert domains["root"] == [("r0", 2, False, False), ("r1", 2, True, True)]
    # Below, only the nodes of the rack that was taken.
    assert domains["b"] == [("n2", 1, True, True), ("n3", 1, True, False)]
    assert [row.is_asked for row in tree.values()] == [False, False, False, True]
    links = [link.split("?")[0] for link in group_links(response)]
    assert f"{LIST}default/a/" in links


def test_a_failure_goes_up_and_down_the_tree(lab: Lab, get_page: Callable[..., Any], in_trees: Revision) -> None:
    """b asks for more than any node has: the groups above it fail by it, and a with them although it would fit."""
    lab(*tree_of_four(), *members(2, "a"), *members(2, "b", requests=THREE_CPUS))
    response = get_page("a", "trees")
    assert tree_groups(response) == [
        ("root", "Unschedulable", "0"),
        ("a", "Unschedulable", "1"),
        ("inner", "Unschedulable", "1"),
        ("b", "Unschedulable", "2"),
    ]
    tree = {row.name: row for row in response.context["group_page"].tree}
    assert tree["a"].message.startswith('ancestor composite pod group "root" is unschedulable')
    assert tree["root"].message.startswith("0/2 placements are available, first placement status: ")
    assert tree["b"].message.startswith("0/2 placements are available, first placement status: ")
    assert {domain.name: domain.fits for domain in tree["root"].domains} == {"r0": False, "r1": False}
    assert {domain.name: (domain.fits, domain.placed) for domain in tree["b"].domains} == {
        "n0": (False, 1),
        "n1": (False, 1),
    }


def test_a_group_of_a_tree_says_which_gates_it_needs(
    lab: Lab, get_page: Callable[..., Any], policy: Callable[..., Revision]
) -> None:
    policy("new", HEAD, {"release": "1.38"})
    lab(composite("root"), part("a"), part("b"), *members(2, "a"), *members(2, "b"))
    off = get_page("a", "new")
    assert off.context["group_page"].off == list(IN_TREES)
    assert (off.context["group_page"].facts["parent"], off.context["group_page"].tree) == ("root", [])
    assert len(tree_groups(get_page("a", "new", gates="on"))) == 3
    # 1.37 reads no trees, so that their gate is none that it needs.
    assert get_page("a").context["group_page"].off == []
