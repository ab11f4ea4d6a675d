"""Resource claims over time: devices are kept as long as a pod is left that uses them."""

from __future__ import annotations

from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import NodeJoins, PodArrives, Result, Settings, Simulation, Start
from tests.engine.builders import CONFIGURATION, node, pod

ALLOCATED = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    "status": {"allocation": {"devices": {"results": []}}},
}
CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}


def arrives(time: float, name: str, duration: float) -> PodArrives:
    claims = [{"name": "d", "resourceClaimName": "c"}]
    return PodArrives(time, pod(name, resourceClaims=claims), duration=duration)


def simulate(*events: PodArrives | NodeJoins) -> Result:
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    start = Start.read([node("a"), ALLOCATED, CLASS], CURRENT)
    first, second = (Simulation(start, configuration, list(events), Settings()).run(400.0) for _ in range(2))
    assert first == second
    return second


def test_a_claim_keeps_its_devices_while_pods_that_overlap_use_it() -> None:
    result = simulate(arrives(0.0, "p", 20.0), arrives(10.0, "q", 20.0), arrives(25.0, "r", 20.0))
    assert [bound.pod for bound in result.bound] == ["default/p", "default/q", "default/r"]


def test_devices_that_nobody_is_left_to_use_have_to_be_chosen_again() -> None:
    # The node that joins has the snapshot built anew: reservations outlive that.
    joins = NodeJoins(5.0, node("b"))
    result = simulate(arrives(0.0, "p", 20.0), joins, arrives(30.0, "q", 20.0))
    assert [bound.pod for bound in result.bound] == ["default/p"]
    assert [(waiting.pod, waiting.message) for waiting in result.pending] == [
        (
            "default/q",
            "0/2 nodes are available: 2 cannot allocate all claims. "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
        )
    ]


def test_a_pod_that_cannot_be_judged_is_not_tried_all_the_time() -> None:
    result = simulate(arrives(0.0, "p", 20.0), arrives(30.0, "q", 20.0))
    assert [(refused.pod, refused.by) for refused in result.rejected] == [
        ("default/q", ("DynamicResources",)),
        ("default/q", ("DynamicResources",)),
    ]
    assert result.rejected[1].time - result.rejected[0].time > 300.0
