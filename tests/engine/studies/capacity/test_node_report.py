"""Reports on full nodes."""

from __future__ import annotations

import json

import pytest

from kschedweb.clusters.demo import generate_cluster
from kschedweb.engine import Snapshot
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import Edition, classic_release
from kschedweb.engine.studies.capacity.drain import BUDGET, DAEMON_SET, NO_ROOM, UNMANAGED, rehearse_drain
from kschedweb.engine.studies.capacity.node_report import (
    FOREIGN,
    NodeReport,
    PlaceVerdict,
    explain_place,
    report_node,
)
from tests.engine.studies.clusters import budget, configuration, node, pod, snapshot


def test_resources_have_a_share_for_each_pod() -> None:
    big, small = pod("big", "a", cpu="2"), pod("small", "a", cpu="500m")
    big["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
    first = node("a", cpu="4")
    first["status"]["allocatable"]["example.com/gpu"] = "2"
    report = report_node(snapshot(first, node("b"), big, small), configuration(), "a")
    levels = {level.resource: level for level in report.resources}
    assert list(levels) == ["cpu", "memory", "pods", "example.com/gpu"]
    cpu = levels["cpu"]
    assert (cpu.allocatable, cpu.requested, cpu.free, cpu.used_percent) == (4000, 2500, 1500, None)
    assert [(share.pod, share.amount) for share in cpu.pods] == [("default/big", 2000), ("default/small", 500)]
    assert (levels["pods"].requested, levels["pods"].allocatable) == (2, 110)
    assert [share.pod for share in levels["example.com/gpu"].pods] == ["default/big"]
    assert report.fullest is cpu
    assert [entry.pod for entry in report.pods] == ["default/big", "default/small"]
    assert report.pod("default/big").controller == "ReplicaSet/web-5d"


def test_a_pod_is_compared_with_the_best_other_node() -> None:
    cluster = snapshot(node("a"), node("b"), pod("x", "a"), pod("y", "b", cpu="2"))
    report = report_node(cluster, configuration(), "a")
    assert NodeReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    place = report.pod("default/x").place
    assert place is not None
    assert (place.verdict, place.feasible, place.rival, place.target) == (PlaceVerdict.BEST, 2, "b", "b")
    explanation = Scheduler(cluster, configuration()).explain(cluster.get_pod("default/x"))
    totals = dict(zip(explanation.nodes, explanation.total.tolist(), strict=True))
    assert (place.score, place.rival_score) == (totals["a"], totals["b"])
    assert place.margin == totals["a"] - totals["b"] > 0
    assert place.can_leave


def test_a_pod_that_another_node_would_get_now_is_behind() -> None:
    cluster = snapshot(node("a"), node("b"), pod("x", "a"), pod("z", "a", cpu="2"))
    place = explain_place(cluster, configuration(), "default/x")
    assert (place.verdict, place.rival) == (PlaceVerdict.BEATEN, "b")
    assert (place.margin or 0) < 0


@pytest.mark.parametrize(
    ("objects", "verdict", "obstacle"),
    [
        ([node("a"), pod("x", "a")], PlaceVerdict.ONLY, NO_ROOM),
        ([node("a"), node("b"), pod("x", "a", owner="")], PlaceVerdict.TIED, UNMANAGED),
        ([node("a"), node("b"), pod("x", "a", owner="DaemonSet/agent")], PlaceVerdict.TIED, DAEMON_SET),
        ([node("a"), node("b"), pod("x", "a"), budget(0)], PlaceVerdict.TIED, BUDGET),
        ([node("a", unschedulable=True), node("b"), pod("x", "a")], PlaceVerdict.REFUSED, ""),
        ([node("a"), pod("x", "a", spec={"schedulerName": "other"})], PlaceVerdict.FOREIGN, FOREIGN),
    ],
)
def test_why_a_pod_is_here_and_why_it_stays(objects: list[Json], verdict: PlaceVerdict, obstacle: str) -> None:
    place = explain_place(snapshot(*objects), configuration(), "default/x")
    assert (place.verdict, place.obstacle) == (verdict, obstacle)
    assert bool(place.obstacle_message) == (obstacle not in ("", DAEMON_SET))


def test_pending_pods_are_grouped_by_the_words_of_the_filter() -> None:
    large = [pod(f"large-{at}", cpu="9") for at in range(3)]
    gated = pod("gated", spec={"schedulingGates": [{"name": "wait"}]})
    cluster = snapshot(node("a"), node("b", cpu="16"), large, pod("fits"), gated)
    report = report_node(cluster, configuration(), "a")
    (group,) = report.refused
    assert (group.plugin, group.message) == ("NodeResourcesFit", "Insufficient cpu")
    assert group.pods == ("default/large-0", "default/large-1", "default/large-2")
    assert (report.fitting, report.untried) == (("default/fits",), 1)
    assert [group.pods for group in report_node(cluster, configuration(), "b").refused] == []


def test_an_unknown_node_or_pod_is_an_error() -> None:
    cluster = snapshot(node("a"), pod("x"))
    with pytest.raises(KeyError):
        report_node(cluster, configuration(), "b")
    with pytest.raises(KeyError):
        explain_place(cluster, configuration(), "default/x")


def test_the_demo_is_answered_as_its_decisions_and_its_drain() -> None:
    cluster, rules = Snapshot.from_objects(generate_cluster()), configuration()
    version = cluster.pods.version
    scheduler = Scheduler(cluster, rules)
    for name in cluster.names[::20]:
        report = report_node(cluster, rules, name)
        assert sum(share.amount for share in report.fullest.pods) == report.fullest.requested
        for entry in report.pods:
            place = entry.place
            assert place is not None
            if place.verdict in (PlaceVerdict.FOREIGN, PlaceVerdict.STATIC):
                continue
            explanation = scheduler.explain(cluster.get_pod(entry.pod), as_scheduled=True)
            assert (place.verdict in (PlaceVerdict.BEST, PlaceVerdict.TIED, PlaceVerdict.ONLY)) == (
                name in {explanation.nodes[best] for best in explanation.best}
            )
            if place.can_leave:
                assert place.target not in ("", name)
        refused = {pod for group in report.refused for pod in group.pods}
        for pending in cluster.pending:
            assert (pending.key in refused) == (
                pending.scheduler_name in scheduler.frameworks
                and scheduler.framework(pending).pre_enqueue(pending, cluster.objects).ok
                and not scheduler.verdict(pending, name).ok
            )
    assert cluster.pods.version == version
    first = next(node for node in rehearse_drain(cluster, rules, cluster.names[:9]).nodes if node.moves)
    # What a drain moves first could have left alone, too.
    assert explain_place(cluster, rules, first.moves[0].pod).can_leave


def test_a_classic_policy_answers_too() -> None:
    rules = load({"kind": "Policy", "apiVersion": "v1"}, classic_release(Edition())).configuration
    assert rules is not None
    raw = [node("a"), node("b"), pod("x", "a"), pod("y", "b", cpu="2"), pod("z", cpu="9")]
    report = report_node(rules.release.build_snapshot(raw), rules, "a")
    place = report.pods[0].place
    assert place is not None
    assert (place.verdict, place.rival, place.target) == (PlaceVerdict.BEST, "b", "b")
    assert [group.pods for group in report.refused] == [("default/z",)]
