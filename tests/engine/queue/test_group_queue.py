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
from tests.engine.gangs import configured, group, member, members, read_group


def queue(*groups: dict, timing: QueueTiming | None = None) -> GroupQueue:
    profile = configured().profiles[0]
    cluster = ClusterObjects()
    for one in groups:
        cluster.add(one)
    release = configured().release
    frameworks = {profile.scheduler_name: Framework(profile, release.factories)}
    return GroupQueue(frameworks, cluster, timing, behaviour=release.behaviour)


def come(there: GroupQueue, *raws: dict, now: float = 0.0) -> list[Pod]:
    pods = [Pod.from_json(raw) for raw in raws]
    for one in pods:
        there.cluster.groups.add_member(one)
        there.add(one, now)
        there.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, one, now)
    return pods


def taken(there: GroupQueue) -> QueuedGroup:
    found = there.pop_entity()
    assert isinstance(found, QueuedGroup)
    return found


def names(found: QueuedGroup) -> list[str]:
    return [one.name for one in found.pods]


def failed(there: GroupQueue, found: QueuedGroup, now: float) -> None:
    for one in list(found.members):
        there.put_back(one, now, {"NodeResourcesFit"})
    there.conclude_group(found, now, placed=False, rejected=True)


def test_the_pods_of_a_gang_enter_together_once_enough_are_there() -> None:
    there = queue(group("gang", 3))
    come(there, *members(2))
    assert there.pop_entity() is None
    assert there.count_pods() == (0, 0, 0, 2)
    come(there, member("last"), now=1.0)
    assert there.count_pods() == (3, 0, 0, 0)
    assert names(taken(there)) == ["gang-0", "gang-1", "last"]
    assert there.pop_entity() is None


def test_pods_wait_for_their_group() -> None:
    there = queue()
    come(there, *members(2))
    assert (there.pop_entity(), there.count_pods()) == (None, (0, 0, 0, 2))
    gang = read_group("gang", 2)
    there.cluster.groups.put_group(gang)
    there.add_group(gang, 1.0)
    there.move_all_to_active_or_backoff(POD_GROUP_ADD, None, gang, 1.0)
    assert names(taken(there)) == ["gang-0", "gang-1"]


def test_priority_then_time_decides_between_groups_and_pods() -> None:
    there = queue(group("gang", 2), group("high", 1, priority=5))
    come(there, member("gang-0"), now=0.0)
    come(there, pod("alone"), now=1.0)
    come(there, member("gang-1"), now=2.0)
    come(there, *members(1, "high", priority=5), now=3.0)
    order = [there.pop_entity() for _ in range(3)]
    assert [one.key for one in order if one] == ["podgroup/default/high", "podgroup/default/gang", "default/alone"]


def test_a_group_backs_off_longer_the_more_pods_it_has() -> None:
    there = queue(group("gang", 4), timing=QueueTiming(1.0, 10.0))
    come(there, *members(4))
    assert there.backoff.calculate_backoff_duration(4, 4) == 8.0
    assert there.backoff.calculate_backoff_duration(9, 4) == 10.0 * math.sqrt(4)
    assert there.backoff.calculate_backoff_duration(9) == 10.0
    now = 0.0
    for waits in (1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0):
        found = taken(there)
        failed(there, found, now)
        assert there.pop_entity() is None, "a group that backs off is not taken early"
        assert there.count_pods() == (0, 4, 0, 0)
        there.flush(now + waits)
        assert there.pop_entity() is None
        now += waits + 1.0
        there.flush(now)
        assert there.count_pods() == (4, 0, 0, 0)


def test_what_is_left_of_a_placed_group_is_tried_again_at_once_in_its_turn() -> None:
    there = queue(group("gang", 1))
    come(there, *members(3))
    found = taken(there)
    there.mark_done(found.members[0].pod.uid)
    for one in found.members[1:]:
        there.put_back(one, 5.0, {"NodeResourcesFit"})
    there.conclude_group(found, 5.0, placed=True, rejected=False)
    again = taken(there)
    assert (names(again), again.queued, again.unschedulable) == (["gang-1", "gang-2"], 0.0, 0)


def test_a_pod_that_comes_while_its_group_is_tried_waits_for_the_next_try() -> None:
    there = queue(group("gang", 1))
    come(there, member("first"))
    found = taken(there)
    come(there, member("second"), now=1.0)
    assert there.pop_entity() is None
    there.mark_done(found.members[0].pod.uid)
    there.conclude_group(found, 2.0, placed=True, rejected=False)
    again = taken(there)
    assert (names(again), again.queued) == (["second"], 2.0)


def test_a_pod_whose_binding_fails_later_is_a_group_again() -> None:
    there = queue(group("gang", 1))
    come(there, member("first"))
    found = taken(there)
    there.conclude_group(found, 1.0, placed=True, rejected=False)
    there.put_back(found.members[0], 9.0)
    assert names(taken(there)) == ["first"]


def test_pods_that_were_tried_more_often_come_first() -> None:
    there = queue(group("gang", 1))
    come(there, member("z"))
    failed(there, taken(there), 0.0)
    come(there, member("a"), now=3.0)
    there.flush(3.0)
    assert names(taken(there)) == ["z", "a"]


def test_a_pod_that_is_deleted_leaves_its_group() -> None:
    there = queue(group("gang", 2))
    pods = come(there, *members(3))
    there.delete(pods[1])
    assert names(taken(there)) == ["gang-0", "gang-2"]
    there = queue(group("gang", 1))
    pods = come(there, *members(1))
    there.delete(pods[0])
    assert (there.pop_entity(), there.count_pods()) == (None, (0, 0, 0, 0))


def test_a_group_that_is_deleted_leaves_its_pods_waiting() -> None:
    there = queue(group("gang", 1))
    come(there, *members(2))
    gang = there.cluster.groups.remove_group("default/gang")
    assert gang is not None
    there.delete_group(gang)
    assert (there.pop_entity(), there.count_pods()) == (None, (0, 0, 0, 2))


def test_a_change_of_a_pod_may_open_the_gate_of_its_group() -> None:
    there = queue(group("gang", 2))
    gated = member("gated", schedulingGates=[{"name": "wait"}])
    old = come(there, member("free"), gated)[1]
    assert there.pop_entity() is None
    there.update(old, Pod.from_json(member("gated")), 1.0)
    assert sorted(names(taken(there))) == ["free", "gated"]


def test_a_changed_pod_is_the_one_that_is_tried() -> None:
    there = queue(group("gang", 1))
    old = come(there, member("p"))[0]
    new = Pod.from_json(member("p", labels={"new": "yes"}))
    there.update(old, new, 1.0)
    assert taken(there).pods == [new]


def test_a_group_is_activated_with_any_of_its_pods() -> None:
    there = queue(group("gang", 2), timing=QueueTiming(100.0, 100.0))
    pods = come(there, *members(2))
    failed(there, taken(there), 0.0)
    assert there.pop_entity() is None
    there.activate(pods[:1], 1.0)
    assert names(taken(there)) == ["gang-0", "gang-1"]


def test_pods_without_a_group_are_queued_as_before() -> None:
    there = queue()
    come(there, pod("p"))
    queued = there.pop()
    assert isinstance(queued, QueuedPod)
    there.put_back(queued, 0.0, {"NodeResourcesFit"})
    assert there.count_pods() == (0, 0, 1, 0)
    there.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, Pod.from_json(pod("gone", on="a")), None, 5.0)
    assert there.pop() is queued


def test_the_newest_object_of_the_group_counts() -> None:
    there = queue(group("gang", 1))
    come(there, *members(1))
    new = PodGroup.from_json(group("gang", 1, topology="zone"))
    there.cluster.groups.put_group(new)
    there.update_group(new)
    assert taken(there).group is new
