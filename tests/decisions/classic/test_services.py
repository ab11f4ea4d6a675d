"""Decisions of classic policies about stored snapshots."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import services
from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.snapshots import classic_snapshot
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Registry, in_zones_of_then
from kschedweb.policies.models import Revision
from kschedweb.web.errors import Unprocessable
from tests.decisions.conftest import refs
from tests.engine.builders import node, pod

Json = dict


def test_an_explanation_is_the_engines_own(
    demo: Snapshot, demo_objects: list[Json], classic: Callable[..., Revision]
) -> None:
    old = classic()
    engine = ClassicScheduler(
        ClassicSnapshot.from_objects(map(in_zones_of_then, demo_objects)), Registry().build_algorithm()
    )
    compared = 0
    for row in PodRow.objects.filter(snapshot=demo, pending=True):
        key = f"{row.namespace}/{row.name}"
        placed = engine.find(engine.snapshot.get_pod(key))
        if services.summarize_pods(demo, old, refs(demo, [key]))[key].message.startswith("The scheduling cycle"):
            assert placed.message in services.summarize_pods(demo, old, refs(demo, [key]))[key].message
            continue
        found = services.decide_pod(demo, key, old)
        assert isinstance(found, ClassicCase)
        told = found.explanation.to_dict()
        assert told["predicates"] == engine.explain(engine.snapshot.get_pod(key)).to_dict()["predicates"]
        assert (found.explanation.node, found.explanation.message) == (placed.node, placed.message)
        engine.turn = 0
        compared += 1
    assert compared > 5


def test_a_bound_pod_is_taken_off_its_node_first(demo: Snapshot, classic: Callable[..., Revision]) -> None:
    row = PodRow.objects.filter(snapshot=demo, pending=False).exclude(node="").first()
    assert row is not None
    found = services.decide_pod(demo, f"{row.namespace}/{row.name}", classic())
    assert found.bound_to == row.node
    assert classic_snapshot(demo).get_pod(found.pod.key).node_name == row.node
    with pytest.raises(KeyError):
        found.snapshot.get_pod(found.pod.key)


def test_todays_zones_count_as_those_of_then(stored: Callable[..., Snapshot], classic: Callable[..., Revision]) -> None:
    objects = [node(f"n{zone}", labels={"topology.kubernetes.io/zone": zone}) for zone in "ab"]
    engine = classic_snapshot(stored(objects))
    assert engine.zones().present.all()


def test_a_cycle_that_fails_cannot_be_decided(
    stored: Callable[..., Snapshot], classic: Callable[..., Revision]
) -> None:
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    snapshot = stored([node("a"), pod("p", volumes=claim)])
    with pytest.raises(Unprocessable, match='cycle of default/p fails: persistentvolumeclaim "gone" not found'):
        services.decide_pod(snapshot, "default/p", classic())


def test_outcomes_and_room_answer_under_a_classic_policy(demo: Snapshot, classic: Callable[..., Revision]) -> None:
    old = classic(predicates=[{"name": "PodFitsResources"}], alwaysCheckAllPredicates=True)
    keys = [f"{row.namespace}/{row.name}" for row in PodRow.objects.filter(snapshot=demo, pending=True)]
    found = services.summarize_pods(demo, old, refs(demo, keys))
    assert set(found) == set(keys)
    assert {bool(one.node) for one in found.values()} == {True, False}
    stuck = next(key for key, one in found.items() if not one.node)
    assert found[stuck].message.startswith("0/")
    room = services.with_room(demo, stuck, old)
    assert (room.message, room.to_dict()["rejected"]) == (
        found[stuck].message,
        services.explain_pod(demo, stuck, old).to_dict()["rejected"],
    )


def test_revisions_with_other_processes_answer_otherwise(
    stored: Callable[..., Snapshot], classic: Callable[..., Revision]
) -> None:
    snapshot = stored([node("a", unschedulable=True), pod("p")])
    said = services.explain_pod(snapshot, "default/p", classic("new")).message
    assert said == "0/1 nodes are available: 1 node(s) were unschedulable."
    older = classic("older", {"version": "1.9"})
    assert services.explain_pod(snapshot, "default/p", older).message == "0/1 nodes are available: 1 NodeUnschedulable."
