"""What is remembered of pods that are alike stays true while pods come and go."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler
from tests.engine.builders import node, pod, scheduler

KINDS = ({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {})
STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, len(KINDS) - 1)), min_size=10, max_size=40)


@given(STEPS)
def test_a_scheduler_that_remembers_decides_as_one_that_does_not(steps: list[tuple[bool, int]]) -> None:
    remembering = scheduler(*(node(name) for name in "abc"))
    bound: list[str] = []
    for number, (comes, kind) in enumerate(steps):
        if not comes:
            if bound:
                remembering.snapshot.remove_pod(bound.pop(0))
            continue
        one = Pod.read(pod(f"p{number}", requests=KINDS[kind]))
        forgetful = Scheduler(remembering.snapshot.copy(), remembering.configuration)
        forgetful._start = remembering._start
        expected = forgetful.schedule_one(one)
        placement = remembering.schedule_one(one)
        assert replace(placement, evaluated=0) == replace(expected, evaluated=0)
        if placement.node:
            bound.append(one.key)


def test_a_full_node_takes_pods_again_once_one_is_gone() -> None:
    engine = scheduler(node("a"))
    pods = [Pod.read(pod(f"p{number}", requests={"cpu": "2"})) for number in range(4)]
    assert [bool(engine.schedule_one(one).node) for one in pods[:3]] == [True, True, False]
    engine.snapshot.remove_pod("default/p0")
    assert engine.schedule_one(pods[3]).node == "a"
