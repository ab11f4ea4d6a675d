"""Groups of pods placed by real worker processes on the real API server, beside what kube-scheduler 1.37 does there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.following.facts import KnownPods
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import GroupRef, ReportGroup
from kschedweb.engine.objects.podgroup import SCHEDULED
from kschedweb.engine.releases import write_gates
from kschedweb.live.schedulers.rbac import SCHEDULING, Needs, rights_for, rights_missing
from kschedweb.live.schedulers.writing.writer import WriteCode, Writer
from tests.engine.builders import node, pod
from tests.engine.gangs import group, member
from tests.live.test_groups_live import CONFIG, DECIDES, GATES, GROUPS, RACK, SEED, SERVED, gang, get_condition, nodes
from tests.live.test_rbac_live import Account
from tests.support import tiers
from tests.support.faults import Refuse
from tests.support.kubescheduler import kube_scheduler, release_of
from tests.support.livesite import APPROVAL_LABELS, DOCUMENT, PODS, LiveSite, live_site
from tests.support.needs import missing
from tests.support.processes import wait_until

pytestmark = pytest.mark.live


GANGS = tiers.count(10, 40)
PROCESS = {"release": "1.37", "featureGates": {name: on for name, on in GATES.items() if on}}
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
EXPECTED = Counter(Scheduled=11, FailedScheduling=7, Preempted=4)  # how many pods have such events
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def document(**profile: Any) -> str:
    return json.dumps({**CONFIG, "profiles": [{"schedulerName": "any", "plugins": DECIDES, **profile}]})


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    """A site beside an API server that has PodGroups."""
    if not release_of(assets).behaviour.pod_group_entities:
        missing("KUBEBUILDER_ASSETS holds a release without PodGroups")
    folder = tmp_path_factory.mktemp("live")
    folder.chmod(0o755)
    with live_site(assets, folder, flags=SERVED) as site:
        for name, value in (("low", 10), ("high", 1000)):
            body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            site.plane.call("POST", CLASSES, body | {"value": value})
        yield site


@pytest.fixture(autouse=True)
def ended(site: LiveSite) -> Iterator[None]:
    """However a test ends, the next one finds nothing of it."""
    yield
    if site.live:
        site.end()
    wipe(site)


def wipe(site: LiveSite) -> None:
    site.plane.wipe()
    for item in site.plane.call("GET", GROUPS)["items"]:
        remove_group(site, item["metadata"]["name"])
    site.plane.call("DELETE", EVENTS)


def remove_group(site: LiveSite, name: str) -> None:
    # What protects a group with pods is a controller's, and none runs here.
    site.plane.call("PATCH", f"{GROUPS}/{name}", {"metadata": {"finalizers": None}})
    site.plane.request("DELETE", f"{GROUPS}/{name}")


def by_both(site: LiveSite, do: Callable[[LiveSite], Any]) -> tuple[Any, Any]:
    """Return the results of ``do`` under kube-scheduler, and under a live scheduler of its name."""
    site.name = "theirs"
    profile = {"schedulerName": site.name, "plugins": DECIDES}
    with kube_scheduler(site.plane, CONFIG | {"profiles": [profile]}, gates=write_gates(GATES)):
        theirs = do(site)
    wipe(site)
    site.begin(do.__name__, 1, document=document(), process=PROCESS)
    return theirs, do(site)


# What there is to be read.


def groups(site: LiveSite) -> dict[str, Json]:
    return {item["metadata"]["name"]: item for item in site.plane.call("GET", GROUPS)["items"]}


def create(site: LiveSite, *raws: Json) -> None:
    for raw in raws:
        if raw["kind"] == "Pod":
            raw["spec"] |= {"schedulerName": site.name, "terminationGracePeriodSeconds": 0}
        site.plane.call("POST", PODS if raw["kind"] == "Pod" else GROUPS, raw)


def heard(item: Json, kind: str) -> Json:
    """The condition of that kind, "" while it says nothing that lasts."""
    current = get_condition(item, kind)
    # A group that is not in kube-scheduler's snapshot yet ends in an error, and is tried again.
    return {} if current["reason"] in ("", "SchedulerError") else current


def settled(site: LiveSite, name: str) -> bool:
    """Return whether the group and each of its pods has been placed, or has a reason against it."""
    pods = [pod for pod in site.listed().values() if pod["spec"].get("schedulingGroup") == {"podGroupName": name}]
    return bool(heard(groups(site)[name], SCHEDULED)) and all(
        bool(pod["spec"].get("nodeName") or heard(pod, "PodScheduled")) for pod in pods
    )


# Gang by gang.


def knows_nodes(site: LiveSite, count: int) -> None:
    """Wait until the scheduler has heard of all nodes as they are: a pod that is too large for any is told so."""
    create(site, pod("too-large", requests={"cpu": "1000", "memory": "1Ti"}, tolerations=[{"operator": "Exists"}]))

    def told_of_all() -> bool:
        message = get_condition(site.listed()["too-large"], "PodScheduled")["message"]
        return message.startswith(f"0/{count} nodes are available") and "untolerated" not in message

    wait_until(told_of_all, "all nodes are known", step=0.05)
    site.plane.call("DELETE", f"{PODS}/too-large?gracePeriodSeconds=0")


def decided(site: LiveSite) -> list[Json]:
    """Return the outcomes of random gangs, one after the other; those that find no place go again."""
    random, outcomes = Random(SEED), []
    drawn = nodes(random)
    site.plane.create_nodes(drawn)
    knows_nodes(site, len(drawn))
    for number in range(GANGS):
        raw, members = gang(random, number)
        raw["spec"].pop("schedulingConstraints", None)  # which of equally good domains is taken is left to chance
        for member_pod in members:
            # The pods are all alike: in what order kube-scheduler tries them again depends on what it hears when.
            member_pod["spec"]["containers"] = members[0]["spec"]["containers"]
        create(site, *members, raw)
        name = raw["metadata"]["name"]
        wait_until(partial(settled, site, name), f"{name} is decided", step=0.05)
        pods = {key: pod for key, pod in site.listed().items() if key.startswith(name)}
        placed = sorted(pod["spec"].get("nodeName", "") for pod in pods.values())
        condition_counts = Counter(tuple(get_condition(pod, "PodScheduled").values()) for pod in pods.values())
        outcomes.append(
            {"group": get_condition(groups(site)[name], SCHEDULED), "nodes": placed, "pods": condition_counts}
        )
        if not all(placed):
            for key in pods:
                site.plane.call("DELETE", f"{PODS}/{key}?gracePeriodSeconds=0")
            remove_group(site, name)
    return outcomes


def test_gangs_go_where_kube_scheduler_puts_them_or_hear_its_words(site: LiveSite) -> None:
    theirs, ours = by_both(site, decided)
    for number, (their_outcome, our_outcome) in enumerate(zip(theirs, ours, strict=True)):
        assert our_outcome == their_outcome, f"seed {SEED}, gang {number}"
    outcomes = Counter(outcome["group"]["reason"] for outcome in ours)
    assert min(outcomes["Scheduled"], outcomes["Unschedulable"]) > GANGS // 10
    site.check()


# The same story told to both schedulers.


def story(site: LiveSite) -> Json:
    """Groups that are placed, wait, find no place, make room and have to go: what is to be read after."""
    sizes = {"cpu": "4", "memory": "8Gi"}
    racks = {"a": "one", "b": "one", "c": "two"}
    site.plane.create_nodes(node(name, labels={RACK: rack}, allocatable=sizes) for name, rack in racks.items())
    site.heard_of(*racks)

    def wait_gone(*names: str) -> None:
        wait_until(lambda: site.listed().keys().isdisjoint(names), f"{names} are gone", step=0.05)

    def placed(*names: str) -> None:
        for name in names:
            wait_until(partial(settled, site, name), f"{name} is decided", step=0.05)
            try:
                wait_until(partial(is_placed, site, name), f"{name} is placed", step=0.05)
            except TimeoutError as late:
                raise TimeoutError(f"{late}: {condition(site, name)}, {conditions(site, name)}") from None

    create(site, group("few", 3), *members("few", 2, "1"))
    create(site, *members("orphans", 2, "1"))
    create(site, group("pair", 2, priorityClassName="low"), *members("pair", 2, "3", priorityClassName="low"))
    placed("pair")
    create(site, group("large", 2), *members("large", 2, "3"))
    wait_until(lambda: settled(site, "large"), "large is told", step=0.05)
    large = {"group": condition(site, "large"), "pods": conditions(site, "large")}
    for name in ("large-0", "large-1"):
        site.plane.call("DELETE", f"{PODS}/{name}")
    remove_group(site, "large")
    create(site, group("loose", None), *members("loose", 1, "500m"))
    placed("loose")
    # Before it has heard of its own condition, kube-scheduler writes that the group is not placed after all.
    create(site, *members("loose", 1, "64", first=1))
    wait_until(partial(settled, site, "loose"), "loose-1 is told", step=0.05)
    create(site, group("racked", 2, topology=RACK), *members("racked", 2, "250m"))
    placed("racked")
    shared = {racks[nodes_of(site)[name]] for name in ("racked-0", "racked-1")}
    create(site, group("urgent", 3, priorityClassName="high"), *members("urgent", 3, "3", priorityClassName="high"))
    placed("urgent")
    wait_gone("pair-0", "pair-1")
    site.plane.create_nodes([node("d", labels={RACK: "three"}, allocatable={"cpu": "2", "memory": "8Gi"})])
    site.heard_of("d")
    rack_three: Json = {"nodeSelector": {RACK: "three"}}
    create(site, group("whole", 2, whole=True), *members("whole", 2, "200m", **rack_three))
    placed("whole")
    (boss,) = members("boss", 1, "1800m", priorityClassName="high", **rack_three)
    del boss["spec"]["schedulingGroup"]
    create(site, boss)
    wait_gone("whole-0", "whole-1")
    wait_until(lambda: bool(nodes_of(site)["boss-0"]), "boss-0 is placed", step=0.05)
    try:
        wait_until(lambda: counted(site) == EXPECTED, "the events", step=0.1)
    except TimeoutError as late:
        raise TimeoutError(f"{late}: {counted(site)}") from None
    return {"large": large, "racks": len(shared), **read(site)}


def members(group_name: str, count: int, cpu: str, first: int = 0, **spec: Any) -> list[Json]:
    return [
        member(f"{group_name}-{number}", group_name, requests={"cpu": cpu}, **spec)
        for number in range(first, first + count)
    ]


def condition(site: LiveSite, name: str) -> Json:
    raw_group = groups(site)[name]
    listed = raw_group.get("status", {}).get("conditions", [])
    observed = next((entry.get("observedGeneration") for entry in listed if entry["type"] == SCHEDULED), None)
    return get_condition(raw_group, SCHEDULED) | {"observedGeneration": observed}


def is_placed(site: LiveSite, name: str) -> bool:
    return bool(condition(site, name)["status"] == "True")


def conditions(site: LiveSite, prefix: str = "") -> Json:
    return {name: get_condition(pod, "PodScheduled") for name, pod in site.listed().items() if name.startswith(prefix)}


def nodes_of(site: LiveSite) -> dict[str, str]:
    return {name: pod["spec"].get("nodeName", "") for name, pod in site.listed().items()}


def read(site: LiveSite) -> Json:
    """Read the scheduler's output, without differences from run to run: uids, times, and choices among equal nodes."""
    return {
        "conditions": conditions(site),
        "groups": {name: condition(site, name) for name in groups(site)},
        "placed": {name for name, node in nodes_of(site).items() if node},
        "events": events(site),
    }


def events(site: LiveSite) -> list[tuple[str, ...]]:
    """Return the events of pods and groups, each of them once."""
    entries = set()
    for event in site.plane.call("GET", EVENTS)["items"]:
        regarding, related = event["regarding"], event.get("related") or {}
        if regarding["kind"] in ("Pod", "PodGroup"):
            assert event["reportingController"] == site.name
            note = UID.sub("<uid>", event["note"]).split(" to ")[0]  # which of equal nodes is left to chance
            related_name = " ".join(related.get(key, "") for key in ("apiVersion", "kind", "namespace", "name")).strip()
            entries.add((regarding["name"], event["type"], event["reason"], event["action"], note, related_name))
    return sorted(entries)


def counted(site: LiveSite) -> Counter[str]:
    return Counter(reason for reason, _ in {(event[2], event[0]) for event in events(site)})


def test_conditions_events_and_evictions_are_those_of_kube_scheduler(site: LiveSite) -> None:
    theirs, ours = by_both(site, story)
    assert ours == theirs


# What goes wrong.


def test_held_members_are_bound_by_the_next_leader_each_when_it_is_approved(site: LiveSite) -> None:
    site.begin("held", 2, document=DOCUMENT, process=PROCESS)
    site.nodes(2, cpu="8")
    raws = members("held", 4, "1")
    for raw in raws[1:]:
        raw["metadata"]["labels"] = dict(APPROVAL_LABELS)
    create(site, group("held", 4), *raws)
    rows = site.waiting(3)
    site.wait_bound(1)
    assert site.bound().keys() == {"held-0"}
    assert condition(site, "held")["status"] == "True"
    wait_until(lambda: list_bound_decisions(site) == site.bound(), "the decision is kept", step=0.2)
    leader = site.leading_worker()
    leader.kill()
    site.replace_worker(leader)
    row_by_name = {row["pod"].rpartition("/")[2]: row for row in rows}
    site.approve([row_by_name["held-2"]])
    site.wait_bound(2)
    assert site.bound().keys() == {"held-0", "held-2"}
    site.approve([row_by_name["held-1"], row_by_name["held-3"]])
    site.wait_bound(4)
    site.check()
    wait_until(lambda: list_bound_decisions(site) == site.bound(), "every decision is kept with its end", step=0.2)


def list_bound_decisions(site: LiveSite) -> dict[str, str]:
    """The nodes of the pods whose decision is kept as bound."""
    return {row["name"]: row["node"] for row in site.backstage("decisions", live=site.live) if row["result"] == "bound"}


def test_a_refused_binding_is_made_up_for_and_the_group_stays_placed(site: LiveSite) -> None:
    site.begin("refused", 1, document=document(), process=PROCESS)
    site.nodes(2, cpu="8")
    with site.proxy.fault("POST", r"/pods/gang-1/binding$", Refuse(403), times=2) as fault:
        create(site, group("gang", 3), *members("gang", 3, "1"))
        fault.wait(2)
        site.wait_bound(3)
    assert condition(site, "gang")["status"] == "True"
    site.check()


def test_groups_keep_together_while_every_tenth_call_fails(site: LiveSite) -> None:
    """Gangs for which there is room only one after the other, beside pods of no group."""
    site.begin("shaken", 2, document=document(), process=PROCESS)
    site.nodes(4, cpu="8")
    with site.proxy.fault("POST|PATCH|GET", "", Refuse(500), chance=0.1):
        for number in range(12):
            create(site, *members(f"gang{number:02}", 4, "1800m"), group(f"gang{number:02}", 4))
        site.wait_bound(16)
        for _ in range(2):
            whole = {name.partition("-")[0] for name in site.bound()}
            for name in list(site.bound()):
                site.plane.call("DELETE", f"{PODS}/{name}")
            assert len(whole) == 4
            site.wait_bound(16)
    assert all(count == 4 for count in Counter(name.partition("-")[0] for name in site.bound()).values())
    site.check()


def test_to_report_on_a_group_takes_one_right_and_the_very_group(site: LiveSite, settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    create(site, group("gang", 2))
    metadata = groups(site)["gang"]["metadata"]
    group_ref = GroupRef("default", "gang", metadata["uid"])
    report = ReportGroup(group_ref, "False", "Unschedulable", "no room", 3, "")
    account, needs = Account(site.plane), Needs(SCHEDULING, lease="kschedweb-rbac")
    try:
        with account.apply(replace(needs, groups=False)) as client:
            assert {str(right) for right in rights_missing(client, rights_for(needs))} == {"patch podgroups/status"}
            refused = Writer(client, KnownPods(), leading=lambda: True).report_group(report)
            assert refused.result is WriteCode.REFUSED
        with account.apply(needs) as client:
            writer = Writer(client, KnownPods(), leading=lambda: True)
            another = replace(report, group=group_ref._replace(uid="of-another"))
            assert writer.report_group(another).result is WriteCode.MISSING
            assert not get_condition(groups(site)["gang"], SCHEDULED)["status"]
            assert writer.report_group(report).result is WriteCode.WRITTEN
    finally:
        account.withdraw()
    expected = {"type": SCHEDULED, "status": "False", "reason": "Unschedulable", "message": "no room"}
    assert condition(site, "gang") == expected | {"observedGeneration": 3}
