"""Groups of pods over REST."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import services, snapshots
from kschedweb.decisions.groups import services as groups
from kschedweb.decisions.inquiring.services import KIND
from kschedweb.decisions.models import Question
from kschedweb.engine.config import default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.podgroup import PodGroup, is_group
from kschedweb.jobs.inquiries import deadline_step
from kschedweb.policies.models import Revision
from tests.conformance.groups import FIRST, GOLDEN
from tests.conformance.record import read
from tests.engine.builders import node, pod
from tests.engine.gangs import THREE_CPUS, composite, gpu_claim, gpus, group, member, members, part, with_gpu

from .conftest import RACK

ADDRESS = "/api/v1/clusters/lab/podgroups/"
PAGE = "/clusters/lab/podgroups/default/gang/"
Lab = Callable[..., Snapshot]


@pytest.fixture
def fetch_group(api_as: Callable[[str], Any], on: Revision) -> Callable[..., Any]:
    """``fetch_group(name="gang", policy="on", **query)``: the response about a group of the namespace ``default``."""

    def get(name: str = "gang", policy: str = "on", **query: str) -> Any:
        return api_as("viewer").get(f"{ADDRESS}default/{name}/", {"policy": policy, **query})

    return get


def test_the_list_says_how_each_group_stands(lab: Lab, api_as: Callable[[str], Any]) -> None:
    old = group("old") | {"apiVersion": "scheduling.k8s.io/v1alpha2"}
    gated_member = member("part-2", "part", schedulingGates=[{"name": "quota"}])
    lab(
        group("gang", 8), *members(2), *[member(f"on-{number}", on="n0") for number in range(3)],
        group("there"), *[member(f"there-{number}", "there", on="n1") for number in range(2)],
        group("part", None), member("part-1", "part", on="n2"), gated_member,
        group("nobody"), old, member("lost-1", "lost"),
    )  # fmt: skip
    groups = {entry["name"]: entry for entry in api_as("viewer").get(ADDRESS).json()["groups"]}
    unread = groups["old"]["sentence"]
    assert unread.startswith("cannot be read: is of scheduling.k8s.io/v1alpha2,")
    assert {name: (entry["state"], entry["sentence"]) for name, entry in groups.items()} == {
        "gang": ("incomplete", "3 of 8 pods bound, waits for 3 more pods"),
        "there": ("bound", "all 2 pods are bound"),
        "part": ("pending", "1 of 2 pods bound, 1 without a node, 1 of them gated"),
        "nobody": ("empty", "no pod names it"),
        "lost": ("missing", "no such PodGroup exists; 1 pod names it"),
        "old": ("unread", unread),
    }
    counts = ("bound", "pending", "gated", "missing")
    assert [groups["gang"][name] for name in counts] == [3, 2, 0, 3]
    assert [groups["part"][name] for name in counts] == [1, 1, 1, 0]


def test_a_group_that_fits_has_a_node_for_each_pod(lab: Lab, fetch_group: Callable[..., Any]) -> None:
    lab(group("gang", 4), *members(4, requests=THREE_CPUS))
    answer = fetch_group().json()
    assert answer["title"] == "gang fits: all 4 pods go to 4 nodes"
    assert sorted(pod["node"] for pod in answer["answer"]["pods"]) == ["n0", "n1", "n2", "n3"]
    assert answer["answer"]["placed"] is True
    assert (answer["policy"], answer["revision"], answer["release"][:4]) == ("on", 1, "1.37")


def test_the_pod_that_blocks_is_named_with_its_reason(lab: Lab, fetch_group: Callable[..., Any]) -> None:
    lab(group("gang", 5), *members(5, requests=THREE_CPUS))
    response = fetch_group().json()
    assert response["title"] == "gang does not fit: gang-4 finds no node beside the 4 pods before it"
    assert response["blocked"] == "gang-4 is pending: no node has 3 CPU free"
    answer = response["answer"]
    assert answer["blocking"] == "default/gang-4"
    assert answer["pods"][4]["message"] == "0/4 nodes are available: 4 Insufficient cpu."
    status = answer["domains"][0]["status"]
    assert status["reasons"][-1] == "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining"
    assert [len(domain["pods"]) for domain in answer["domains"]] == [5]


def test_of_racks_the_one_with_room_is_taken(lab: Lab, fetch_group: Callable[..., Any]) -> None:
    full = pod("full", on="n0", requests=THREE_CPUS)
    lab(group("gang", topology=RACK), *members(2, requests=THREE_CPUS), full)
    response = fetch_group().json()
    assert response["title"] == "gang fits: all 2 pods go to 2 nodes in r1"
    assert {domain["domain"]: domain["status"]["code"] for domain in response["answer"]["domains"]} == {
        "r0": "Unschedulable",
        "r1": "Success",
    }
    lab(group("gang", topology=RACK), *members(2, requests=THREE_CPUS), full, pod("more", on="n3", requests=THREE_CPUS))
    response = fetch_group().json()
    assert response["title"] == "gang does not fit: none of 2 domains has room for it"
    assert response["details"] == ["In r0: gang-1 is pending: no node has 3 CPU free."]


def test_the_groups_of_a_tree_have_their_results(lab: Lab, fetch_group: Callable[..., Any], in_trees: Revision) -> None:
    lab(composite("root", topology=RACK), part("a"), part("b"), *members(2, "a"), *members(2, "b"))
    response = fetch_group("b", "trees").json()
    tree = response["tree"]
    assert [(each["kind"], each["name"], each["parent"]) for each in tree] == [
        ("CompositePodGroup", "root", ""),
        ("PodGroup", "a", "root"),
        ("PodGroup", "b", "root"),
    ]
    assert {each["condition"]["type"] for each in tree[1:]} == {"PodGroupInitiallyScheduled"}
    assert tree[0]["condition"]["type"] == "CompositePodGroupInitiallyScheduled"
    assert [domain["domain"] for domain in tree[0]["domains"]] == ["r0", "r1"]
    assert (tree[0]["domain"], [each["placed"] for each in tree]) == ("r0", [True, True, True])
    lab(group("gang"), *members(2))
    assert fetch_group(policy="trees").json()["tree"] == []


def test_whom_preemption_would_evict(lab: Lab, fetch_group: Callable[..., Any]) -> None:
    low = [pod(f"low-{number}", on=f"n{number}", requests=THREE_CPUS, priority=-1) for number in range(4)]
    lab(group("gang", priority=0), *members(2, requests=THREE_CPUS, priority=0), *low)
    response = fetch_group().json()
    assert response["title"] == "gang fits only once 2 pods have gone"
    room = response["answer"]["room"]
    assert room["made"] is True
    assert len(room["victims"]) == 2
    assert {pod["nominated"] for pod in response["answer"]["pods"]} == {f"n{name[-1]}" for name in room["victims"]}


def test_which_claims_would_be_given_back(
    store_snapshot: Callable[..., Snapshot], fetch_group: Callable[..., Any]
) -> None:
    services.clear_caches()
    claims = [gpu_claim("one", "a", 0), gpu_claim("two", "a", 1)]
    pods = [with_gpu(f"gang-{name}", name, requests=THREE_CPUS) for name in ("one", "two")]
    store_snapshot([node("a"), node("b"), *gpus("a", "b"), *claims, group("gang", 2), *pods], "lab")
    response = fetch_group().json()
    assert response["answer"]["placed"] is False
    assert response["freed_claims"] == ["default/one", "default/two"]
    assert response["title"] == "gang does not fit: gang-two finds no node beside the pod before it"
    retry_note = "The devices of default/one and default/two would be released, and the group tried again."
    assert response["details"][-1] == retry_note


def test_what_a_group_waits_for(lab: Lab, fetch_group: Callable[..., Any]) -> None:
    lab(group("gang", 8), *members(2), member("on-0", on="n0"))
    response = fetch_group().json()
    assert response["title"] == "gang is not tried: it waits for 5 more pods"
    assert response["details"] == ["Its minCount is 8, and 3 pods name it."]
    assert response["answer"]["held"] == "waiting for minCount pods from a gang to appear in scheduling queue"
    lab(group("gang"), member("a"), member("b", schedulingGates=[{"name": "quota"}]))
    response = fetch_group().json()
    assert response["title"] == "gang is not tried: 1 of 2 pods gated"
    assert response["details"] == ["Otherwise it would fit, as shown below."]


def test_with_the_gate_off_it_is_not_a_group_and_can_be_asked_about_all_the_same(
    lab: Lab, fetch_group: Callable[..., Any], policy: Callable[..., Revision]
) -> None:
    lab(group("gang", 4), *members(4, requests=THREE_CPUS))
    policy("newest", default_document(), {"release": "1.37"})
    off = fetch_group(policy="newest").json()
    assert off["title"] == "gang is not scheduled as a group: the feature gate GenericWorkload is off"
    assert (off["answer"], off["gates_off"], off["gates_switched"]) == (None, ["GenericWorkload"], [])
    switched_on = fetch_group(policy="newest", gates="on").json()
    assert (switched_on["gates_off"], switched_on["gates_switched"]) == ([], ["GenericWorkload"])
    assert switched_on["answer"] == fetch_group().json()["answer"]
    policy("older", default_document(), {"release": "1.36"})
    older = fetch_group(policy="older", gates="on").json()
    assert older["title"] == "gang is not scheduled as a group by kube-scheduler 1.36"
    assert older["answer"] is None


def test_what_cannot_be_asked_gets_a_clear_error(
    lab: Lab, fetch_group: Callable[..., Any], classic: Callable[..., Revision]
) -> None:
    lab(group("gang"), *members(2, schedulerName="theirs"))
    assert fetch_group("nobody").status_code == 404
    assert (
        fetch_group("nobody").json()["detail"]
        == "The snapshot has no PodGroup default/nobody, and no pod that names it."
    )
    foreign = fetch_group().json()
    assert (foreign["title"], foreign["answer"]) == ("gang is handled by theirs", None)
    assert foreign["scheduler"] == {"name": "theirs", "answered_by": "unknown"}
    classic("old")
    assert [error["path"] for error in fetch_group(policy="old").json()["errors"]] == ["policy"]
    assert [error["path"] for error in fetch_group(gates="off").json()["errors"]] == ["gates"]


def test_a_job_tries_a_group_that_takes_too_long_for_a_request(
    lab: Lab,
    fetch_group: Callable[..., Any],
    on: Revision,
    api_as: Callable[[str], Any],
    client_as: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    low = [pod(f"low-{number}", on=f"n{number}", requests=THREE_CPUS, priority=-1) for number in range(4)]
    lab(group("gang", 2, topology=RACK, priority=0), *members(2, requests=THREE_CPUS, priority=0), *low)
    quick, page = fetch_group(policy="on").json(), client_as("viewer").get(PAGE, {"policy": "on"})
    services.clear_caches()
    monkeypatch.setattr(groups, "deadline_step", lambda: deadline_step(-1.0))
    slow = fetch_group(policy="on")
    assert (slow.status_code, slow.json()["state"], slow["Retry-After"]) == (202, "queued", "2")
    waits = client_as("viewer").get(PAGE, {"policy": "on"}, follow=True)
    (question,) = Question.objects.all()
    assert waits.redirect_chain[-1][0] == f"/decisions/questions/{question.pk}/"
    steps: list[str] = []
    KIND.answer(question, lambda text, completed, total: steps.append(f"{text} {completed}"))
    assert steps[:3] == ["Reading the cluster 0", "Trying pods 0", "Trying pods 1"]
    services.clear_caches()
    assert fetch_group(policy="on").json() == quick
    assert api_as("viewer").get(slow["Location"]).json()["answer"] == quick
    opened_page = client_as("viewer").get(waits.redirect_chain[-1][0], follow=True)
    assert opened_page.context["group_page"] == page.context["group_page"]
    assert quick["answer"]["room"]["victims"]


def test_a_job_lists_the_groups_of_a_large_cluster(
    lab: Lab, api_as: Callable[[str], Any], client_as: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab(group("gang"), *members(2), group("late", 5))
    api, address = api_as("viewer"), "/api/v1/clusters/lab/podgroups/"
    quick = api.get(address).json()
    services.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    assert api.get(address).status_code == 202
    KIND.answer(Question.objects.get(), lambda *_: None)
    services.clear_caches()
    assert api.get(address).json() == quick
    assert len(client_as("viewer").get("/clusters/lab/podgroups/").context["page"]) == 2


def first_tries() -> list[Any]:
    """Recorded scenarios in which kube-scheduler tried a group before anything else, one of each ten."""
    lines_with_attempts = [line for line in read(GOLDEN[FIRST]) if line["expected"].get("attempts")]
    first = [(line, line["expected"]["attempts"][0]) for line in lines_with_attempts]
    lines = [line for line, attempt in first if "group" in attempt and attempt["round"] == 1]
    return [pytest.param(line, id=line["scenario"]["name"]) for line in lines[::10]]


@pytest.mark.parametrize("line", first_tries())
def test_rest_says_of_a_group_what_the_real_scheduler_recorded(
    line: Json, store_snapshot: Callable[..., Snapshot], policy: Callable[..., Revision], api_as: Callable[[str], Any]
) -> None:
    scenario, expected = line["scenario"], line["expected"]["attempts"][0]
    services.clear_caches()
    store_snapshot([*scenario["objects"], *scenario["pending"]], "lab")
    gates = {"GenericWorkload": True, **scenario.get("featureGates", {})}
    document = json.dumps(scenario["config"]) if scenario.get("config") else default_document()
    policy("recorded", document, {"release": "1.37", "featureGates": gates})
    key = expected["entity"].removeprefix("group ")
    answer = api_as("viewer").get(f"{ADDRESS}{key}/", {"policy": "recorded"}).json()["answer"]
    groups = {item.key: item for item in map(PodGroup.from_json, filter(is_group, scenario["objects"]))}
    if answer["placed"] or not groups[key].scheduled:  # what was True once stays, whatever a later try comes to
        assert answer["condition"] == expected["group"]
    ours = {item["pod"]: (item["node"] or item["message"]) for item in answer["pods"]}
    assert ours == {item["pod"]: item.get("node") or item["message"] for item in expected["pods"]}
    assert sorted(answer.get("room", {}).get("victims", [])) == expected.get("evicted", [])
