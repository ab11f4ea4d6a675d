"""Loops of preemption, in clusters that Kueue 0.19.2 itself leaves looping, and in histories."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.preemption.preemption_loops import LoopStep, WorkloadStep, find_loops
from kschedweb.engine.queueing.scenario import answer_scenario
from tests.support.queue_loops import BORROWING_LOOP, SHARE_LOOP


def list_steps(answer: Json) -> Iterator[WorkloadStep]:
    """The steps of workloads that a scenario's answer tells of."""
    for cycle in answer["cycles"]:
        time = float(cycle["cycle"])
        for entry in cycle.get("entries", ()):
            if entry.get("status") == "assumed":
                yield WorkloadStep(time, entry["workload"], LoopStep.ADMITTED)
        for record in cycle.get("preempted", ()):
            yield WorkloadStep(time, record["workload"], LoopStep.EVICTED, record["by"], record["reason"])


def steps_of(text: str) -> Iterator[WorkloadStep]:
    """Steps in short: "a+" has quota, "a!b" evicts b, "a." has finished."""
    for time, word in enumerate(text.split()):
        if "!" in word:
            preemptor, victim = word.split("!")
            yield WorkloadStep(time, victim, LoopStep.EVICTED, preemptor, "InClusterQueue")
        else:
            yield WorkloadStep(time, word[:-1], LoopStep.ADMITTED if word[-1] == "+" else LoopStep.FINISHED)


def test_a_neighbour_that_borrows_from_nearer_comes_back_first() -> None:
    (loop,) = find_loops(list_steps(answer_scenario(BORROWING_LOOP)))
    assert loop.members == ("default/big", "default/small")
    assert loop.reasons == ("InCohortReclaimWhileBorrowing",)
    assert loop.count == 10
    assert not loop.is_mutual
    assert (loop.first, loop.last) == (2.0, 20.0)


def test_the_order_of_shares_lets_a_victim_come_back_first() -> None:
    (loop,) = find_loops(list_steps(answer_scenario(SHARE_LOOP)))
    assert loop.members == ("default/newer", "default/wide")
    assert loop.reasons == ("InCohortFairSharing",)


def test_a_ring_is_a_loop_though_each_gets_quota() -> None:
    (loop,) = find_loops(steps_of(3 * "a!b a+ b!a b+ "))
    assert loop.is_mutual
    assert loop.members == ("a", "b")


def test_a_loop_takes_in_whoever_evicts_or_is_evicted_on_its_way() -> None:
    # a never gets the room that it frees of b, which b takes from c each time.
    (loop,) = find_loops(steps_of(3 * "c+ b!c b+ a!b "))
    assert loop.members == ("a", "b", "c")


def test_evictions_with_progress_are_no_loop() -> None:
    assert find_loops(steps_of(3 * "a!b a+ a. b+ ")) == []
    assert find_loops(steps_of(2 * "a!b b+ ")) == []
    # Each time a gets the room, and gives it to others that finish.
    assert find_loops(steps_of(" ".join(f"a!b a+ c{n}!a c{n}+ c{n}. b+" for n in range(3)))) == []
