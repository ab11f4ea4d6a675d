"""Workloads that wait: whose turn it is, what goes aside after a cycle, and what brings it back."""

from __future__ import annotations

from random import Random

import pytest

from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.queueing.cycle.entries import FAILED_AFTER_NOMINATION, NO_FIT, PENDING_PREEMPTION
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.queues import PendingQueue
from kschedweb.engine.queueing.workloads.requests import RequestOptions
from kschedweb.engine.queueing.workloads.workload import WorkloadOrdering, read_workload
from kschedweb.engine.queueing.workloads.workload_info import InfoFactory, WorkloadInfo
from tests.engine.queueing.test_scenario import make_workload

FACTORY = InfoFactory(RequestOptions(), DEFAULT_GATES)


def create_info(name: str, cpu: str = "1", *, priority: int = 0, minute: int = 0) -> WorkloadInfo:
    return FACTORY.create(read_workload(make_workload(name, cpu, priority=priority, minute=minute), 0.0))


def create_queue(*infos: WorkloadInfo, strict: bool = False) -> PendingQueue:
    queue = PendingQueue("q", WorkloadOrdering(True, DEFAULT_GATES))
    queue.is_strict, queue.namespace_selector = strict, label_selector({}, "")
    for info in infos:
        queue.push_if_absent(info)
    return queue


def pop_name(queue: PendingQueue) -> str:
    info = queue.pop()
    return info.workload.name if info is not None else ""


def test_heads_come_by_priority_then_by_age_whatever_the_order_of_their_coming() -> None:
    random = Random(5)
    infos = [create_info(f"w{n:02}", priority=random.choice([0, 5]), minute=random.randrange(60)) for n in range(40)]
    queue = create_queue(*infos)
    for gone in random.sample(infos, 10):
        queue.delete(gone.key)
    expected = [info.workload.name for info in queue.list_pending()]
    assert [pop_name(queue) for _ in expected] == expected
    assert pop_name(queue) == ""


def test_a_newer_version_of_a_workload_takes_its_place_in_the_order() -> None:
    queue = create_queue(create_info("a", priority=1), create_info("b", priority=2))
    queue.push_or_update(create_info("a", priority=3), 0.0)
    assert [pop_name(queue), pop_name(queue), pop_name(queue)] == ["a", "b", ""]


@pytest.mark.parametrize(("strict", "active"), [(True, True), (False, False)])
def test_what_does_not_fit_stays_first_only_in_strict_order(strict: bool, active: bool) -> None:
    queue = create_queue(create_info("a"), strict=strict)
    info = queue.pop()
    assert info is not None
    queue.requeue(info, NO_FIT, "", 0.0)
    assert (info.key in queue.active) is active


def test_equals_of_a_workload_that_failed_go_aside_untried() -> None:
    queue = create_queue(create_info("a"), create_info("equal", minute=1), create_info("other", "2", minute=2))
    info = queue.pop()
    assert info is not None
    queue.requeue(info, NO_FIT, "", 0.0)
    assert (set(queue.inadmissible), set(queue.active)) == ({"ns/a", "ns/equal"}, {"ns/other"})
    queue.push_or_update(create_info("late", minute=5), 0.0)
    assert "ns/late" in queue.inadmissible
    queue.wake({"ns": {}}, 0.0)
    assert not queue.inadmissible
    assert pop_name(queue) == "a"


def test_one_for_which_others_go_stays_first_before_a_higher_priority() -> None:
    queue = create_queue(create_info("a"))
    info = queue.pop()
    assert info is not None
    queue.requeue(info, PENDING_PREEMPTION, "", 0.0)
    queue.push_if_absent(create_info("urgent", priority=100))
    assert [pop_name(queue), pop_name(queue)] == ["a", "urgent"]


def test_a_wake_during_the_cycle_brings_back_what_failed_in_it() -> None:
    queue = create_queue(create_info("a"))
    info = queue.pop()
    assert info is not None
    queue.wake({"ns": {}}, 0.0)
    queue.requeue(info, NO_FIT, "", 0.0)
    assert "ns/a" in queue.active


def test_what_was_skipped_is_tried_again_at_once() -> None:
    queue = create_queue(create_info("a"))
    info = queue.pop()
    assert info is not None
    assert queue.requeue(info, FAILED_AFTER_NOMINATION, "", 0.0)
    assert pop_name(queue) == "a"
