"""Groups in the queue: their pods wait together, are tried together, and come back together."""

from __future__ import annotations

import math

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import ASSIGNED_POD_DELETE, POD_GROUP_ADD, UNSCHEDULED_POD_ADD
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod, QueueTiming
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import pod
from tests.engine.gangs import IN_TREES, composite, configured, group, member, members, part, read_group

HOUR = 3600.0


def queue(*groups: dict, timing: QueueTiming | None = None, gates: dict[str, bool] | None = None) -> GroupQueue:
    configuration = configured(gates)
    profile, release = configuration.profiles[0], configuration.release
    cluster = ClusterObjects()
    for pod_group in groups:
        cluster.add(pod_group)
    frameworks = {profile.scheduler_name: Framework(profile, release.factories)}
    return GroupQueue(frameworks, cluster, timing, behaviour=release.behaviour, composites=release.has_composite_groups)


def come(group_queue: GroupQueue, *raws: dict, now: float = 0.0) -> list[Pod]:
    pods = [Pod.from_json(raw) for raw in raws]
    for new_pod in pods:
        group_queue.cluster.groups.add_member(new_pod)
        group_queue.add(new_pod, now)
        group_queue.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, new_pod, now)
    return pods


def pop_group(group_queue: GroupQueue) -> QueuedGroup:
    entity = group_queue.pop_entity()
    assert isinstance(entity, QueuedGroup)
    return entity


def names(queued_group: QueuedGroup) -> list[str]:
    return [queued_pod.name for queued_pod in queued_group.pods]


def failed(group_queue: GroupQueue, queued_group: QueuedGroup, now: float) -> None:
    for queued_pod in list(queued_group.members):
        group_queue.put_back(queued_pod, now, {"NodeResourcesFit"})
    group_queue.conclude_group(queued_group, now, placed=False, rejected=True)


def test_the_pods_of_a_gang_enter_together_once_enough_are_there() -> None:
    group_queue = queue(group("gang", 3))
    come(group_queue, *members(2))
    assert group_queue.pop_entity() is None
    assert group_queue.count_pods() == (0, 0, 0, 2)
    come(group_queue, member("last"), now=1.0)
    assert group_queue.count_pods() == (3, 0, 0, 0)
    assert names(pop_group(group_queue)) == ["gang-0", "gang-1", "last"]
    assert group_queue.pop_entity() is None


def test_pods_wait_for_their_group() -> None:
    group_queue = queue()
    come(group_queue, *members(2))
    assert (group_queue.pop_entity(), group_queue.count_pods()) == (None, (0, 0, 0, 2))
    gang = read_group("gang", 2)
    group_queue.cluster.groups.put_group(gang)
    group_queue.add_group(gang, 1.0)
    group_queue.move_all_to_active_or_backoff(POD_GROUP_ADD, None, gang, 1.0)
    assert names(pop_group(group_queue)) == ["gang-0", "gang-1"]


def test_priority_then_time_decides_between_groups_and_pods() -> None:
    group_queue = queue(group("gang", 2), group("high", 1, priority=5))
    come(group_queue, member("gang-0"), now=0.0)
    come(group_queue, pod("alone"), now=1.0)
    come(group_queue, member("gang-1"), now=2.0)
    come(group_queue, *members(1, "high", priority=5), now=3.0)
    order = [group_queue.pop_entity() for _ in range(3)]
    assert [entity.key for entity in order if entity] == [
        "podgroup/default/high",
        "podgroup/default/gang",
        "default/alone",
    ]


def test_a_group_backs_off_longer_the_more_pods_it_has() -> None:
    group_queue = queue(group("gang", 4), timing=QueueTiming(1.0, 10.0))
    come(group_queue, *members(4))
    assert group_queue.backoff.calculate_backoff_duration(4, 4) == 8.0
    assert group_queue.backoff.calculate_backoff_duration(9, 4) == 10.0 * math.sqrt(4)
    assert group_queue.backoff.calculate_backoff_duration(9) == 10.0
    now = 0.0
    for waits in (1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0):
        queued_group = pop_group(group_queue)
        failed(group_queue, queued_group, now)
        assert group_queue.pop_entity() is None, "a group that backs off is not taken early"
        assert group_queue.count_pods() == (0, 4, 0, 0)
        group_queue.flush(now + waits)
        assert group_queue.pop_entity() is None
        now += waits + 1.0
        group_queue.flush(now)
        assert group_queue.count_pods() == (4, 0, 0, 0)


def test_what_is_left_of_a_placed_group_is_tried_again_at_once_in_its_turn() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, *members(3))
    queued_group = pop_group(group_queue)
    group_queue.mark_done(queued_group.members[0].pod.uid)
    for queued_pod in queued_group.members[1:]:
        group_queue.put_back(queued_pod, 5.0, {"NodeResourcesFit"})
    group_queue.conclude_group(queued_group, 5.0, placed=True, rejected=False)
    second_group = pop_group(group_queue)
    assert (names(second_group), second_group.queued, second_group.unschedulable) == (["gang-1", "gang-2"], 0.0, 0)


def test_a_pod_that_comes_while_its_group_is_tried_waits_for_the_next_try() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, member("first"))
    queued_group = pop_group(group_queue)
    come(group_queue, member("second"), now=1.0)
    assert group_queue.pop_entity() is None
    group_queue.mark_done(queued_group.members[0].pod.uid)
    group_queue.conclude_group(queued_group, 2.0, placed=True, rejected=False)
    second_group = pop_group(group_queue)
    assert (names(second_group), second_group.queued) == (["second"], 2.0)


def test_a_pod_whose_binding_fails_later_is_a_group_again() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, member("first"))
    queued_group = pop_group(group_queue)
    group_queue.conclude_group(queued_group, 1.0, placed=True, rejected=False)
    group_queue.put_back(queued_group.members[0], 9.0)
    assert names(pop_group(group_queue)) == ["first"]


def test_pods_that_were_tried_more_often_come_first() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, member("z"))
    failed(group_queue, pop_group(group_queue), 0.0)
    come(group_queue, member("a"), now=3.0)
    group_queue.flush(3.0)
    assert names(pop_group(group_queue)) == ["z", "a"]


def test_a_pod_that_is_deleted_leaves_its_group() -> None:
    group_queue = queue(group("gang", 2))
    pods = come(group_queue, *members(3))
    group_queue.delete(pods[1])
    assert names(pop_group(group_queue)) == ["gang-0", "gang-2"]
    group_queue = queue(group("gang", 1))
    pods = come(group_queue, *members(1))
    group_queue.delete(pods[0])
    assert (group_queue.pop_entity(), group_queue.count_pods()) == (None, (0, 0, 0, 0))


def test_a_group_that_is_deleted_leaves_its_pods_waiting() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, *members(2))
    gang = group_queue.cluster.groups.remove_group("default/gang")
    assert gang is not None
    group_queue.delete_group(gang)
    assert (group_queue.pop_entity(), group_queue.count_pods()) == (None, (0, 0, 0, 2))


def test_a_change_of_a_pod_may_open_the_gate_of_its_group() -> None:
    group_queue = queue(group("gang", 2))
    gated = member("gated", schedulingGates=[{"name": "wait"}])
    old = come(group_queue, member("free"), gated)[1]
    assert group_queue.pop_entity() is None
    group_queue.update(old, Pod.from_json(member("gated")), 1.0)
    assert sorted(names(pop_group(group_queue))) == ["free", "gated"]


def test_a_changed_pod_is_the_one_that_is_tried() -> None:
    group_queue = queue(group("gang", 1))
    old = come(group_queue, member("p"))[0]
    new = Pod.from_json(member("p", labels={"new": "yes"}))
    group_queue.update(old, new, 1.0)
    assert pop_group(group_queue).pods == [new]


def test_a_group_is_activated_with_any_of_its_pods() -> None:
    group_queue = queue(group("gang", 2), timing=QueueTiming(100.0, 100.0))
    pods = come(group_queue, *members(2))
    failed(group_queue, pop_group(group_queue), 0.0)
    assert group_queue.pop_entity() is None
    group_queue.activate(pods[:1], 1.0)
    assert names(pop_group(group_queue)) == ["gang-0", "gang-1"]


def test_pods_without_a_group_are_queued_as_before() -> None:
    group_queue = queue()
    come(group_queue, pod("p"))
    queued = group_queue.pop()
    assert isinstance(queued, QueuedPod)
    group_queue.put_back(queued, 0.0, {"NodeResourcesFit"})
    assert group_queue.count_pods() == (0, 0, 1, 0)
    group_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, Pod.from_json(pod("gone", on="a")), None, 5.0)
    assert group_queue.pop() is queued


def test_the_newest_object_of_the_group_counts() -> None:
    group_queue = queue(group("gang", 1))
    come(group_queue, *members(1))
    new = PodGroup.from_json(group("gang", 1, topology="zone"))
    group_queue.cluster.groups.put_group(new)
    group_queue.update_group(new)
    assert pop_group(group_queue).group is new


# Groups of groups.


def follow(group_queue: GroupQueue, raw: dict, now: float = 0.0) -> PodGroup:
    """Create the group, or replace the one with its name."""
    new = PodGroup.from_json(raw)
    old = group_queue.cluster.groups.refresh(new)
    group_queue.cluster.groups.put_group(new)
    group_queue.follow_group(old, new, now)
    return new


def remove(group_queue: GroupQueue, group_of: PodGroup, now: float = 0.0) -> None:
    group_queue.cluster.groups.remove_group(group_of.key, group_of.kind)
    group_queue.follow_group(group_of, None, now)


def test_the_pods_of_a_tree_enter_together_once_all_groups_up_to_its_root_are_there() -> None:
    group_queue = queue(gates=IN_TREES)
    come(group_queue, *members(2, "a"), *members(2, "b"))
    for raw in (part("a"), part("b", "middle"), composite("middle", 1, parent="root")):
        follow(group_queue, raw)
        assert (group_queue.pop_entity(), group_queue.count_pods()) == (None, (0, 0, 0, 4))
    follow(group_queue, composite("root"))
    entity = pop_group(group_queue)
    assert (entity.key, sorted(names(entity))) == ("compositepodgroup/default/root", ["a-0", "a-1", "b-0", "b-1"])
    assert group_queue.pop_entity() is None


def test_a_tree_waits_until_enough_of_its_groups_are_ready() -> None:
    group_queue = queue(composite("root"), part("a"), part("b"), gates=IN_TREES)
    come(group_queue, *members(2, "a"), member("b-0", "b"))
    assert (group_queue.pop_entity(), group_queue.count_pods()) == (None, (0, 0, 0, 3))
    come(group_queue, member("b-1", "b"), now=1.0)
    assert len(pop_group(group_queue).members) == 4


def test_a_tree_that_asks_for_fewer_groups_is_tried() -> None:
    group_queue = queue(composite("root", 2), part("a"), part("b"), gates=IN_TREES)
    come(group_queue, *members(2, "a"))
    assert group_queue.pop_entity() is None
    follow(group_queue, composite("root", 1), now=1.0)
    assert names(pop_group(group_queue)) == ["a-0", "a-1"]


def test_the_pods_of_a_deleted_group_leave_its_tree_and_wait_for_it() -> None:
    group_queue = queue(composite("root", 1), part("a"), composite("middle", 1, parent="root"), gates=IN_TREES)
    leaf = follow(group_queue, part("b", "middle"))
    come(group_queue, *members(2, "a"), *members(2, "b"))
    assert group_queue.count_pods() == (4, 0, 0, 0)
    middle = PodGroup.from_json(composite("middle", 1, parent="root"))
    remove(group_queue, middle)
    assert group_queue.count_pods() == (2, 0, 0, 2)
    follow(group_queue, composite("middle", 1, parent="root"))
    remove(group_queue, leaf)
    assert group_queue.count_pods() == (2, 0, 0, 2)
    assert names(pop_group(group_queue)) == ["a-0", "a-1"]


def test_a_failed_tree_comes_back_as_one() -> None:
    group_queue = queue(composite("root"), part("a"), part("b"), gates=IN_TREES)
    come(group_queue, *members(2, "a"), *members(2, "b"))
    failed(group_queue, pop_group(group_queue), 1.0)
    assert group_queue.count_pods() == (0, 4, 0, 0)
    group_queue.flush(HOUR)
    assert len(pop_group(group_queue).members) == 4


def test_without_the_gate_a_group_is_tried_without_its_parent() -> None:
    group_queue = queue(part("a"))
    come(group_queue, *members(2, "a"))
    assert pop_group(group_queue).key == "podgroup/default/a"


def test_entities_are_counted_by_part_and_kind() -> None:
    group_queue = queue(composite("root"), part("a"), part("b"), group("gang", 3), gates=IN_TREES)
    come(group_queue, *members(2, "a"), *members(2, "b"), *members(2), pod("alone"))
    counts = {key: count for key, count in group_queue.count_entities().items() if count}
    assert counts == {("active", "compositepodgroup"): 1, ("active", "pod"): 1, ("gated", "podgroup"): 1}
    failed(group_queue, pop_group(group_queue), 1.0)
    assert group_queue.count_entities()["backoff", "compositepodgroup"] == 1
    assert ("active", "compositepodgroup") not in queue(group("gang")).count_entities()


def test_entities_that_come_in_are_counted_once_for_all_of_their_pods() -> None:
    """As recordIncomingEntitiesMetrics counts: not again where a strategy puts it into the part that it names."""
    group_queue = queue(composite("root"), part("a"), part("b"), group("gang", 3), gates=IN_TREES)
    come(group_queue, *members(2, "a"), *members(2, "b"), *members(2), pod("alone"))
    # The tree and the gang come with their first pods, which alone are not enough. Each further pod is an event that
    # may open the gate: it is looked at, and where the gate stays closed comes in again. Four pods are enough for the
    # tree.
    assert group_queue.incoming_entities == {
        ("unschedulable", "PodAdd", "compositepodgroup"): 1,
        ("unschedulable", "UnschedulablePodAdd", "compositepodgroup"): 3,
        ("active", "UnschedulablePodAdd", "compositepodgroup"): 1,
        ("unschedulable", "PodAdd", "podgroup"): 1,
        ("unschedulable", "UnschedulablePodAdd", "podgroup"): 2,
        ("active", "PodAdd", "pod"): 1,
    }
    failed(group_queue, pop_group(group_queue), 1.0)
    assert group_queue.incoming_entities["backoff", "ScheduleAttemptFailure", "compositepodgroup"] == 1
    assert group_queue.incoming["backoff", "ScheduleAttemptFailure"] == 4
