"""DefaultBinder: the pod is on its node once it is bound."""

from __future__ import annotations

from kschedweb.engine import Pod
from tests.engine.builders import node, pod, scheduler


def test_a_pod_that_is_bound_is_on_its_node() -> None:
    engine = scheduler(node("a"))
    (placement,) = engine.schedule_pods([Pod.from_json(pod("p"))])
    assert (placement.node, placement.condition) == ("a", "")
    assert engine.snapshot.get_pod("default/p").node_name == "a"
