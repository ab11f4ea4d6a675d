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
    comparisons = 0
    for row in PodRow.objects.filter(snapshot=demo, pending=True):
        key = f"{row.namespace}/{row.name}"
        placement = engine.find(engine.snapshot.get_pod(key))
        if services.summarize_pods(demo, old, refs(demo, [key]))[key].message.startswith("The scheduling cycle"):
            assert placement.message in services.summarize_pods(demo, old, refs(demo, [key]))[key].message
            continue
        case = services.decide_pod(demo, key, old)
        assert isinstance(case, ClassicCase)
        explanation = case.explanation.to_dict()
        assert explanation["predicates"] == engine.explain(engine.snapshot.get_pod(key)).to_dict()["predicates"]
        assert (case.explanation.node, case.explanation.message) == (placement.node, placement.message)
        engine.turn = 0
        comparisons += 1
    assert comparisons > 5


def test_a_bound_pod_is_taken_off_its_node_first(demo: Snapshot, classic: Callable[..., Revision]) -> None:
    row = PodRow.objects.filter(snapshot=demo, pending=False).exclude(node="").first()
    assert row is not None
    case = services.decide_pod(demo, f"{row.namespace}/{row.name}", classic())
    assert case.bound_to == row.node
    assert classic_snapshot(demo).get_pod(case.pod.key).node_name == row.node
    with pytest.raises(KeyError):
        case.snapshot.get_pod(case.pod.key)


def test_todays_zones_count_as_those_of_then(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision]
) -> None:
    objects = [node(f"n{zone}", labels={"topology.kubernetes.io/zone": zone}) for zone in "ab"]
    engine = classic_snapshot(store_snapshot(objects))
    assert engine.zones().present.all()


def test_a_cycle_that_fails_cannot_be_decided(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision]
) -> None:
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    snapshot = store_snapshot([node("a"), pod("p", volumes=claim)])
    with pytest.raises(Unprocessable, match='cycle of default/p fails: persistentvolumeclaim "gone" not found'):
        services.decide_pod(snapshot, "default/p", classic())


def test_outcomes_and_room_answer_under_a_classic_policy(demo: Snapshot, classic: Callable[..., Revision]) -> None:
    old = classic(predicates=[{"name": "PodFitsResources"}], alwaysCheckAllPredicates=True)
    keys = [f"{row.namespace}/{row.name}" for row in PodRow.objects.filter(snapshot=demo, pending=True)]
    summaries = services.summarize_pods(demo, old, refs(demo, keys))
    assert set(summaries) == set(keys)
    assert {bool(summary.node) for summary in summaries.values()} == {True, False}
    stuck = next(key for key, summary in summaries.items() if not summary.node)
    assert summaries[stuck].message.startswith("0/")
    room = services.with_room(demo, stuck, old)
    assert (room.message, room.to_dict()["rejected"]) == (
        summaries[stuck].message,
        services.explain_pod(demo, stuck, old).to_dict()["rejected"],
    )


def test_revisions_with_other_processes_answer_otherwise(
    store_snapshot: Callable[..., Snapshot], classic: Callable[..., Revision]
) -> None:
    snapshot = store_snapshot([node("a", unschedulable=True), pod("p")])
    message = services.explain_pod(snapshot, "default/p", classic("new")).message
    assert message == "0/1 nodes are available: 1 node(s) were unschedulable."
    older = classic("older", {"version": "1.9"})
    assert services.explain_pod(snapshot, "default/p", older).message == "0/1 nodes are available: 1 NodeUnschedulable."
