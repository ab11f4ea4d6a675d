from __future__ import annotations

import numpy as np
import pytest

from kschedweb.engine import Snapshot
from kschedweb.engine.config import Configuration, default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.pricing.price_table import Match, Price, PriceTable
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import PodUse, Watermarks
from kschedweb.engine.studies.moves.dry_run import (
    BY_SHARE,
    ENDED,
    LANDS,
    NO_CONTROLLER,
    NO_POD_USE,
    NO_USE,
    NOT_REPLACED,
    RETURNS,
    UNFIT,
    DescheduledCluster,
)
from kschedweb.engine.studies.moves.repeated_cycles import repeat_cycles
from tests.engine.rebalancing.building import policy
from tests.engine.studies.clusters import budget, configuration, node, pod

NOW = 1_767_960_000.0
HIGH = policy("balance", "HighNodeUtilization", {"thresholds": {"cpu": 30}})
LIFE = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 60})
GIB = 1 << 30


def make_cluster(
    *objects: Json, table: PriceTable | None = None, rules: Configuration | None = None
) -> DescheduledCluster:
    described, problems = DescribedCluster.from_objects(objects)
    assert not problems
    return DescheduledCluster(described, Snapshot.from_objects(objects), rules or configuration(), table)


def packing() -> Configuration:
    document = default_document()
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    args = {"scoringStrategy": strategy}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}
    configuration = load(
        {**document, "profiles": [profile]} if isinstance(document, dict) else _plain(profile)
    ).configuration
    assert configuration is not None
    return configuration


def _plain(profile: Json) -> Json:
    version = "kubescheduler.config.k8s.io/v1"
    return {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


def underused() -> list[Json]:
    """Two nodes are half full, the third has one small pod."""
    full = [pod(f"{name}-{number}", name, cpu="1") for name in ("a", "b") for number in range(2)]
    return [*(node(name) for name in "abc"), *full, pod("lone", "c", cpu="500m")]


def old(raw: Json) -> Json:
    metadata = {**raw["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**raw, "metadata": metadata, "status": {**raw.get("status", {}), "startTime": "2026-01-01T00:00:00Z"}}


def test_an_evicted_pod_lands_where_the_scheduler_puts_it_and_its_node_is_emptied() -> None:
    dry_run = make_cluster(*underused(), rules=packing()).run(HIGH, NOW)
    [landing] = dry_run.landings
    assert (landing.pod, landing.source, landing.fate) == ("default/lone", "c", LANDS)
    assert landing.target in ("a", "b")
    assert landing.plugin == "HighNodeUtilization"
    assert (dry_run.emptied, dry_run.filled) == (("c",), ())
    assert (dry_run.before.nodes, dry_run.after.nodes) == (3, 2)
    assert dry_run.before.requests[CPU].skew == pytest.approx(50 - 12.5)
    assert dry_run.after.requests[CPU].skew == pytest.approx(62.5)
    assert dry_run.notes == (NO_USE,)


def test_the_default_scheduler_brings_it_back_to_the_node_that_it_left() -> None:
    dry_run = make_cluster(*underused()).run(HIGH, NOW)
    [landing] = dry_run.landings
    assert (landing.fate, landing.target) == (RETURNS, "c")
    assert dry_run.emptied == ()


def test_emptied_nodes_cost_nothing_where_there_is_a_table_of_prices() -> None:
    table = PriceTable("EUR", (Price(Match(labels={"kubernetes.io/hostname": "c"}), 0.5), Price(Match(), 0.25)))
    dry_run = make_cluster(*underused(), table=table, rules=packing()).run(HIGH, NOW)
    assert dry_run.before.cost.amount == pytest.approx(1.0)
    assert dry_run.after.cost.amount == pytest.approx(0.5)
    assert (dry_run.before.cost.node_hours, dry_run.after.cost.node_hours) == (3.0, 2.0)
    assert make_cluster(*underused()).run(HIGH, NOW).before.cost.amount is None


def test_a_pod_that_fits_nowhere_is_told_in_the_schedulers_words_and_tried_again() -> None:
    small = old(pod("small", "a", cpu="1", spec={"nodeSelector": {"gone": "yes"}}))
    cluster = make_cluster(node("a"), node("b"), small)
    dry_run = cluster.run(LIFE, NOW)
    [landing] = dry_run.landings
    assert (landing.fate, landing.target) == (UNFIT, "")
    assert "didn't match Pod's node affinity/selector" in landing.message
    assert dry_run.disturbed[0].unfit == 1
    assert [waiting_pod.key for waiting_pod in cluster.waiting] == ["default/small"]
    assert not cluster.run(LIFE, NOW + 300).landings, "what waits has no node to be evicted from"
    assert [waiting_pod.key for waiting_pod in cluster.waiting] == ["default/small"]


def test_nothing_comes_in_the_place_of_a_pod_without_controller_or_of_one_that_has_ended() -> None:
    evictor = {"evictFailedBarePods": True}
    failed = {**pod("failed", "a"), "status": {"phase": "Failed"}}
    bare = old(pod("bare", "b", owner=""))
    bare["metadata"]["annotations"] = {"descheduler.alpha.kubernetes.io/evict": "true"}
    rules = policy("deschedule", "RemoveFailedPods", {}, evictor)
    rules["profiles"][0]["pluginConfig"].append({"name": "PodLifeTime", "args": {"maxPodLifeTimeSeconds": 60}})
    rules["profiles"][0]["plugins"]["deschedule"]["enabled"].append("PodLifeTime")
    dry_run = make_cluster(node("a"), node("b"), failed, bare).run(rules, NOW)
    assert {landing.pod: (landing.fate, landing.message) for landing in dry_run.landings} == {
        "default/failed": (NOT_REPLACED, ENDED),
        "default/bare": (NOT_REPLACED, NO_CONTROLLER),
    }


def test_a_pod_of_a_daemon_set_comes_back_to_its_node() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = {"affinity": {"nodeAffinity": affinity}}
    rules = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 60}, {"evictDaemonSetPods": True})
    dry_run = make_cluster(node("a"), node("b"), old(pod("log", "b", owner="DaemonSet/log", spec=spec))).run(rules, NOW)
    assert [(landing.fate, landing.target) for landing in dry_run.landings] == [(RETURNS, "b")]
    assert (dry_run.before.nodes, dry_run.emptied) == (0, ())


def test_budgets_and_workloads_that_a_cycle_disturbs() -> None:
    pods = [old(pod(f"web-{number}", "a", cpu="100m")) for number in range(4)]
    dry_run = make_cluster(node("a"), node("b"), *pods, budget(2)).run(LIFE, NOW)
    assert len(dry_run.landings) == 2
    assert [(state.name, state.before, state.after) for state in dry_run.budgets] == [("default/web", 2, 0)]
    [workload] = dry_run.disturbed
    assert (workload.workload, workload.pods, workload.evicted) == ("default/ReplicaSet/web-5d", 4, 2)
    assert len(dry_run.cycle.failures) == 2


def used(cluster: DescheduledCluster, pods: dict[str, PodUse] | None, *levels: float) -> DescheduledCluster:
    names = cluster.snapshot.names
    figures = {("cpu", "5m"): np.array(levels), ("memory", "5m"): np.array(levels) / 2}
    cluster.snapshot.watermarks = Watermarks(names, np.full(len(names), NOW), figures, pods=pods)
    described = cluster._described
    return DescheduledCluster(described, cluster.snapshot, cluster.scheduler.configuration)


def test_real_use_moves_with_the_pods() -> None:
    pod_use = {"default/lone": PodUse(cpu=0.4, memory=1.6 * GIB)}
    cluster = used(make_cluster(*underused(), rules=packing()), pod_use, 50.0, 40.0, 30.0)
    dry_run = cluster.run(HIGH, NOW)
    [landing] = dry_run.landings
    assert dry_run.before.use[CPU].skew == pytest.approx(20.0)
    expected_use = {"a": 50.0, "b": 40.0, "c": 20.0} | {landing.target: {"a": 60.0, "b": 50.0}[landing.target]}
    assert dry_run.after.use[CPU].skew == pytest.approx(max(expected_use.values()) - min(expected_use.values()))
    measured = cluster.snapshot.watermarks
    assert measured is not None
    assert measured.column("cpu", "5m").tolist() == pytest.approx([expected_use[name] for name in "abc"])
    assert dry_run.notes == ()
    unknown = used(make_cluster(*underused(), rules=packing()), {}, 50.0, 40.0, 30.0).run(HIGH, NOW)
    assert unknown.notes == (NO_POD_USE,)


def test_the_descheduler_is_given_what_is_measured() -> None:
    args = {
        "thresholds": {"MetricResource": 30},
        "targetThresholds": {"MetricResource": 50},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "q"}},
    }
    provider = {"source": "Prometheus", "prometheus": {"url": "http://prometheus"}}
    rules = policy("balance", "LowNodeUtilization", args, metricsProviders=[provider])
    pods = [pod(f"hot-{number}", "a", cpu="100m") for number in range(3)]
    cluster = make_cluster(node("a"), node("b"), *pods)
    dry_run = used(cluster, {}, 90.0, 10.0).run(rules, NOW)
    assert {classified["node"]: classified["category"] for classified in dry_run.cycle.outcome.classes} == {
        "a": "overutilized",
        "b": "underutilized",
    }
    assert dry_run.landings
    assert BY_SHARE in dry_run.notes


def test_a_policy_of_another_version_is_refused() -> None:
    with pytest.raises(PolicyRefused, match="v1alpha1"):
        make_cluster(*underused()).run({**HIGH, "apiVersion": "descheduler/v1alpha1"}, NOW)


def test_least_allocated_undoes_high_node_utilization_and_is_named() -> None:
    repetition = repeat_cycles(make_cluster(*underused()), HIGH, NOW, max_rounds=4)
    assert len(repetition.rounds) == 4
    assert not repetition.settled
    assert [cycle_round.repeated for cycle_round in repetition.rounds] == [0, 1, 1, 1]
    [fight] = repetition.fights
    assert (fight.plugin, fight.scorer, fight.times) == ("HighNodeUtilization", "NodeResourcesFit (LeastAllocated)", 4)
    assert fight.sentence == (
        "HighNodeUtilization evicts the pod default/lone again and again, up to 4 times: NodeResourcesFit "
        "(LeastAllocated) puts it back where HighNodeUtilization evicts it. Change one of the two, or this never "
        "settles."
    )


def test_policies_that_agree_settle() -> None:
    repetition = repeat_cycles(make_cluster(*underused(), rules=packing()), HIGH, NOW)
    assert repetition.settled
    assert not repetition.fights
    assert [cycle_round.evicted for cycle_round in repetition.rounds] == [1, 0]


def test_a_young_replacement_is_not_evicted_for_its_age() -> None:
    repetition = repeat_cycles(
        make_cluster(node("a"), node("b"), old(pod("web", "a"))), LIFE, NOW, interval=30.0, max_rounds=3
    )
    assert [cycle_round.evicted for cycle_round in repetition.rounds] == [1, 0]
