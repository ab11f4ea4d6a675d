"""The scheduling queue's rules, one by one."""

from __future__ import annotations

from kschedweb.engine.framework.events import ASSIGNED_POD_DELETE, NODE_ADD, Action, ClusterEvent
from kschedweb.engine.objects.node import Node
from kschedweb.engine.queue import QueueTiming, SchedulingQueue
from tests.engine.builders import node
from tests.engine.queue.queues import FIT, make_pod, pop_pod, queue, reject_pod

BOUND = make_pod("bound", on="one")


def keys(waiting_in: SchedulingQueue) -> list[str]:
    """All pods that can be popped, in the order in which they are."""
    found = []
    while (queued := waiting_in.pop()) is not None:
        found.append(queued.pod.name)
    return found


def test_the_higher_priority_goes_first_and_of_equals_the_earlier() -> None:
    one = queue()
    one.add(make_pod("late-low", priority=1), 1.0)
    one.add(make_pod("late-high", priority=2), 2.0)
    one.add(make_pod("early-high", priority=2), 0.5)
    assert keys(one) == ["early-high", "late-high", "late-low"]


def test_pods_of_the_same_moment_keep_their_order() -> None:
    one = queue()
    for name in "dacb":
        one.add(make_pod(name), 0.0)
    assert keys(one) == list("dacb")


def test_a_rejected_pod_waits_for_an_event_that_may_help() -> None:
    one = queue()
    reject_pod(one, "pod")
    assert one.pop() is None
    one.move_all_to_active_or_backoff(
        ClusterEvent("Node", Action.NODE_ANNOTATION), Node.from_json(node("n")), Node.from_json(node("n")), 20.0
    )
    assert one.pop() is None
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 20.0)
    assert keys(one) == ["pod"]


def test_an_event_before_backoff_ends_sends_the_pod_to_backoff() -> None:
    one = queue()
    reject_pod(one, "pod", now=0.0)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.5)
    assert "default/pod" in one.backoff
    assert not len(one.active)


def test_backoff_ends_with_the_window_that_it_ends_in() -> None:
    one = queue()
    reject_pod(one, "pod", now=0.4)  # one second of backoff: until 1.4, so through the window from 1 to 2
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.5)
    assert one.next_flush(0.5) == 2.0
    one.flush(1.9)
    assert "default/pod" in one.backoff
    one.flush(2.0)
    assert "default/pod" in one.active


def test_backoff_doubles_up_to_its_limit() -> None:
    one = queue(QueueTiming(initial_backoff=1, longest_backoff=10))
    assert [one.backoff.calculate_backoff_duration(count) for count in range(7)] == [0, 1, 2, 4, 8, 10, 10]
    assert one.backoff.calculate_backoff_duration(5000) == 10


def test_a_pod_that_backs_off_is_taken_early_when_none_is_active() -> None:
    one = queue()
    reject_pod(one, "pod", now=0.0)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    one.add(make_pod("fresh"), 0.2)
    assert keys(one) == ["fresh", "pod"]


def test_a_pod_that_failed_with_an_error_is_not_taken_early() -> None:
    one = queue()
    one.add(make_pod("pod"), 0.0)
    one.put_back(pop_pod(one), 0.0)
    assert one.pop() is None
    one.flush(2.0)
    assert keys(one) == ["pod"]


def test_errors_count_for_themselves_and_end_with_a_rejection() -> None:
    one = queue()
    one.add(make_pod("pod"), 0.0)
    now = 0.0
    waits = []
    for by in ([FIT], [], [], [], [FIT]):
        queued = pop_pod(one)
        one.put_back(queued, now, by)
        if by:
            one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, now)
        waits.append(one.backoff.get_backoff_time(queued) - now)
        now = one.next_flush(now) or now
        one.flush(now)
    assert waits == [1, 1, 2, 4, 2]


def test_backoff_goes_by_priority_within_a_window() -> None:
    one = queue()
    for name, now, priority in (("a", 0.1, 1), ("b", 0.2, 2), ("c", 0.3, 1)):
        reject_pod(one, make_pod(name, priority=priority), now)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.6)
    assert len(one.backoff) == 3
    assert keys(one) == ["b", "a", "c"]


def test_an_event_while_the_pod_is_in_flight_is_not_lost() -> None:
    one = queue()
    one.add(make_pod("pod"), 0.0)
    queued = pop_pod(one)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    one.put_back(queued, 0.2, {FIT})
    assert "default/pod" in one.backoff


def test_an_event_before_the_pod_was_taken_says_nothing_about_it() -> None:
    one = queue()
    one.add(make_pod("other"), 0.0)
    other = pop_pod(one)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    one.add(make_pod("pod"), 0.2)
    one.put_back(pop_pod(one), 0.3, {FIT})
    assert "default/pod" in one.unschedulable
    one.put_back(other, 0.4, {FIT})
    assert "default/other" in one.backoff


def test_events_are_forgotten_with_the_last_pod_they_may_concern() -> None:
    one = queue()
    for name in "ab":
        one.add(make_pod(name), 0.0)
    first, second = pop_pod(one), pop_pod(one)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    one.mark_done(first.pod.uid)
    assert len(one.in_flight.events) == 1
    one.mark_done(second.pod.uid)
    assert not one.in_flight.events
    assert not one.in_flight


def test_a_pod_is_tried_again_after_five_minutes_of_nothing() -> None:
    one = queue()
    queued = reject_pod(one, "pod", now=0.0)
    for now in (30.0, 270.0, 300.0):
        one.flush(now)
        assert "default/pod" in one.unschedulable
    assert one.next_flush(300.0) == 330.0
    one.flush(330.0)
    assert queued.flushed
    assert keys(one) == ["pod"]


def test_old_pods_are_looked_for_only_each_thirty_seconds() -> None:
    one = queue()
    reject_pod(one, "pod", now=1.0)
    one.flush(300.0)
    one.flush(329.0)
    assert "default/pod" in one.unschedulable
    one.flush(330.0)
    assert "default/pod" in one.active


def test_a_gated_pod_waits_until_its_last_gate_is_gone() -> None:
    one = queue()
    gates = [{"name": "a"}, {"name": "b"}]
    states = [make_pod("pod", schedulingGates=gates[start:]) for start in range(3)]
    one.add(states[0], 0.0)
    assert one.pop() is None
    one.update(states[0], states[1], 1.0)
    assert one.pop() is None
    one.update(states[1], states[2], 2.0)
    queued = pop_pod(one)
    assert (queued.pod, queued.gating, queued.attempts) == (states[2], "", 1)


def test_a_gated_pod_is_not_woken_by_what_does_not_open_its_gate() -> None:
    one = queue()
    one.add(make_pod("pod", schedulingGates=[{"name": "a"}]), 0.0)
    one.move_all_to_active_or_backoff(NODE_ADD, None, Node.from_json(node("n")), 1.0)
    one.flush(600.0)
    assert "default/pod" in one.unschedulable


def test_a_pod_that_changes_while_active_is_tried_as_it_is_now() -> None:
    one = queue()
    old, new = make_pod("pod"), make_pod("pod", labels={"a": "b"})
    one.add(old, 0.0)
    one.update(old, new, 1.0)
    assert pop_pod(one).pod is new
    assert one.pop() is None


def test_a_pod_that_changes_in_flight_comes_back_as_it_is_now() -> None:
    one = queue()
    old = make_pod("pod", requests={"cpu": "2"})
    new = make_pod("pod", requests={"cpu": "1"})
    one.add(old, 0.0)
    queued = pop_pod(one)
    one.update(old, new, 0.1)
    one.put_back(queued, 0.2, {FIT})
    assert queued.pod is new
    assert "default/pod" in one.backoff  # it asks for less now


def test_an_unknown_pod_that_changes_is_taken_in() -> None:
    one = queue()
    one.update(make_pod("pod"), make_pod("pod"), 0.0)
    assert keys(one) == ["pod"]


def test_activating_ends_any_wait() -> None:
    one = queue()
    reject_pod(one, "parked", now=0.0)
    one.add(make_pod("failed"), 0.0)
    one.put_back(pop_pod(one), 0.0)
    one.activate([make_pod("parked"), make_pod("failed"), make_pod("unknown")], 0.1)
    assert sorted(keys(one)) == ["failed", "parked"]


def test_activating_a_pod_in_flight_concerns_that_pod_alone() -> None:
    one = queue()
    for name in "ab":
        one.add(make_pod(name), 0.0)
    first, second = pop_pod(one), pop_pod(one)
    one.activate([first.pod], 0.1)
    one.put_back(first, 0.2, {FIT})
    one.put_back(second, 0.2, {FIT})
    assert "default/a" in one.backoff
    assert "default/b" in one.unschedulable


def test_a_deleted_pod_is_nowhere_and_nominated_nowhere() -> None:
    one = queue()
    queued = reject_pod(one, "pod")
    one.nominator.add_nominated_pod(queued.pod, "one")
    one.delete(queued.pod)
    assert one.pop() is None
    assert len(one.unschedulable) == len(one.nominator) == 0


def test_a_nomination_written_in_the_object_counts_from_the_start() -> None:
    one = queue()
    raw = make_pod("pod").raw
    nominated = type(BOUND).from_json({**raw, "status": {"nominatedNodeName": "one"}})
    one.add(nominated, 0.0)
    assert one.nominator.nominated_pods_for_node("one") == (nominated,)


def test_only_the_pods_meant_are_woken() -> None:
    one = queue()
    for name, priority in (("low", 1), ("high", 9)):
        reject_pod(one, make_pod(name, priority=priority), now=0.0)
    one.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 50.0, only=lambda pod: pod.priority <= 5)
    assert keys(one) == ["low"]
