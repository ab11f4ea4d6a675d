"""Volumes over time: one that a pod's claim got stays with that claim."""

from __future__ import annotations

from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import NodeJoins, PodArrives, Simulation, SimulationSettings, StartState
from tests.engine.builders import CONFIGURATION, node
from tests.engine.storage import NO_VOLUME, claim, on_nodes, storage_class, user, volume

HOST = "kubernetes.io/hostname"


def test_a_volume_stays_with_the_claim_that_got_it() -> None:
    objects = [node("a"), storage_class(), volume("v", nodeAffinity=on_nodes(HOST, "a")), claim("c"), claim("d")]
    events = [
        PodArrives(0.0, user("p", "c"), duration=10.0),
        PodArrives(5.0, user("other", "d")),
        # The snapshot is built anew for the node that joins.
        NodeJoins(15.0, node("b")),
        PodArrives(20.0, user("again", "c")),
    ]
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    start = StartState.from_objects(objects, CURRENT)
    for _ in range(2):  # What the first simulation binds is free again for the second.
        result = Simulation(start, configuration, events, SimulationSettings()).run(100.0)
        assert [(bound.pod, bound.node) for bound in result.bound] == [("default/p", "a"), ("default/again", "a")]
        assert [waiting.pod for waiting in result.pending] == ["default/other"]
        assert NO_VOLUME in result.pending[0].message
