"""Effects of a policy change: the gate's own numbers, removable nodes, and use that moves with the pods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.document.document import ScenarioError, read_scenario
from kschedweb.engine.studies.gate import gate, thresholds
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from kschedweb.engine.studies.trying.policy_effect import PolicyEffect, play_both, use_at_end
from tests.engine.builders import node, pod
from tests.engine.studies.gates import PACKED, cluster
from tests.support import seed_runs

NOW = 1_800_000_000.0


def configuration(document: str | None = None) -> Configuration:
    loaded_configuration = load(document).configuration
    assert loaded_configuration is not None
    return loaded_configuration


def prepared(objects: list[Json], place: str = "all", **scenario_fields: Any) -> PreparedScenario:
    return gate.prepared_of(objects, place=place, now=NOW, **scenario_fields)


def packed(objects: list[Json], place: str = "all", **scenario_fields: Any) -> PolicyEffect:
    """``objects`` under the defaults and under a policy that packs."""
    return play_both(
        prepared(objects, place, **scenario_fields),
        configuration(),
        configuration(PACKED),
        lambda *_: None,
        only_waiting=place == "pending",
    )


def owned(raw: Json, kind: str) -> Json:
    raw["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": "owner", "controller": True}]
    return raw


def daemon(name: str, on: str) -> Json:
    return owned(pod(name, on=on, requests={"cpu": "100m"}), "DaemonSet")


@pytest.mark.parametrize("place", ["all", "pending"])
def test_the_numbers_are_those_that_the_gate_finds(place: str) -> None:
    waiting = [pod(f"wait-{number}", requests={"cpu": "3"}) for number in range(6)]
    objects = cluster(4, 6, *waiting)
    question = gate.GateQuestion(
        gate.GatePolicy("packed", PACKED),
        gate.GatePolicy(gate.DEFAULTS),
        thresholds.read_thresholds({"maxPending": 9}),
        "cluster.json",
    )
    verdict = gate.compute_verdict(prepared(objects, place), question).to_dict()
    effect, counts = packed(objects, place), verdict["counts"]
    assert [effect.counts[name] for name in ("moved", "lost", "gained")] == [
        counts[name] for name in ("moved", "newlyUnscheduled", "newlyScheduled")
    ]
    assert {plugin_count["plugin"]: plugin_count["pods"] for plugin_count in effect.counts["by_plugin"]} == counts[
        "byPlugin"
    ]
    waits = compute_measures(effect.changed)["unscheduled"].value
    assert effect.counts["pods"] - effect.counts["placed"]["changed"] == waits
    measures = {measure["name"]: (measure["baseline"], measure["policy"]) for measure in verdict["measures"]}
    effect_measures = {
        measure["name"]: (measure["current"], measure["changed"]) for measure in effect.list_measures(at_end=True)
    }
    assert {"skew_cpu_end", "unscheduled", "fragmentation_cpu"} <= effect_measures.keys()
    assert effect_measures == {name: measures[name] for name in effect_measures}


def test_each_pod_that_ends_elsewhere_is_told_with_its_nodes_and_its_reason() -> None:
    effect = packed(cluster())
    by_pod = {change["pod"]: change for change in effect.changes}
    assert len(by_pod) == effect.counts["moved"] == 4
    for name, change in by_pod.items():
        assert change["what"] == "moved"
        assert (change["current"], change["changed"]) == tuple(
            side.nodes[side.node[side.index[name]]] for side in (effect.current, effect.changed)
        )
        assert change["plugin"] == "NodeResourcesFit"
        assert effect.pod(name) == {"pod": name, "current": change["current"], "changed": change["changed"]}
    assert effect.pod("default/nobody") is None


def test_a_node_with_pods_of_daemonsets_alone_is_not_in_use() -> None:
    objects = cluster(4, 6, *(daemon(f"d-{number}", f"node-{number}") for number in range(4)))
    assert packed(objects).nodes() == {"there": 4, "current": 4, "changed": 1}


def test_a_pod_that_replaces_an_evicted_one_is_not_counted_as_another() -> None:
    bound = [
        owned(pod(f"low-{number}", on=f"node-{number}", requests={"cpu": "3"}, priority=0), "ReplicaSet")
        for number in range(4)
    ]
    objects = cluster(4, 0, *bound, pod("high", requests={"cpu": "3"}, priority=1000))
    effect = packed(objects, "pending")
    assert effect.counts["evicted"] == {"current": 1, "changed": 1}
    assert effect.counts["pods"] == 1
    assert effect.counts["placed"] == {"current": 1, "changed": 1}
    assert list(effect.pods) == ["default/high"]


def test_use_goes_with_the_pods_and_is_as_measured_while_nobody_moves() -> None:
    objects = cluster(4, 6)
    names = [f"node-{number}" for number in range(4)]
    levels = np.array([60.0, 10.0, 20.0, 30.0])
    watermarks = Watermarks(names, np.full(4, NOW - 30.0), {("cpu", "5m"): levels})
    still = prepared([*objects, pod("one", requests={"cpu": "1m"})], "pending", utilisation=watermarks)
    at_end = use_at_end(still, run_scenario(still, configuration()))["cpu"]
    assert np.allclose(at_end, levels, atol=0.1)  # what the one new pod uses
    effect = packed(objects, utilisation=watermarks)
    use = use_at_end(effect.prepared, effect.changed)["cpu"]
    # All pods land on one node again, so that it has their use, and the others have their own.
    assert np.isclose(use.sum(), levels.sum())
    assert use.argmax() == effect.changed.node[0]
    effect_measures = {measure["name"]: measure for measure in effect.list_measures(at_end=True)}
    assert effect_measures["use_skew_cpu_end"]["changed"] == pytest.approx(use.max() - use.min())
    assert effect_measures["use_skew_cpu_end"]["current"] < effect_measures["use_skew_cpu_end"]["changed"]
    assert "use_skew_memory" not in effect_measures


def test_nothing_is_said_of_use_where_none_is_known() -> None:
    assert not [
        measure for measure in packed(cluster()).list_measures(at_end=True) if measure["name"].startswith("use_")
    ]


def test_a_scenario_has_every_measure_and_counts_what_happens_over_time() -> None:
    scenario = prepare_scenario(read_scenario(seed_runs.document()), [], {}, seed=1, now=0.0)
    effect = play_both(scenario, configuration(), configuration(PACKED), lambda *_: None)
    names = {measure["name"] for measure in effect.list_measures(at_end=False)}
    assert {"wait_p99", "pending_mean", "skew_cpu"} <= names
    assert effect.counts["pods"] == 21
    assert effect.nodes()["there"] == 6


def test_the_work_is_told_and_ends_where_it_is_not_wanted_any_more() -> None:
    heard: list[str] = []

    def progress(text: str, tries: int, total: int) -> None:
        heard.append(text)
        if "changed" in text:
            raise RuntimeError("enough")

    objects = cluster(4, 300)
    with pytest.raises(RuntimeError, match="enough"):
        play_both(prepared(objects), configuration(), configuration(PACKED), progress, "All pods")
    assert heard[0] == "All pods under the current policy:"
    assert heard[-1] == "All pods under the changed policy:"


def test_a_cluster_without_nodes_is_refused() -> None:
    with pytest.raises(ScenarioError, match="there is no node"):
        packed([pod("alone")])


def test_a_taint_decides_which_nodes_pods_may_lose() -> None:
    """A filter that the change turns off lets pods onto a node that refused them: they are gained."""
    taint = [{"key": "only", "value": "others", "effect": "NoSchedule"}]
    objects = [node("closed", taints=taint), pod("waits", requests={"cpu": "1"})]
    off = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    filter: {disabled: [{name: TaintToleration}]}
"""
    effect = play_both(prepared(objects, "pending"), configuration(), configuration(off), lambda *_: None)
    assert (effect.counts["gained"], effect.counts["placed"]) == (1, {"current": 0, "changed": 1})
    (change,) = effect.changes
    assert (change["what"], change["current"], change["changed"]) == ("gained", "", "closed")
