"""Steps after no node fits: the words of PostFilter, nominations, and plugins of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult, PreFilterResult
from kschedweb.engine.framework.status import SUCCESS, Code, Status, error, unresolvable, unschedulable
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.nominator import Nominator
from tests.engine.builders import CONFIGURATION, node, pod, scheduler


def placed(name: str, on: str, cpu: str, priority: int = 0) -> dict:
    return pod(name, on=on, requests={"cpu": cpu}, priority=priority)


def condition(engine: Scheduler, **spec: Any) -> str:
    """The message for one pod, which ``explain`` and ``schedule_one`` agree about."""
    raw = pod("p", requests={"cpu": spec.pop("cpu", "2")}, **spec)
    explained = engine.explain(Pod.from_json(raw), preemption=True).condition
    assert engine.schedule_one(Pod.from_json(raw), SearchRequest(post_filter=True)).condition == explained
    return explained


@pytest.mark.parametrize(
    ("release", "further"),
    [
        ("1.36", "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."),
        ("1.37", "preemption: not eligible due to preemptionPolicy=Never."),
    ],
)
def test_the_words_of_all_plugins_follow_those_of_the_filters(release: str, further: str) -> None:
    message = condition(scheduler(node("a"), placed("x", "a", "4"), release=release), preemptionPolicy="Never")
    assert message == f"0/1 nodes are available: 1 Insufficient cpu. {further}"


def test_nothing_is_known_of_claims_where_an_earlier_prefilter_gave_up() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    term = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    message = condition(scheduler(node("a")), affinity=affinity)
    assert message == "0/1 nodes are available: pod affinity terms conflict. not found"


@pytest.mark.parametrize(
    ("release", "further"),
    [
        ("1.36", ""),
        ("1.37", " preemption: found a potential placement for pod on node a, preempting 1 victims"),
    ],
)
def test_where_room_can_be_made_it_is_said_since_1_37(release: str, further: str) -> None:
    engine = scheduler(node("a"), node("b", unschedulable=True), placed("x", "a", "3"), release=release)
    incoming = Pod.from_json(pod("p", requests={"cpu": "2"}, priority=100))
    placement = engine.schedule_one(incoming, SearchRequest(post_filter=True))
    filter_message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    assert placement.condition == filter_message + further
    assert (placement.node, placement.nominated, placement.victims) == ("", "a", ("default/x",))
    assert "default/x" in engine.snapshot.pods.slots


def test_room_made_for_another_is_left_to_it() -> None:
    nominator = Nominator()
    nominator.add_nominated_pod(Pod.from_json(pod("first", requests={"cpu": "3"}, priority=50)), "a")
    engine = scheduler(node("a"), node("b"))
    engine.nominator = nominator
    explained = engine.explain(Pod.from_json(pod("p", requests={"cpu": "2"})))
    assert [explained.nodes[row] for row in explained.feasible] == ["b"]
    verdict = explained.verdict("a")
    assert verdict is not None
    assert (verdict.plugin, verdict.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    assert engine.schedule_one(Pod.from_json(pod("p", requests={"cpu": "2"}))).node == "b"
    assert engine.schedule_one(Pod.from_json(pod("q", requests={"cpu": "2"}, priority=51))).node == "a"
    assert "default/first" not in engine.snapshot.pods.slots


def test_a_nominated_pod_keeps_away_whom_it_does_not_want() -> None:
    anti_affinity_term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "p"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti_affinity_term]}}
    nominator = Nominator()
    nominator.add_nominated_pod(Pod.from_json(pod("first", priority=50, affinity=affinity)), "a")
    like_it = pod("bound", on="b", affinity=affinity)  # without any such pod bound, InterPodAffinity does not look
    engine = scheduler(node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"}), like_it)
    engine.nominator = nominator
    message = engine.schedule_one(Pod.from_json(pod("p", labels={"app": "p"}))).message
    assert message == "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."


def test_a_pod_that_needs_a_nominated_neighbour_does_not_count_on_it() -> None:
    near = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "first"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    nominator = Nominator()
    nominator.add_nominated_pod(Pod.from_json(pod("first", labels={"app": "first"}, priority=50)), "a")
    engine = scheduler(node("a", labels={"zone": "1"}))
    engine.nominator = nominator
    message = engine.schedule_one(Pod.from_json(pod("p", affinity=affinity))).message
    assert message == "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."


class Helper:
    """A PostFilter plugin that nobody here knows."""

    def __init__(self, name: str, result: PostFilterResult) -> None:
        self.name, self._result, self.asked = name, result, 0

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        assert diagnosis.status_at("a").code is Code.UNSCHEDULABLE
        assert diagnosis.status_at("unknown").code is Code.UNRESOLVABLE
        self.asked += 1
        return self._result


def with_helpers(*results: PostFilterResult) -> tuple[Scheduler, list[Helper]]:
    helpers = [Helper(f"Helper{number}", result) for number, result in enumerate(results)]
    specs = [PluginSpec(helper.name, frozenset({"postFilter"}), "Helps.") for helper in helpers]
    points = {"disabled": [{"name": "*"}], "enabled": [{"name": helper.name} for helper in helpers]}
    profile = {"schedulerName": "default-scheduler", "plugins": {"postFilter": points}}
    loaded = load({**CONFIGURATION, "profiles": [profile]}, release=CURRENT.with_plugins(*specs))
    assert loaded.configuration is not None, loaded.errors
    factories = {helper.name: (lambda args, it=helper: it) for helper in helpers}
    snapshot = Snapshot.from_objects([node("a"), placed("x", "a", "4")])
    return Scheduler(snapshot, loaded.configuration, {**CURRENT.factories, **factories}), helpers


def test_a_plugin_of_ones_own_makes_room() -> None:
    victim = Pod.from_json(placed("x", "a", "4"))
    engine, helpers = with_helpers(PostFilterResult(SUCCESS, "a", (victim,)), PostFilterResult(error("never asked")))
    placement = engine.schedule_one(Pod.from_json(pod("p", requests={"cpu": "2"})), SearchRequest(preempt=True))
    assert (placement.node, placement.victims) == ("a", ("default/x",))
    assert [helper.asked for helper in helpers] == [1, 0]


@pytest.mark.parametrize(
    ("results", "expected_message", "nominated"),
    [
        ([PostFilterResult(unschedulable("no")), PostFilterResult(unschedulable("neither", "nor"))],
         "no, neither, nor", None),
        ([PostFilterResult(unschedulable("no"), ""), PostFilterResult(unschedulable("neither"))], "no, neither", ""),
        ([PostFilterResult(unresolvable("never"), ""), PostFilterResult(SUCCESS, "a")], "never", ""),
        ([PostFilterResult(unschedulable("no"), ""), PostFilterResult(error("broken"), "a")], "broken", None),
        ([PostFilterResult(unschedulable("no")), PostFilterResult(Status(), "a")], "", "a"),
    ],
)  # fmt: skip
def test_answers_are_joined(results: list[PostFilterResult], expected_message: str, nominated: str | None) -> None:
    engine, _ = with_helpers(*results)
    placement = engine.schedule_one(Pod.from_json(pod("p", requests={"cpu": "2"})), SearchRequest(post_filter=True))
    assert (placement.post_filter, placement.nominated) == (expected_message, nominated)


class Closed:
    """A PreFilter plugin that lets nobody in for now."""

    name = "Closed"

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(unschedulable("closed"))


def closed(*objects: dict) -> Scheduler:
    specs = [PluginSpec("Closed", frozenset({"preFilter"}), "Lets nobody in.")]
    profile = {"schedulerName": "default-scheduler", "plugins": {"preFilter": {"enabled": [{"name": "Closed"}]}}}
    loaded = load({**CONFIGURATION, "profiles": [profile]}, release=CURRENT.with_plugins(*specs))
    assert loaded.configuration is not None, loaded.errors
    factories = {**CURRENT.factories, "Closed": lambda args: Closed()}
    return Scheduler(Snapshot.from_objects(objects), loaded.configuration, factories)


def test_where_prefilter_refuses_for_now_evictions_are_tried_everywhere() -> None:
    zones = [node(name, labels={"zone": name}) for name in "ab"]
    engine = closed(*zones, placed("x", "a", "4"), placed("y", "b", "4", priority=500))
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "p"}},
    }
    raw = pod("p", labels={"app": "p"}, requests={"cpu": "2"}, priority=100, topologySpreadConstraints=[spread])
    placement = engine.schedule_one(Pod.from_json(raw), SearchRequest(post_filter=True))
    assert placement.message == "0/2 nodes are available: closed."
    assert (placement.nominated, placement.victims) == ("a", ("default/x",))


def test_a_node_where_nobody_needs_to_go_is_an_error() -> None:
    engine = closed(node("a"), placed("x", "a", "1"))
    placement = engine.schedule_one(
        Pod.from_json(pod("p", requests={"cpu": "1"}, priority=100)), SearchRequest(post_filter=True)
    )
    assert placement.post_filter == 'preemption: expected at least one victim pod on node "a"'
    assert placement.nominated is None
    assert not placement.is_error
