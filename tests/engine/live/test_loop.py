"""The live loop, step by step: what it wants done, and what it makes of the answers."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.framework.preparation import SelectNode, TakeVolume
from kschedweb.engine.live import (
    BindPod,
    EvictPod,
    HoldPod,
    Intent,
    LiveLoop,
    NominateNode,
    ReportPod,
    Superseded,
    WaitAtPermit,
)
from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION as PLAIN
from tests.engine.builders import node, pod
from tests.engine.live.loops import CONFIGURATION, HOLDER, HOUR, WAITER, drain, live, make_registry, versioned
from tests.engine.live.test_machine import claim, make_other_object, volume

NOW = 1_700_000_000.0
ZONE = "topology.kubernetes.io/zone"


def started(*names: str, **fields: Any) -> LiveLoop:
    """A loop that knows the nodes ``names``."""
    loop = live()
    loop.replace_objects("Node", [versioned(node(name, **fields)) for name in names], NOW)
    return loop


def create(loop: LiveLoop, name: str, **how: Any) -> list[Intent]:
    """A pod comes, and is tried."""
    assert loop.apply_object("Pod", versioned(pod(name, **how)), NOW) == []
    return loop.step(NOW)


def show(loop: LiveLoop, name: str, on: str = "", version: int = 2, **how: Any) -> list[Intent]:
    """The cluster shows a pod as it is by now."""
    return loop.apply_object("Pod", versioned(pod(name, on=on, **how), version), NOW)


def only(intents: list[Intent], kind: type) -> Any:
    assert [type(intent) for intent in intents] == [kind]
    return intents[0]


def test_a_pod_is_bound_and_counts_from_then_on() -> None:
    loop = started("a")
    bind = only(create(loop, "web", requests={"cpu": "3"}), BindPod)
    assert (bind.pod.key, bind.pod.uid, bind.node) == ("default/web", "uid of web", "a")
    assert loop.depths.binding == 1
    assert only(create(loop, "next", requests={"cpu": "3"}), ReportPod).reason == "Unschedulable"
    loop.on_bound("uid of web", NOW)
    assert show(loop, "web", on="a", requests={"cpu": "3"}) == []
    assert loop.depths.binding == 0
    assert loop.snapshot.pods.slots.keys() == {"default/web"}


def test_equally_good_nodes_are_drawn_among_and_the_decision_says_so() -> None:
    loop = live(draw=lambda number: number - 1)
    loop.replace_objects("Node", [versioned(node(name)) for name in "abc"], NOW)
    bind = only(create(loop, "web", requests={"cpu": "1"}), BindPod)
    assert (bind.node, bind.decision.drawn, bind.decision.margin) == ("c", 3, 0)
    assert bind.decision.top[0].node == "c"
    assert bind.decision.to_dict()["drawn"] == 3
    second = only(create(loop, "next", requests={"cpu": "1"}), BindPod)
    assert (second.node, second.decision.drawn) == ("b", 2)
    third = only(create(loop, "last", requests={"cpu": "1"}), BindPod)
    assert (third.node, third.decision.drawn) == ("a", 0)


def test_a_report_says_what_the_status_says_already() -> None:
    loop = started("a")
    report = only(create(loop, "big", requests={"cpu": "9"}), ReportPod)
    assert report.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert report.status_changes
    raw = versioned(pod("big", requests={"cpu": "9"}), 2)
    condition = {"type": "PodScheduled", "status": "False", "reason": report.reason, "message": report.message}
    raw["status"] = {"conditions": [condition]}
    loop.apply_object("Pod", raw, NOW)
    loop.activate_pod("uid of big", NOW)
    assert not only(loop.step(NOW), ReportPod).status_changes


def test_a_pod_whose_binding_failed_is_tried_again_after_its_backoff() -> None:
    loop = started("a")
    create(loop, "web")
    report = only(loop.bind_failed("uid of web", "the server is away", NOW), ReportPod)
    assert (report.reason, report.message) == ("SchedulerError", "the server is away")
    assert len(loop.snapshot.pods.slots) == 0
    due = loop.next_time(NOW)
    assert due is not None
    assert NOW + 1.0 <= due <= NOW + 3.0
    assert loop.step(due - 0.5) == []
    assert only(loop.step(due), BindPod).decision.attempt == 2


def test_a_failure_that_comes_after_the_pod_was_seen_on_its_node_means_nothing() -> None:
    loop = started("a")
    create(loop, "web")
    show(loop, "web", on="a")
    assert loop.bind_failed("uid of web", "no answer", NOW) == []
    assert "default/web" in loop.snapshot.pods.slots


def test_a_pod_that_another_scheduler_bound_is_where_that_put_it() -> None:
    loop = started("a", "b")
    node_name = only(create(loop, "web", requests={"cpu": "3"}), BindPod).node
    other = "b" if node_name == "a" else "a"
    show(loop, "web", on=other, requests={"cpu": "3"})
    requested = loop.snapshot.resource_row(loop.snapshot.requested, "cpu")
    assert requested[loop.snapshot.index[other]] == 3000
    assert requested[loop.snapshot.index[node_name]] == 0
    assert loop.depths.binding == 0


def test_pods_of_other_schedulers_count_once_they_are_bound() -> None:
    loop = started("a")
    assert create(loop, "foreign", requests={"cpu": "3"}, schedulerName="another") == []
    assert only(create(loop, "web", requests={"cpu": "3"}), BindPod).node == "a"
    show(loop, "foreign", on="a", requests={"cpu": "3"}, schedulerName="another")
    assert loop.snapshot.resource_row(loop.snapshot.requested, "cpu").tolist() == [6000]


def test_a_deleting_pod_is_only_told_of() -> None:
    loop = started("a")
    raw = versioned(pod("web"))
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    loop.apply_object("Pod", raw, NOW)
    report = only(loop.step(NOW), ReportPod)
    assert (report.reason, report.message) == ("", "skip schedule deleting pod: default/web")


def test_a_decision_tells_what_an_explanation_shows() -> None:
    loop = started("a", "b", "c", "d", "e", "f", "g")
    for number in range(9):
        create(loop, f"busy{number}", requests={"cpu": f"{100 + 90 * number}m"})
    raw = pod("web", requests={"cpu": "700m", "memory": "1Gi"})
    for name in ("first", "second"):  # without a plan, and with one
        snapshot = loop.snapshot.copy()
        explanation = Scheduler(snapshot, CONFIGURATION, make_registry()).explain(Pod.from_json(raw))
        decision = only(create(loop, name, requests={"cpu": "700m", "memory": "1Gi"}), BindPod).decision
        totals = dict(zip([explanation.nodes[row] for row in explanation.feasible], explanation.total, strict=True))
        best = sorted(totals.values(), reverse=True)
        assert [candidate.total for candidate in decision.top] == best[:5]
        assert decision.margin == best[0] - best[1]
        for ranked in decision.top:
            place = list(totals).index(ranked.node)
            scores_by_plugin = {column.plugin: int(column.weighted[place]) for column in explanation.scores}
            assert {name: score for name, score in ranked.scores.items() if score} == {
                name: score for name, score in scores_by_plugin.items() if score
            }
            assert ranked.total == totals[ranked.node]


def test_a_decision_counts_the_nodes_that_were_looked_at_where_none_fits() -> None:
    loop = started("a", "b", "c", labels={ZONE: "1"})
    decision = only(create(loop, "big", requests={"cpu": "9"}), ReportPod).decision
    assert (decision.evaluated, decision.feasible) == (3, 0)
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}
    how = {"requests": {"cpu": "9"}, "affinity": {"nodeAffinity": required}}
    assert only(create(loop, "narrow", **how), ReportPod).decision.evaluated == 2
    # PreFilter rejects a pod whose claim is not there before any node is looked at.
    missing = [{"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}]
    assert only(create(loop, "early", volumes=missing), ReportPod).decision.evaluated == 0


def test_calls_of_plugins_are_measured_in_every_tenth_cycle() -> None:
    ticks = iter(range(10_000))
    loop = live(clock=lambda: float(next(ticks)))
    loop.replace_objects("Node", [versioned(node(name)) for name in "ab"], NOW)
    binds = [only(create(loop, f"web-{number}"), BindPod) for number in range(20)]
    assert [number for number, bind in enumerate(binds) if bind.decision.calls] == [9, 19]
    assert {"Filter", "Reserve"} <= {call.point for call in binds[9].decision.calls}


def test_durations_are_measured_by_the_clock_that_is_passed_in() -> None:
    ticks = iter(range(1000))
    loop = live(clock=lambda: float(next(ticks)))
    loop.replace_objects("Node", [versioned(node(name)) for name in "ab"], NOW)
    durations = only(create(loop, "web"), BindPod).decision.durations
    assert durations == {"PreFilter": 1.0, "Filter": 1.0, "Score": 1.0, "Reserve": 1.0, "Permit": 1.0}


# Waiting.


def hold_pod(loop: LiveLoop, **how: Any) -> HoldPod:
    hold: HoldPod = only(create(loop, "held", labels={HOLDER: "x"}, requests={"cpu": "3"}, **how), HoldPod)
    return hold


def test_a_held_pod_keeps_its_node_until_it_is_allowed() -> None:
    loop = started("a")
    hold = hold_pod(loop)
    assert (hold.node, hold.plugin, hold.seconds) == ("a", HOLDER, HOUR)
    assert hold.ask == {"node": "a", "margin": None}
    assert only(create(loop, "other", requests={"cpu": "3"}), ReportPod).reason == "Unschedulable"
    loop.step(NOW + 100 * HOUR)
    assert loop.depths.awaiting_approval == 1  # nobody ends the wait but who holds it
    assert loop.recheck_pod(hold.pod.uid, NOW) == ""
    assert only(loop.allow_pod(hold.pod.uid, HOLDER, NOW), BindPod).node == "a"


def test_a_denied_pod_gives_its_node_back_and_is_not_asked_about_at_once() -> None:
    loop = started("a")
    hold = hold_pod(loop)
    report = only(loop.reject_pod(hold.pod.uid, HOLDER, "not on a Friday", NOW), ReportPod)
    assert report.message == "0/1 nodes are available: 1 not on a Friday."
    assert report.reason == "Unschedulable"
    assert not loop.is_ready
    assert only(create(loop, "other", requests={"cpu": "3"}), BindPod).node == "a"
    assert loop.depths.unschedulable == 1


@pytest.mark.parametrize("how", ["deleted", "terminating", "relabelled", "cordoned", "node gone", "bound elsewhere"])
def test_a_request_ends_when_what_it_was_made_for_is_gone(how: str) -> None:
    loop = started("a")
    hold = hold_pod(loop)
    raw = versioned(pod("held", labels={HOLDER: "x"}, requests={"cpu": "3"}), 2)
    match how:
        case "deleted":
            intents = loop.delete_object("Pod", raw, NOW)
        case "terminating":
            raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            intents = loop.apply_object("Pod", raw, NOW)
        case "relabelled":
            raw["metadata"]["labels"]["more"] = "x"
            intents = loop.apply_object("Pod", raw, NOW)
        case "cordoned":
            intents = loop.apply_object("Node", versioned(node("a", unschedulable=True), 2), NOW)
        case "node gone":
            intents = loop.delete_object("Node", versioned(node("a"), 2), NOW)
        case _:
            raw["spec"]["nodeName"] = "b"
            intents = loop.apply_object("Pod", raw, NOW)
    ended = only(intents, Superseded)
    assert ended.pod == hold.pod
    assert ended.why
    assert loop.depths.waiting == 0
    assert loop.allow_pod(hold.pod.uid, HOLDER, NOW) == []


@pytest.mark.parametrize("name", RELEASES)
def test_a_pod_that_is_being_deleted_gives_up_its_node_while_it_is_bound(name: str) -> None:
    as_of = load(PLAIN, RELEASES[name]).configuration
    assert as_of is not None
    loop = LiveLoop(as_of)
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    only(create(loop, "web", requests={"cpu": "3"}), BindPod)
    only(create(loop, "next", requests={"cpu": "3"}), ReportPod)
    raw = versioned(pod("web", requests={"cpu": "3"}), 2)
    raw["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.com/mine"])
    assert loop.apply_object("Pod", raw, NOW) == []
    early = RELEASES[name].behaviour.terminating_pods_release_node
    assert (loop.depths.binding, loop.depths.unschedulable) == ((0, 0) if early else (1, 1))
    loop.bind_failed("uid of web", "pod web is being deleted, cannot be assigned to a host", NOW)
    bindings = [intent for intent in drain(loop, NOW + 5.0) if isinstance(intent, BindPod)]
    assert [binding.pod.name for binding in bindings] == ["next"]


def test_an_annotation_does_not_end_a_request() -> None:
    loop = started("a")
    hold_pod(loop)
    raw = versioned(pod("held", labels={HOLDER: "x"}, requests={"cpu": "3"}), 2)
    raw["metadata"]["annotations"] = {"note": "x"}
    assert loop.apply_object("Pod", raw, NOW) == []
    assert loop.depths.awaiting_approval == 1


def test_an_allowed_pod_whose_node_fits_no_more_is_asked_about_again() -> None:
    loop = started("a", "b")
    hold = hold_pod(loop)
    create(loop, "foreign", schedulerName="another", requests={"cpu": "2"})
    show(loop, "foreign", on=hold.node, schedulerName="another", requests={"cpu": "2"})
    assert "Insufficient cpu" in loop.recheck_pod(hold.pod.uid, NOW)
    superseded = only(loop.allow_pod(hold.pod.uid, HOLDER, NOW), Superseded)
    assert "Insufficient cpu" in superseded.why
    assert only(loop.step(NOW), HoldPod).node != hold.node


def test_a_held_pod_gets_its_reservation_back_after_a_restart() -> None:
    loop = started("a")
    hold = hold_pod(loop)
    loop = started("a")
    loop.replace_objects("Pod", [versioned(pod("held", labels={HOLDER: "x"}, requests={"cpu": "3"}))], NOW)
    assert loop.restore_reservation(hold.pod.uid, "a", HOLDER, NOW + 60.0, NOW) == []
    assert loop.depths.awaiting_approval == 1
    assert not loop.is_ready
    assert only(loop.allow_pod(hold.pod.uid, HOLDER, NOW), BindPod).node == "a"


@pytest.mark.parametrize("how", ["gone", "another", "gated", "full", "no node"])
def test_a_reservation_that_cannot_be_given_back_ends_the_request(how: str) -> None:
    loop = started("a")
    raw = versioned(pod("held", labels={HOLDER: "x"}, requests={"cpu": "3"}))
    uid, node_name = raw["metadata"]["uid"], "a"
    match how:
        case "another":
            raw["metadata"]["uid"] = "another uid"
        case "gated":
            raw["spec"]["schedulingGates"] = [{"name": "closed"}]
        case "full":
            loop.apply_object("Pod", versioned(pod("other", on="a", requests={"cpu": "2"})), NOW)
        case "no node":
            node_name = "b"
    if how != "gone":
        loop.apply_object("Pod", raw, NOW)
    assert only(loop.restore_reservation(uid, node_name, HOLDER, NOW + 60.0, NOW), Superseded).pod.uid == uid
    assert loop.depths.awaiting_approval == 0
    assert loop.is_ready == (how in ("another", "full", "no node"))


def test_a_wait_ends_when_its_time_is_up() -> None:
    loop = started("a")
    wait = only(create(loop, "waits", labels={WAITER: "x"}), WaitAtPermit)
    assert (wait.plugins, wait.deadline) == ((WAITER,), NOW + 90.0)
    assert loop.next_time(NOW) == wait.deadline
    assert loop.step(NOW + 89.0) == []
    report = only(loop.pass_time(NOW + 90.0), ReportPod)
    assert "rejected due to timeout after waiting 1m30s at plugin Waiter" in report.message


def test_leadership_lost_gives_reservations_back_without_a_word() -> None:
    loop = started("a")
    hold_pod(loop)
    create(loop, "web")
    loop.forget_reservations(NOW)
    assert len(loop.snapshot.pods.slots) == 0
    assert {type(intent) for intent in drain(loop, NOW)} == {HoldPod, BindPod}


# Preemption.


def test_room_is_made_by_eviction_and_weaker_nominations_end() -> None:
    loop = started("a")
    for name, uid in (("low", 1), ("lower", 2)):
        loop.apply_object("Pod", versioned(pod(name, on="a", requests={"cpu": "2"}, priority=0), uid), NOW)
    middle = versioned(pod("middle", requests={"cpu": "2"}, priority=5))
    middle["status"] = {"nominatedNodeName": "a"}
    loop.apply_object("Pod", middle, NOW)
    loop.step(NOW)
    intents = create(loop, "high", requests={"cpu": "4"}, priority=100)
    assert {intent.pod.name for intent in intents if isinstance(intent, EvictPod)} == {"low", "lower"}
    assert [(intent.pod.name, intent.node) for intent in intents if isinstance(intent, NominateNode)] == [
        ("middle", "")
    ]
    report = next(intent for intent in intents if isinstance(intent, ReportPod))
    assert report.nominated == "a"


def test_a_waiting_victim_gives_way_at_once() -> None:
    loop = started("a")
    hold = hold_pod(loop, priority=0)
    intents = create(loop, "high", requests={"cpu": "4"}, priority=100)
    assert [type(intent) for intent in intents] == [Superseded, ReportPod, ReportPod]
    assert isinstance(intents[0], Superseded)
    assert intents[0].pod == hold.pod
    assert loop.depths.waiting == 0


# Other objects.


def test_a_pod_waits_for_its_claim_and_says_what_has_to_be_written() -> None:
    loop = started("a", labels={"zone": "east"})
    loop.apply_object("StorageClass", versioned(make_other_object("StorageClass", "")), NOW)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    assert 'persistentvolumeclaim "data" not found' in only(create(loop, "web", volumes=volumes), ReportPod).message
    loop.apply_object("PersistentVolumeClaim", versioned(claim("")), NOW)
    bind = only(drain(loop, NOW + 5.0), BindPod)
    assert bind.preparations == (SelectNode("default", "data", "uid of data", "a"),)


def test_a_volume_that_is_there_is_taken() -> None:
    loop = started("a", labels={"zone": "east"})
    for raw in (make_other_object("StorageClass", ""), claim(""), volume("east")):
        loop.apply_object(raw["kind"], versioned(raw), NOW)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    bind = only(create(loop, "web", volumes=volumes), BindPod)
    assert bind.preparations == (TakeVolume("disk", "default", "data", "uid of data"),)
    assert loop.snapshot.objects.storage.volumes["disk"].claim is not None
    loop.bind_failed(bind.pod.uid, "no", NOW)
    assert loop.snapshot.objects.storage.volumes["disk"].claim is None


def test_a_pod_that_found_no_volume_gets_the_one_that_comes() -> None:
    loop = started("a", labels={"zone": "east"})
    local = {**make_other_object("StorageClass", ""), "provisioner": "kubernetes.io/no-provisioner"}
    for raw in (local, claim("")):
        loop.apply_object(raw["kind"], versioned(raw), NOW)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    report = only(create(loop, "web", volumes=volumes), ReportPod)
    assert "node(s) didn't find available persistent volumes to bind" in report.message
    loop.apply_object("PersistentVolume", versioned(volume("west")), NOW)
    assert isinstance(drain(loop, NOW + 5.0)[-1], ReportPod)
    loop.apply_object("PersistentVolume", versioned(volume("east"), 2), NOW + 5.0)
    assert only(drain(loop, NOW + 60.0), BindPod).preparations == (
        TakeVolume("disk", "default", "data", "uid of data"),
    )


def test_what_pods_have_attached_follows_their_claims() -> None:
    loop = started("a")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    loop.apply_object("Pod", versioned(pod("web", on="a", volumes=volumes)), NOW)

    def attached() -> list[int]:
        return loop.snapshot.volume_use.attached_counts("csi.example").tolist()

    assert attached() == [0]  # nobody knows whose claim it is
    loop.apply_object("StorageClass", versioned(make_other_object("StorageClass", "")), NOW)
    loop.apply_object("PersistentVolumeClaim", versioned(claim("")), NOW)
    assert attached() == [1]
    loop.apply_object("PersistentVolume", versioned(volume("")), NOW)
    loop.apply_object("PersistentVolumeClaim", versioned(claim("disk"), 2), NOW)
    assert attached() == [1]
    assert loop.snapshot.volume_use.nodes_using(("csi.example", "disk")) == [0]
    loop.delete_object("Pod", versioned(pod("web", on="a"), 2), NOW)
    assert attached() == [0]
    assert loop.snapshot.volume_use.nodes_using(("csi.example", "disk")) == []


def test_who_belongs_together_is_asked_anew_when_services_come() -> None:
    loop = live()
    zones = {"a": "east", "b": "east", "c": "west"}
    loop.replace_objects("Node", [versioned(node(name, labels={ZONE: zone})) for name, zone in zones.items()], NOW)
    for name in ("first", "second"):  # now there is a plan for such pods
        create(loop, name, labels={"app": "web"})
    raw = make_other_object("Service", "web")
    for version, selector in enumerate(({"app": "web"}, {"app": "other"}), start=1):
        loop.apply_object("Service", versioned({**raw, "spec": {"selector": selector}}, version), NOW)
        snapshot = loop.snapshot.copy()
        explanation = Scheduler(snapshot, CONFIGURATION, make_registry()).explain(
            Pod.from_json(pod("next", labels={"app": "web"}))
        )
        decision = only(create(loop, f"next{version}", labels={"app": "web"}), BindPod).decision
        totals = dict(zip([explanation.nodes[row] for row in explanation.feasible], explanation.total, strict=True))
        assert {ranked.node: ranked.total for ranked in decision.top} == totals
        assert ("PodTopologySpread" in decision.top[0].scores) == (selector["app"] == "web")


def test_what_cannot_be_understood_is_left_out_and_named() -> None:
    loop = started("a")
    loop.apply_object("Pod", versioned(pod("odd", on="a", requests={"cpu": "much"})), NOW)
    assert list(loop.problems) == [("Pod", "default/odd")]
    assert "spec.containers[0].resources.requests.cpu" in loop.problems["Pod", "default/odd"]
    show(loop, "odd", on="a", requests={"cpu": "1"})
    assert not loop.problems
    assert loop.snapshot.resource_row(loop.snapshot.requested, "cpu").tolist() == [1000]


def test_heartbeats_leave_the_snapshot_as_it_is() -> None:
    loop = started("a", "b")
    before = loop.snapshot
    raw = versioned(node("a"), 2)
    raw["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    loop.apply_object("Node", raw, NOW)
    assert loop.snapshot is before
    assert before.nodes[before.index["a"]].raw["metadata"]["resourceVersion"] == "2"


def test_figures_are_those_measured_or_else_those_of_annotations() -> None:
    loop = live()
    raw = versioned(node("a"))
    annotation = '{"updated":"2026-11-21T13:00:00Z","cpu":{"15m":41.5}}'
    raw["metadata"]["annotations"] = {"watermarks.kschedweb.dev/use": annotation}
    loop.replace_objects("Node", [raw, versioned(node("b"))], NOW)

    def cpu() -> float:
        figures = loop.snapshot.watermarks
        assert figures is not None
        return float(figures.column("cpu", "15m")[loop.snapshot.index["a"]])

    assert cpu() == 41.5
    loop.update_watermarks(Watermarks.from_json({"nodes": {"a": {"updated": NOW, "cpu": {"15m": 70.0}}}}, ["a"]), NOW)
    assert cpu() == 70.0
    loop.apply_object("Node", versioned(node("c")), NOW)  # figures keep to their nodes when others come
    assert cpu() == 70.0
    loop.update_watermarks(None, NOW)
    assert cpu() == 41.5


def test_a_pod_on_a_node_that_is_not_known_counts_once_it_is() -> None:
    loop = started("a")
    loop.apply_object("Pod", versioned(pod("early", on="b", requests={"cpu": "1"})), NOW)
    assert len(loop.snapshot.pods.slots) == 0
    loop.apply_object("Node", versioned(node("b")), NOW)
    assert loop.snapshot.resource_row(loop.snapshot.requested, "cpu").tolist() == [0, 1000]
    loop.delete_object("Node", versioned(node("b"), 2), NOW)
    loop.delete_object("Pod", versioned(pod("early", on="b"), 2, "uid of early"), NOW)
    loop.apply_object("Node", versioned(node("b"), 3), NOW)
    assert loop.snapshot.resource_row(loop.snapshot.requested, "cpu").tolist() == [0, 0]


def test_an_explanation_shows_the_pod_as_if_it_were_on_no_node() -> None:
    loop = started("a", "b")
    bind = only(create(loop, "web", requests={"cpu": "3"}), BindPod)
    judged = loop.explain_pod(bind.pod.uid, NOW)
    explanation = judged.explanation
    assert judged.snapshot.resource_row(judged.snapshot.requested, "cpu").tolist() == [0, 0]
    assert sum(loop.snapshot.resource_row(loop.snapshot.requested, "cpu").tolist()) == 3000
    assert sorted(explanation.nodes[row] for row in explanation.feasible) == ["a", "b"]
    with pytest.raises(KeyError):
        loop.explain_pod("nobody", NOW)


def test_a_list_takes_away_what_is_not_in_it() -> None:
    loop = started("a", "b")
    loop.replace_objects("Pod", [versioned(pod(name, on="a", requests={"cpu": "1"})) for name in ("one", "two")], NOW)
    loop.replace_objects("Pod", [versioned(pod("two", on="a", requests={"cpu": "1"}))], NOW)
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    assert loop.snapshot.names == ["a"]
    assert loop.snapshot.pods.slots.keys() == {"default/two"}
    assert isinstance(loop.snapshot, Snapshot)


def test_what_is_kept_of_kinds_of_pods_does_not_grow_for_ever() -> None:
    loop = started("a")
    for number in range(6000):  # as jobs do, each pod has a label of its own
        raw = versioned(pod(f"job-{number}", on="a", labels={"job": str(number)}), number + 1)
        loop.apply_object("Pod", raw, NOW)
        if number >= 10:
            deleted_pod = versioned(pod(f"job-{number - 10}", on="a"), number + 7000)
            loop.delete_object("Pod", deleted_pod, NOW)
        if number % 500 == 0:
            assert len(loop.snapshot.pods.groups) < 5000
    assert len(loop.snapshot.pods.slots) == 10
    assert len(loop.snapshot.pods.groups) < 5000
    assert loop.snapshot.pod_count.tolist() == [10]


def test_pods_that_are_alone_of_their_kind_are_scheduled_one_after_the_other() -> None:
    loop = started("a", allocatable={"pods": "100000"})
    for number in range(4300):  # beyond the number of kinds at which what is kept of them is made anew
        bind = only(create(loop, f"job-{number}", labels={"job": str(number)}), BindPod)
        show(loop, bind.pod.name, on="a", labels={"job": str(number)})
        loop.delete_object("Pod", versioned(pod(bind.pod.name, on="a"), 3), NOW)
    assert loop.snapshot.pod_count.tolist() == [0]
    assert len(loop.snapshot.pods.groups) < 4200
