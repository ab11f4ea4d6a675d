"""Figures computed of pod sets are remembered by their identity, and not without end."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.queueing.workloads.pod_set_memo import PodSetMemo
from kschedweb.engine.queueing.workloads.workload import PodSet, Workload
from kschedweb.engine.queueing.world import KueueWorld
from tests.engine.queueing.explaining.test_questions import read_question


def test_the_first_values_are_forgotten_first() -> None:
    memo, computed = PodSetMemo[int](limit=2), list[tuple[PodSet, ...]]()
    (pod_set,) = next(iter(read_question("2833-who-is-ahead").world.workloads.values())).pod_sets
    listed = [(pod_set,), (pod_set,), (pod_set,)]

    def count(pod_sets: tuple[PodSet, ...]) -> int:
        computed.append(pod_sets)
        return len(computed)

    assert [memo.get(pod_sets, count) for pod_sets in (listed[0], listed[0], listed[1], listed[2])] == [1, 1, 2, 3]
    assert len(memo) == 2
    assert memo.get(listed[2], count) == 3
    assert memo.get(listed[0], count) == 4


def test_a_world_remembers_no_more_pod_sets_than_the_limit() -> None:
    world: KueueWorld = read_question("2833-who-is-ahead").world
    workload: Workload = next(iter(world.workloads.values()))
    world.factory._facts = PodSetMemo(limit=3)
    world._adjusted = PodSetMemo(limit=3)
    infos = [world.create_info(_copy(workload)) for _ in range(10)]
    assert {str(info.total_requests) for info in infos} == {str(world.create_info(workload).total_requests)}
    assert (len(world.factory._facts), len(world._adjusted)) == (3, 3)


def _copy(workload: Workload) -> Workload:
    return replace(workload, pod_sets=tuple(list(workload.pod_sets)))
