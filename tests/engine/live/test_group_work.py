"""Groups of pods in the live loop: tried, reserved, let go, reported and preempting as one, step by step."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.live import (
    BindPod,
    EvictPod,
    FreeDevices,
    GroupRef,
    HoldPod,
    Intent,
    LiveLoop,
    ReportGroup,
    ReportPod,
    Superseded,
    WaitAtPermit,
)
from tests.engine.builders import node, pod
from tests.engine.gangs import (
    IN_TREES,
    ONE_CPU,
    THREE_CPUS,
    composite,
    configured,
    gpu_claim,
    gpus,
    group,
    member,
    members,
    part,
    with_gpu,
)
from tests.engine.live.loops import HOLDER, HOUR, WAITER, WITH_GROUPS, live, make_registry, versioned

NOW = 1_700_000_000.0
TOO_FEW = (
    "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
    "pod group preemption: No preemption victims found for incoming preemptor"
)


def started(*names: str, gang: dict | None = None, **fields: Any) -> LiveLoop:
    """A loop that knows the nodes ``names``, and the gang."""
    loop = live(WITH_GROUPS)
    loop.replace_objects("Node", [versioned(node(name, **fields)) for name in names], NOW)
    show_group(loop, gang or group("gang"))
    return loop


def show_group(loop: LiveLoop, raw: dict, version: int = 1) -> None:
    assert loop.apply_object("PodGroup", versioned(raw, version), NOW) == []


def create(loop: LiveLoop, *raws: dict) -> None:
    for raw in raws:
        assert loop.apply_object("Pod", versioned(raw), NOW) == []


def filter_intents(intents: list[Intent], kind: type) -> list[Any]:
    return [intent for intent in intents if isinstance(intent, kind)]


def names(intents: list[Intent], kind: type) -> list[str]:
    return [intent.pod.name for intent in filter_intents(intents, kind)]


def read_report(intents: list[Intent]) -> tuple[str, str, str]:
    (report,) = filter_intents(intents, ReportGroup)
    return report.status, report.reason, report.message


def test_a_gang_waits_for_its_pods_and_goes_as_one() -> None:
    loop = started("a", "b")
    create(loop, member("gang-0", requests=THREE_CPUS))
    assert (loop.step(NOW), loop.depths.gated) == ([], 1)
    create(loop, member("gang-1", requests=THREE_CPUS))
    assert loop.depths.active == 2
    intents = loop.step(NOW)
    assert [type(intent) for intent in intents] == [BindPod, BindPod, ReportGroup]
    assert {intent.node for intent in filter_intents(intents, BindPod)} == {"a", "b"}
    assert read_report(intents) == ("True", "Scheduled", "")
    assert filter_intents(intents, ReportGroup)[0].group == GroupRef("default", "gang", "uid of gang")
    assert (loop.depths.binding, loop.depths.waiting, loop.is_ready) == (2, 0, False)


def test_pods_wait_for_a_group_that_is_not_there() -> None:
    loop = live(WITH_GROUPS)
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    create(loop, *members(2))
    assert (loop.step(NOW), loop.depths.gated) == ([], 2)
    show_group(loop, group("gang"))
    assert names(loop.step(NOW), BindPod) == ["gang-0", "gang-1"]


def test_a_gang_that_finds_no_place_is_taken_back_and_all_are_told() -> None:
    loop = started("a")
    create(loop, *members(2, requests=THREE_CPUS))
    intents = loop.step(NOW)
    fits, fits_not = filter_intents(intents, ReportPod)
    assert filter_intents(intents, BindPod) == []
    assert (fits.pod.name, fits.reason) == ("gang-0", "Unschedulable")
    assert fits.message == f"pod group is unschedulable, {TOO_FEW}"
    assert fits_not.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert read_report(intents) == ("False", "Unschedulable", TOO_FEW)
    assert loop.snapshot.pods.slots == {}
    assert loop.depths.backoff == 2
    # What the cluster shows already is not written again.
    raw = group("gang")
    raw["metadata"]["generation"] = 1
    condition = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": TOO_FEW}
    raw_group = raw | {"status": {"conditions": [condition | {"observedGeneration": 1, "lastTransitionTime": "then"}]}}
    show_group(loop, raw_group, 2)
    assert filter_intents(loop.step(NOW + 20), ReportGroup) == []
    raw_group["metadata"]["generation"] = 2
    show_group(loop, raw_group, 3)
    (report,) = filter_intents(loop.step(NOW + 60), ReportGroup)
    assert (report.generation, report.since) == (2, "then")


def test_each_decision_is_of_its_own_pod_and_explained_beside_those_before_it() -> None:
    loop = started("a")
    create(loop, *members(2, requests=THREE_CPUS))
    first, second = [report.decision for report in filter_intents(loop.step(NOW), ReportPod)]
    assert (first.uid, second.uid) == ("uid of gang-0", "uid of gang-1")
    assert loop.explain_pod(first.uid, NOW).explanation.best == [0]
    judged = loop.explain_pod(second.uid, NOW)
    assert judged.explanation.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert judged.snapshot.pods.slots.keys() == {"default/gang-0"}
    assert loop.snapshot.pods.slots == {}


def test_a_placed_gang_is_explained_as_it_was_tried() -> None:
    loop = started("a")
    create(loop, *members(2))
    loop.step(NOW)
    assert loop.explain_pod("uid of gang-0", NOW).snapshot.pods.slots == {}
    assert loop.explain_pod("uid of gang-1", NOW).snapshot.pods.slots.keys() == {"default/gang-0"}
    assert loop.snapshot.pods.slots.keys() == {"default/gang-0", "default/gang-1"}
    assert loop.explain_pod("uid of gang-0", NOW + 1).snapshot.pods.slots.keys() == {"default/gang-1"}


def test_durations_are_those_of_each_pod() -> None:
    ticks = iter(range(1000))
    loop = live(WITH_GROUPS, clock=lambda: float(next(ticks)))
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    show_group(loop, group("gang"))
    create(loop, *members(2))
    first, other = [bind.decision.durations for bind in filter_intents(loop.step(NOW), BindPod)]
    assert first is not other
    assert first.keys() == other.keys() >= {"PreFilter", "Filter", "Reserve", "Permit"}
    assert (first["Reserve"], first["Permit"]) == (1.0, 1.0)


def test_late_pods_of_a_placed_group_are_tried_at_once_and_the_group_stays_placed() -> None:
    loop = started("a")
    create(loop, *members(2))
    loop.step(NOW)
    create(loop, member("gang-2", requests={"cpu": "9"}))
    intents = loop.step(NOW)
    assert names(intents, ReportPod) == ["gang-2"]
    assert filter_intents(intents, ReportGroup) == []
    # Nor does an object that is older than the condition change that.
    show_group(loop, group("gang"), 2)
    create(loop, member("gang-3", requests={"cpu": "9"}))
    assert filter_intents(loop.step(NOW + 20), ReportGroup) == []


def test_a_failed_binding_of_one_pod_leaves_the_others() -> None:
    loop = started("a")
    create(loop, *members(2))
    loop.step(NOW)
    loop.on_bound("uid of gang-0", NOW)
    (report,) = filter_intents(loop.bind_failed("uid of gang-1", "refused", NOW), ReportPod)
    assert (report.reason, report.message) == ("SchedulerError", "refused")
    condition = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    show_group(loop, group("gang") | {"status": {"conditions": [condition]}}, 2)
    next_intents = loop.step(NOW)
    assert names(next_intents, BindPod) == ["gang-1"]
    assert filter_intents(next_intents, ReportGroup) == []


def test_held_pods_wait_each_for_its_own_answer() -> None:
    loop = started("a")
    create(loop, member("gang-0"), *(member(f"gang-{number}", labels={HOLDER: "x"}) for number in (1, 2)))
    intents = loop.step(NOW)
    assert (names(intents, BindPod), names(intents, HoldPod)) == (["gang-0"], ["gang-1", "gang-2"])
    assert filter_intents(intents, WaitAtPermit) == []
    assert names(loop.allow_pod("uid of gang-2", HOLDER, NOW), BindPod) == ["gang-2"]
    (report,) = filter_intents(loop.reject_pod("uid of gang-1", HOLDER, "not today", NOW), ReportPod)
    assert report.message == "0/1 nodes are available: 1 not today."
    assert loop.depths.waiting == 0


def test_a_denied_member_is_asked_about_again_when_it_changes_or_has_waited_for_long() -> None:
    loop = started("a")
    create(loop, member("gang-0"), member("gang-1", labels={HOLDER: "x"}))
    assert names(loop.step(NOW), HoldPod) == ["gang-1"]
    loop.reject_pod("uid of gang-1", HOLDER, "not today", NOW)
    assert (loop.depths.unschedulable, loop.step(NOW + 20)) == (1, [])
    assert names(loop.step(NOW + 400), HoldPod) == ["gang-1"]
    loop.reject_pod("uid of gang-1", HOLDER, "not today", NOW + 400)
    loop.apply_object("Pod", versioned(member("gang-1", labels={HOLDER: "y"}), 2), NOW + 400)
    assert names(loop.step(NOW + 420), HoldPod) == ["gang-1"]
    loop.reject_pod("uid of gang-1", HOLDER, "not today", NOW + 420)
    # Another pod of its group is tried at once, and it with that one.
    loop.apply_object("Pod", versioned(member("gang-2")), NOW + 420)
    intents = loop.step(NOW + 420)
    assert (names(intents, BindPod), names(intents, HoldPod)) == (["gang-2"], ["gang-1"])


def test_one_that_permit_refuses_lets_the_others_wait_for_it() -> None:
    loop = live(WITH_GROUPS)
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    show_group(loop, group("gang", 3))
    create(loop, *members(2), member("gang-2", labels={WAITER: "x"}))
    # The third one makes up the number: the others need not wait for the plugin that keeps it.
    intents = loop.step(NOW)
    assert (names(intents, BindPod), names(intents, WaitAtPermit)) == (["gang-0", "gang-1"], ["gang-2"])
    assert filter_intents(intents, WaitAtPermit)[0].plugins == (WAITER,)


class Once:
    """Refuses the pods with the label ``Waiter`` at Permit the first time."""

    name = WAITER

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        if self.name not in cycle.pod.labels or cycle.pod.uid in self.refused:
            return SUCCESS, 0.0
        self.refused.add(cycle.pod.uid)
        return unschedulable("not yet"), 0.0


def refusing(gang: dict) -> LiveLoop:
    once = Once()
    loop = LiveLoop(
        WITH_GROUPS, registry={**make_registry(WITH_GROUPS), WAITER: lambda args: once}, holds=frozenset({HOLDER})
    )
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    show_group(loop, gang)
    return loop


def test_too_few_after_permit_wait_for_the_one_that_was_refused() -> None:
    loop = refusing(group("gang", 3))
    create(loop, *members(2), member("gang-2", labels={WAITER: "x"}))
    intents = loop.step(NOW)
    assert (names(intents, BindPod), names(intents, WaitAtPermit), names(intents, ReportPod)) == (
        [],
        ["gang-0", "gang-1"],
        ["gang-2"],
    )
    assert {intent.plugins for intent in filter_intents(intents, WaitAtPermit)} == {("GangScheduling",)}
    # It is tried again at once beside those that wait, and all go.
    assert sorted(names(loop.step(NOW), BindPod)) == ["gang-0", "gang-1", "gang-2"]


def test_those_that_wait_for_the_others_in_vain_go_back_after_five_minutes() -> None:
    loop = refusing(group("gang", 2))
    create(loop, member("gang-0"), member("gang-1", labels={WAITER: "x"}))
    assert names(loop.step(NOW), WaitAtPermit) == ["gang-0"]
    loop.delete_object("Pod", versioned(member("gang-1")), NOW)
    assert loop.step(NOW + 299) == []
    (report,) = filter_intents(loop.pass_time(NOW + 301), ReportPod)
    assert report.message.endswith("rejected due to timeout after waiting 5m0s at plugin GangScheduling.")
    assert (loop.depths.waiting, loop.depths.gated) == (0, 1)


def test_a_group_makes_room_on_all_nodes_together() -> None:
    gang = group("gang", priority=100)
    loop = started("a", "b", gang=gang)
    for name, on in (("low-0", "a"), ("low-1", "b")):
        loop.apply_object("Pod", versioned(pod(name, on=on, requests=THREE_CPUS)), NOW)
    create(loop, *members(2, requests=THREE_CPUS, priority=100))
    intents = loop.step(NOW)
    assert names(intents, EvictPod) == ["low-0", "low-1"]
    for evict in filter_intents(intents, EvictPod):
        assert (evict.preemptor, evict.preemptor.kind) == (GroupRef("default", "gang", "uid of gang"), "podgroup")
        assert (evict.node, evict.scheduler) == ("cluster", "default-scheduler")
    assert {report.nominated for report in filter_intents(intents, ReportPod)} == {"a", "b"}
    assert read_report(intents)[:2] == ("False", "Unschedulable")
    # An eviction that fails lets the group be tried at once.
    loop.activate_pod("uid of gang", NOW)
    assert loop.depths.active == 2
    for name in ("low-0", "low-1"):
        loop.delete_object("Pod", versioned(pod(name)), NOW)
    assert names(loop.step(NOW), BindPod) == ["gang-0", "gang-1"]


def test_devices_that_keep_a_group_out_are_to_be_given_back_by_the_pods_that_have_them() -> None:
    loop = started("a", "b", gang=group("gang", 2))
    for raw in [*gpus("a", "b"), gpu_claim("one", "a", 0), gpu_claim("two", "a", 1)]:
        loop.apply_object(raw["kind"], versioned(raw), NOW)
    create(loop, with_gpu("gang-0", "one", requests=THREE_CPUS), with_gpu("gang-1", "two", requests=THREE_CPUS))
    freed = filter_intents(loop.step(NOW), FreeDevices)
    assert [(release_intent.pod.name, release_intent.claim.claim) for release_intent in freed] == [
        ("gang-0", "one"),
        ("gang-1", "two"),
    ]
    assert filter_intents(loop.step(NOW + 60.0), BindPod) == []  # nothing is given back before the cluster shows it


def test_a_pod_that_waits_at_permit_gives_way_to_a_group() -> None:
    loop = started("a", gang=group("gang", priority=100))
    create(loop, pod("low", requests=THREE_CPUS, labels={HOLDER: "x"}))
    assert names(loop.step(NOW), HoldPod) == ["low"]
    create(loop, *members(2, requests={"cpu": "2"}, priority=100))
    intents = loop.step(NOW)
    assert (names(intents, Superseded), filter_intents(intents, EvictPod)) == (["low"], [])
    assert names(loop.step(NOW + 20), BindPod) == ["gang-0", "gang-1"]


def test_deleted_pods_and_groups() -> None:
    loop = started("a")
    create(loop, *members(2))
    assert loop.delete_object("Pod", versioned(member("gang-1")), NOW) == []
    # It was complete before: kube-scheduler tries it once more.
    assert names(loop.step(NOW), ReportPod) == ["gang-0"]
    assert loop.depths.gated == 1
    create(loop, member("gang-9"))
    loop.delete_object("PodGroup", versioned(group("gang")), NOW)
    assert (loop.step(NOW), loop.depths.gated) == ([], 2)
    show_group(loop, group("gang", 3), 2)
    assert (loop.step(NOW), loop.depths.gated) == ([], 2)
    show_group(loop, group("gang", 2), 3)
    assert names(loop.step(NOW), BindPod) == ["gang-0", "gang-9"]
    assert loop.delete_object("PodGroup", versioned(group("gang", 2), 4), NOW) == []
    assert loop.depths.binding == 2


def test_a_deleted_member_frees_its_node_while_others_are_held() -> None:
    loop = started("a")
    create(loop, *members(2, requests={"cpu": "2"}, labels={HOLDER: "x"}))
    assert len(filter_intents(loop.step(NOW), HoldPod)) == 2
    assert names(loop.delete_object("Pod", versioned(member("gang-1")), NOW), Superseded) == ["gang-1"]
    assert loop.snapshot.pods.slots.keys() == {"default/gang-0"}
    assert names(loop.allow_pod("uid of gang-0", HOLDER, NOW), BindPod) == ["gang-0"]


def test_leadership_lost_and_won_tries_the_group_anew() -> None:
    loop = started("a")
    create(loop, *members(3, labels={HOLDER: "x"}))
    assert len(filter_intents(loop.step(NOW), HoldPod)) == 3
    loop.forget_reservations(NOW)
    assert (loop.depths.waiting, loop.depths.active, loop.snapshot.pods.slots) == (0, 3, {})
    assert loop.restore_reservation("uid of gang-1", "a", HOLDER, NOW + HOUR, NOW) == []
    assert loop.depths.active == 2
    assert names(loop.step(NOW), HoldPod) == ["gang-0", "gang-2"]
    for number in range(3):
        assert len(loop.allow_pod(f"uid of gang-{number}", HOLDER, NOW)) == 1
    assert loop.depths.binding == 3


def test_a_lost_node_takes_back_who_waits_for_it() -> None:
    loop = started("a", "b")
    create(loop, *members(2, requests=THREE_CPUS, labels={HOLDER: "x"}))
    held_nodes = {intent.pod.name: intent.node for intent in filter_intents(loop.step(NOW), HoldPod)}
    intents = loop.delete_object("Node", versioned(node(held_nodes["gang-1"])), NOW)
    assert names(intents, Superseded) == ["gang-1"]
    assert names(loop.step(NOW), ReportPod) == ["gang-1"]
    assert loop.depths.waiting == 1


def test_pods_that_cannot_be_a_group_are_told_so_before_a_terminating_one_is_left_out() -> None:
    loop = started("a", "b")
    pods = [*members(1), member("gang-1", priority=5), member("gang-2")]
    pods[2]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    create(loop, *pods)
    reports = filter_intents(loop.step(NOW), ReportPod)
    assert {report.pod.name for report in reports} == {"gang-0", "gang-1", "gang-2"}
    assert {report.reason for report in reports} == {"SchedulerError"}


def test_a_terminating_pod_is_left_out() -> None:
    loop = started("a")
    raws = members(3)
    raws[1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    create(loop, *raws)
    intents = loop.step(NOW)
    (skipped,) = filter_intents(intents, ReportPod)
    assert (skipped.reason, skipped.message) == ("", "skip schedule deleting pod: default/gang-1")
    assert names(intents, BindPod) == ["gang-0", "gang-2"]


def test_pods_without_a_group_go_as_ever() -> None:
    loop = started("a")
    create(loop, pod("alone", requests=ONE_CPU))
    assert [type(intent) for intent in loop.step(NOW)] == [BindPod]


def test_a_group_that_cannot_be_read_is_told_of() -> None:
    loop = started("a", gang=group("gang", resourceClaims=[{"name": "x"}]))
    assert "feature gate DRAWorkloadResourceClaims" in loop.problems["PodGroup", "default/gang"]
    create(loop, *members(2))
    assert loop.step(NOW) == []


def test_a_tree_of_groups_goes_as_one_and_each_of_its_groups_is_reported() -> None:
    loop = live(configured(IN_TREES))
    loop.replace_objects("Node", [versioned(node(name)) for name in "ab"], NOW)
    create(loop, member("one-0", "one", requests=THREE_CPUS), member("two-0", "two", requests=THREE_CPUS))
    for raw in (part("one", at_least=1), part("two", at_least=1)):
        show_group(loop, raw)
    assert (loop.step(NOW), loop.depths.gated) == ([], 2)
    assert loop.apply_object("CompositePodGroup", versioned(composite("root")), NOW) == []
    intents = loop.step(NOW)
    reports = filter_intents(intents, ReportGroup)
    assert {intent.node for intent in filter_intents(intents, BindPod)} == {"a", "b"}
    assert [(report.group.kind, report.group.name, report.reason) for report in reports] == [
        ("compositepodgroup", "root", "Scheduled"),
        ("podgroup", "one", "Scheduled"),
        ("podgroup", "two", "Scheduled"),
    ]
