"""Karpenter in the loop of a simulation: nodes come for pods that wait, and go when they are not needed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.config import default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.studies.document.document import ScenarioError, read_scenario
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario

CONFIGURATION = load(default_document(), CURRENT).configuration
ON_DEMAND = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
ALL = [{"nodes": "100%"}]


def pool(name: str = "default", budgets: Any = None, after: str = "1m", **template: Any) -> Json:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "disruption": {"consolidateAfter": after, "budgets": ALL if budgets is None else budgets},
            "template": {"spec": {"requirements": [ON_DEMAND], **template}},
        },
    }


def kind(name: str, cores: tuple[int, ...] = (2, 4, 8)) -> list[Json]:
    return [
        {
            "name": f"{name}-{cpu}",
            "capacity": {"cpu": str(cpu), "memory": "64Gi", "pods": "110"},
            "offerings": [{"zone": "a", "capacityType": "on-demand", "price": cpu / 10}],
        }
        for cpu in cores
    ]


def deployment(name: str, cpu: str, at: float, replicas: int) -> Json:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]},
            },
        },
    }
    return {"at": at, "addWorkload": {"manifest": manifest, "replicas": replicas}}


def scale(name: str, at: float, replicas: int) -> Json:
    return {"at": at, "scaleWorkload": {"workload": f"default/Deployment/{name}", "replicas": replicas}}


def budget(name: str, allowed: int) -> Json:
    spec = {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": name}}}
    raw = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
    return {**raw, "status": {"disruptionsAllowed": allowed}}


def node(name: str, cpu: str = "4", **labels: str) -> Json:
    has = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "a", **labels}},
        "status": {"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


FULL = node("full", "1m")  # without any node the scheduler makes errors, after which it waits


def played(
    *changes: Json, pools: list[Json] | None = None, run_until: str = "1h", objects: Any = (), **karpenter: Any
) -> RunOutcome:
    settings = {"nodePools": pools or [pool()], "instanceTypes": kind("plain"), **karpenter}
    document = {
        "name": "played",
        "objects": [FULL, *objects],
        "changes": list(changes),
        "autoscaler": {"karpenter": settings},
        "run": {"until": run_until, "place": "pending"},
    }
    assert CONFIGURATION is not None
    return run_scenario(prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0), CONFIGURATION)


def list_actions(outcome: RunOutcome, kind: str) -> list[tuple[float, str]]:
    return [(time, text) for time, action, _, text in outcome.autoscaler_actions if action == kind]


def test_a_node_joins_after_the_batch_and_the_launch_time() -> None:
    outcome = played(deployment("web", "1500m", 60, 2), launch="90s")
    [(time, text)] = list_actions(outcome, LAUNCHED)
    assert time == pytest.approx(61.0, abs=0.1)  # no pod came for a second
    assert text == "plain-4 in a, on-demand, 0.4 an hour, for 2 pods"
    assert outcome.bound == pytest.approx([151.0, 151.0], abs=0.2)
    assert not len(outcome.pending)


def with_volumes(change: Json) -> Json:
    """The deployment, each of whose pods has an ephemeral volume of the class gp3."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gp3"}
    volume = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    change["addWorkload"]["manifest"]["spec"]["template"]["spec"]["volumes"] = [volume]
    return change


GP3 = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "gp3"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def test_pods_with_ephemeral_volumes_bring_nodes_and_let_them_go_as_others_do() -> None:
    changes = with_volumes(deployment("web", "1500m", 60, 2)), scale("web", 600, 1)
    outcome = played(*changes, objects=[GP3], run_until="2h")
    assert [text.partition(" ")[0] for _, text in list_actions(outcome, LAUNCHED)] == ["plain-4", "plain-2"]
    assert not len(outcome.pending)
    assert (
        len(list_actions(outcome, REMOVED)) == 1
    )  # the last pod's volume is where its claim says, in the new node's zone


def test_pods_that_come_one_after_the_other_are_one_batch_of_at_most_ten_seconds() -> None:
    outcome = played(*(deployment(f"web-{place}", "900m", 60 + place * 0.9, 1) for place in range(16)))
    times = [time for time, _ in list_actions(outcome, LAUNCHED)]
    assert times[0] == pytest.approx(70.0, abs=0.1)
    assert times[-1] == pytest.approx(74.5, abs=0.1)


def test_pods_that_fit_on_a_node_that_is_on_its_way_bring_no_other_one() -> None:
    outcome = played(deployment("web", "3", 60, 1), deployment("more", "900m", 80, 1))
    assert len(list_actions(outcome, LAUNCHED)) == 1
    assert not len(outcome.pending)


def test_startup_taints_keep_pods_off_until_they_are_gone() -> None:
    taint = {"key": "example.com/init", "effect": "NoSchedule"}
    outcome = played(deployment("web", "1", 60, 1), pools=[pool(startupTaints=[taint])], startup="30s")
    assert outcome.bound[0] == pytest.approx(61.0 + 60.0 + 30.0, abs=1.5)


def test_daemons_run_on_new_nodes_and_end_with_them() -> None:
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}}}]},
    }
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
    outcome = played(deployment("web", "1900m", 60, 2), scale("web", 600, 0), objects=[agent])
    assert len(list_actions(outcome, REMOVED)) == len(list_actions(outcome, LAUNCHED)) == 1
    assert list_actions(outcome, LAUNCHED)[0][1].startswith("plain-4")
    assert [name for name in outcome.pods if "agent" in name]
    assert not len(outcome.forced_moves)


def test_an_empty_node_goes_once_consolidate_after_has_passed() -> None:
    outcome = played(deployment("web", "1", 60, 1), scale("web", 600, 0), pools=[pool(after="5m")])
    [(time, text)] = list_actions(outcome, REMOVED)
    assert text == "Empty: delete"
    assert 900.0 <= time <= 945.0  # 5 minutes, the grace period of the pod, and a look each 10 seconds


def test_a_node_in_its_place_is_there_before_pods_are_evicted_within_budgets() -> None:
    outcome = played(
        deployment("web", "900m", 60, 8), scale("web", 900, 3), objects=[budget("web", 1)], pools=[pool(after="1m")]
    )
    [first, second] = list_actions(outcome, LAUNCHED)
    assert first[1].startswith("plain-8")
    assert (second[1].startswith("plain-4"), "in the place of" in second[1]) == (True, True)
    [(removal_time, why)] = list_actions(outcome, REMOVED)
    assert why == "Underutilized: replace"
    evicted = outcome.recorded_forced_moves.time[outcome.recorded_forced_moves.kind == MoveKind.EVICTED]
    assert len(evicted) == 3
    assert evicted.min() >= second[0] + 60.0
    assert removal_time >= evicted.max()
    assert compute_measures(outcome)["disruptions"].value == 0.0
    assert not len(outcome.pending)


def test_budgets_of_the_nodepool_hold_nodes() -> None:
    changes = deployment("web", "1500m", 60, 4), scale("web", 600, 0)
    none = played(*changes, pools=[pool(budgets=[{"nodes": "0"}])])
    assert list_actions(none, REMOVED) == []
    never = played(*changes, pools=[pool(after="Never")])
    assert list_actions(never, REMOVED) == []


def test_limits_hold_and_what_cannot_be_helped_waits() -> None:
    limited = pool()
    limited["spec"]["limits"] = {"cpu": "4"}
    outcome = played(deployment("web", "3500m", 60, 3), pools=[limited])
    assert len(list_actions(outcome, LAUNCHED)) == 1
    assert len(outcome.pending) == 2


def test_nodes_of_the_base_count_as_of_a_nodepool_that_adopts_them() -> None:
    outcome = played(deployment("web", "1", 60, 1), objects=[node("old-1"), node("old-2")], adopt="default")
    assert [text for _, text in list_actions(outcome, REMOVED)][:1] == ["Empty: delete"]
    stays = played(deployment("web", "1", 60, 1), objects=[node("old-1"), node("old-2")])
    assert list_actions(stays, REMOVED) == []


def test_cost_is_the_price_of_the_offering_for_as_long_as_the_node_is_there() -> None:
    outcome = played(deployment("web", "1500m", 60, 2), run_until="2h")
    expected = 0.4 * (7200.0 - 121.0) / 3600.0
    assert compute_measures(outcome)["node_cost"].value == pytest.approx(expected, rel=1e-3)
    assert RunOutcome.decode(outcome.encode()).autoscaler_actions == outcome.autoscaler_actions


def test_what_cannot_be_is_told_in_the_document() -> None:
    with pytest.raises(ScenarioError) as raised:
        played(pools=[pool(), pool()], adopt="other")
    [problem] = raised.value.problems
    assert (problem.path, problem.text) == ("autoscaler.karpenter.nodePools[1].metadata.name", "is there twice")
    with pytest.raises(ScenarioError, match="there is no NodePool other") as raised:
        played(adopt="other")
    assert [problem.path for problem in raised.value.problems] == ["autoscaler.karpenter.adopt"]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["300m", "900m", "2500m"]), st.integers(1, 5), st.integers(0, 20), st.integers(0, 5)),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 2),
)
def test_whatever_comes_every_pod_runs_in_the_end_and_no_budget_is_broken(
    kinds: list[tuple[str, int, int, int]], allowed: int
) -> None:
    changes = []
    for place, (cpu, replicas, at, later) in enumerate(kinds):
        changes += [deployment(f"w{place}", cpu, 60.0 * at, replicas), scale(f"w{place}", 1500.0, later)]
    outcome = played(*changes, objects=[budget(f"w{place}", allowed) for place in range(len(kinds))], run_until="2h")
    assert not len(outcome.pending)
    assert compute_measures(outcome)["disruptions"].value == 0.0
    launched = [name for _, action, name, _ in outcome.autoscaler_actions if action == LAUNCHED]
    removed = [name for _, action, name, _ in outcome.autoscaler_actions if action == REMOVED]
    assert len(set(launched)) == len(launched)
    assert set(removed) <= set(launched)
    assert len(set(removed)) == len(removed)
    if not any(later for *_, later in kinds):
        assert sorted(removed) == sorted(launched)
