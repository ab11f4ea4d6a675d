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
    names = []
    while (queued := waiting_in.pop()) is not None:
        names.append(queued.pod.name)
    return names


def test_the_higher_priority_goes_first_and_of_equals_the_earlier() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("late-low", priority=1), 1.0)
    scheduling_queue.add(make_pod("late-high", priority=2), 2.0)
    scheduling_queue.add(make_pod("early-high", priority=2), 0.5)
    assert keys(scheduling_queue) == ["early-high", "late-high", "late-low"]


def test_pods_of_the_same_moment_keep_their_order() -> None:
    scheduling_queue = queue()
    for name in "dacb":
        scheduling_queue.add(make_pod(name), 0.0)
    assert keys(scheduling_queue) == list("dacb")


def test_a_rejected_pod_waits_for_an_event_that_may_help() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "pod")
    assert scheduling_queue.pop() is None
    scheduling_queue.move_all_to_active_or_backoff(
        ClusterEvent("Node", Action.NODE_ANNOTATION), Node.from_json(node("n")), Node.from_json(node("n")), 20.0
    )
    assert scheduling_queue.pop() is None
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 20.0)
    assert keys(scheduling_queue) == ["pod"]


def test_an_event_before_backoff_ends_sends_the_pod_to_backoff() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "pod", now=0.0)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.5)
    assert "default/pod" in scheduling_queue.backoff
    assert not len(scheduling_queue.active)


def test_backoff_ends_with_the_window_that_it_ends_in() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "pod", now=0.4)  # one second of backoff: until 1.4, so through the window from 1 to 2
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.5)
    assert scheduling_queue.next_flush(0.5) == 2.0
    scheduling_queue.flush(1.9)
    assert "default/pod" in scheduling_queue.backoff
    scheduling_queue.flush(2.0)
    assert "default/pod" in scheduling_queue.active


def test_backoff_doubles_up_to_its_limit() -> None:
    scheduling_queue = queue(QueueTiming(initial_backoff=1, longest_backoff=10))
    assert [scheduling_queue.backoff.calculate_backoff_duration(count) for count in range(7)] == [0, 1, 2, 4, 8, 10, 10]
    assert scheduling_queue.backoff.calculate_backoff_duration(5000) == 10


def test_a_pod_that_backs_off_is_taken_early_when_none_is_active() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "pod", now=0.0)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    scheduling_queue.add(make_pod("fresh"), 0.2)
    assert keys(scheduling_queue) == ["fresh", "pod"]
    assert scheduling_queue.incoming["active", "PopFromBackoffQ"] == 1


def test_a_pod_that_a_strategy_puts_where_it_says_is_counted_as_a_pod_but_as_no_entity() -> None:
    """As recordIncomingEntitiesMetrics counts."""
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "early", now=0.0)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    reject_pod(scheduling_queue, "late", now=0.2)
    assert "default/early" in scheduling_queue.backoff
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 20.0)
    assert scheduling_queue.incoming == {
        ("active", "PodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 2,
        ("backoff", "AssignedPodDelete"): 1,
        ("active", "AssignedPodDelete"): 1,
    }
    # The backoff of the second is over: its strategy names another part than the one it came into.
    assert scheduling_queue.incoming_entities == {
        ("active", "PodAdd", "pod"): 2,
        ("active", "AssignedPodDelete", "pod"): 1,
    }


def test_a_pod_that_failed_with_an_error_is_not_taken_early() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("pod"), 0.0)
    scheduling_queue.put_back(pop_pod(scheduling_queue), 0.0)
    assert scheduling_queue.pop() is None
    scheduling_queue.flush(2.0)
    assert keys(scheduling_queue) == ["pod"]


def test_errors_count_for_themselves_and_end_with_a_rejection() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("pod"), 0.0)
    now = 0.0
    waits = []
    for by in ([FIT], [], [], [], [FIT]):
        queued = pop_pod(scheduling_queue)
        scheduling_queue.put_back(queued, now, by)
        if by:
            scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, now)
        waits.append(scheduling_queue.backoff.get_backoff_time(queued) - now)
        now = scheduling_queue.next_flush(now) or now
        scheduling_queue.flush(now)
    assert waits == [1, 1, 2, 4, 2]


def test_backoff_goes_by_priority_within_a_window() -> None:
    scheduling_queue = queue()
    for name, now, priority in (("a", 0.1, 1), ("b", 0.2, 2), ("c", 0.3, 1)):
        reject_pod(scheduling_queue, make_pod(name, priority=priority), now)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.6)
    assert len(scheduling_queue.backoff) == 3
    assert keys(scheduling_queue) == ["b", "a", "c"]


def test_an_event_while_the_pod_is_in_flight_is_not_lost() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("pod"), 0.0)
    queued = pop_pod(scheduling_queue)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    scheduling_queue.put_back(queued, 0.2, {FIT})
    assert "default/pod" in scheduling_queue.backoff


def test_an_event_before_the_pod_was_taken_says_nothing_about_it() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("other"), 0.0)
    other = pop_pod(scheduling_queue)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    scheduling_queue.add(make_pod("pod"), 0.2)
    scheduling_queue.put_back(pop_pod(scheduling_queue), 0.3, {FIT})
    assert "default/pod" in scheduling_queue.unschedulable
    scheduling_queue.put_back(other, 0.4, {FIT})
    assert "default/other" in scheduling_queue.backoff


def test_events_are_forgotten_with_the_last_pod_they_may_concern() -> None:
    scheduling_queue = queue()
    for name in "ab":
        scheduling_queue.add(make_pod(name), 0.0)
    first, second = pop_pod(scheduling_queue), pop_pod(scheduling_queue)
    scheduling_queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, BOUND, None, 0.1)
    scheduling_queue.mark_done(first.pod.uid)
    assert len(scheduling_queue.in_flight.events) == 1
    scheduling_queue.mark_done(second.pod.uid)
    assert not scheduling_queue.in_flight.events
    assert not scheduling_queue.in_flight


def test_a_pod_is_tried_again_after_five_minutes_of_nothing() -> None:
    scheduling_queue = queue()
    queued = reject_pod(scheduling_queue, "pod", now=0.0)
    for now in (30.0, 270.0, 300.0):
        scheduling_queue.flush(now)
        assert "default/pod" in scheduling_queue.unschedulable
    assert scheduling_queue.next_flush(300.0) == 330.0
    scheduling_queue.flush(330.0)
    assert queued.flushed
    assert keys(scheduling_queue) == ["pod"]


def test_old_pods_are_looked_for_only_each_thirty_seconds() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "pod", now=1.0)
    scheduling_queue.flush(300.0)
    scheduling_queue.flush(329.0)
    assert "default/pod" in scheduling_queue.unschedulable
    scheduling_queue.flush(330.0)
    assert "default/pod" in scheduling_queue.active


def test_a_gated_pod_waits_until_its_last_gate_is_gone() -> None:
    scheduling_queue = queue()
    gates = [{"name": "a"}, {"name": "b"}]
    states = [make_pod("pod", schedulingGates=gates[start:]) for start in range(3)]
    scheduling_queue.add(states[0], 0.0)
    assert scheduling_queue.pop() is None
    scheduling_queue.update(states[0], states[1], 1.0)
    assert scheduling_queue.pop() is None
    scheduling_queue.update(states[1], states[2], 2.0)
    queued = pop_pod(scheduling_queue)
    assert (queued.pod, queued.gating, queued.attempts) == (states[2], "", 1)


def test_a_gated_pod_is_not_woken_by_what_does_not_open_its_gate() -> None:
    scheduling_queue = queue()
    scheduling_queue.add(make_pod("pod", schedulingGates=[{"name": "a"}]), 0.0)
    scheduling_queue.move_all_to_active_or_backoff(NODE_ADD, None, Node.from_json(node("n")), 1.0)
    scheduling_queue.flush(600.0)
    assert "default/pod" in scheduling_queue.unschedulable


def test_a_pod_that_changes_while_active_is_tried_as_it_is_now() -> None:
    scheduling_queue = queue()
    old, new = make_pod("pod"), make_pod("pod", labels={"a": "b"})
    scheduling_queue.add(old, 0.0)
    scheduling_queue.update(old, new, 1.0)
    assert pop_pod(scheduling_queue).pod is new
    assert scheduling_queue.pop() is None


def test_a_pod_that_changes_in_flight_comes_back_as_it_is_now() -> None:
    scheduling_queue = queue()
    old = make_pod("pod", requests={"cpu": "2"})
    new = make_pod("pod", requests={"cpu": "1"})
    scheduling_queue.add(old, 0.0)
    queued = pop_pod(scheduling_queue)
    scheduling_queue.update(old, new, 0.1)
    scheduling_queue.put_back(queued, 0.2, {FIT})
    assert queued.pod is new
    assert "default/pod" in scheduling_queue.backoff  # it asks for less now


def test_an_unknown_pod_that_changes_is_taken_in() -> None:
    scheduling_queue = queue()
    scheduling_queue.update(make_pod("pod"), make_pod("pod"), 0.0)
    assert keys(scheduling_queue) == ["pod"]


def test_activating_ends_any_wait() -> None:
    scheduling_queue = queue()
    reject_pod(scheduling_queue, "parked", now=0.0)
    scheduling_queue.add(make_pod("failed"), 0.0)
    scheduling_queue.put_back(pop_pod(scheduling_queue), 0.0)
    scheduling_queue.activate([make_pod("parked"), make_pod("failed"), make_pod("unknown")], 0.1)
    assert sorted(keys(scheduling_queue)) == ["failed", "parked"]


def test_activating_a_pod_in_flight_concerns_that_pod_alone() -> None:
    scheduling_queue = queue()
    for name in "ab":
        scheduling_queue.add(make_pod(name), 0.0)
    first, second = pop_pod(scheduling_queue), pop_pod(scheduling_queue)
    scheduling_queue.activate([first.pod], 0.1)
    scheduling_queue.put_back(first, 0.2, {FIT})
    scheduling_queue.put_back(second, 0.2, {FIT})
    assert "default/a" in scheduling_queue.backoff
    assert "default/b" in scheduling_queue.unschedulable


def test_a_deleted_pod_is_nowhere_and_nominated_nowhere() -> None:
    scheduling_queue = queue()
    queued = reject_pod(scheduling_queue, "pod")
    scheduling_queue.nominator.add_nominated_pod(queued.pod, "one")
    scheduling_queue.delete(queued.pod)
    assert scheduling_queue.pop() is None
    assert len(scheduling_queue.unschedulable) == len(scheduling_queue.nominator) == 0


def test_a_nomination_written_in_the_object_counts_from_the_start() -> None:
    scheduling_queue = queue()
    raw = make_pod("pod").raw
    nominated = type(BOUND).from_json({**raw, "status": {"nominatedNodeName": "one"}})
    scheduling_queue.add(nominated, 0.0)
    assert scheduling_queue.nominator.nominated_pods_for_node("one") == (nominated,)


def test_only_the_pods_meant_are_woken() -> None:
    scheduling_queue = queue()
    for name, priority in (("low", 1), ("high", 9)):
        reject_pod(scheduling_queue, make_pod(name, priority=priority), now=0.0)
    scheduling_queue.move_all_to_active_or_backoff(
        ASSIGNED_POD_DELETE, BOUND, None, 50.0, only=lambda pod: pod.priority <= 5
    )
    assert keys(scheduling_queue) == ["low"]
