"""The manifests that the founding documentation prints: by ``explain``, in scenarios, and by the real scheduler."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kschedweb.engine.__main__ import main
from kschedweb.engine.config import Release
from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals import find_refusals
from kschedweb.engine.simulation import Simulation
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.studies import prepare_scenario, read_scenario
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from tests.engine.builders import explain, node, pod
from tests.engine.studies.worlds import configuration
from tests.support.manifests import (
    AN_HOUR,
    CACHE,
    EQUAL,
    PODS,
    RUNTIME_CLASS,
    STAYS,
    UNREACHABLE,
    WEB,
    ZONE,
    Manifest,
    tolerant,
)

THREE = tuple(node(f"node-{number}") for number in (1, 2, 3))
KEY1 = {"key": "key1", "value": "value1"}
AGENT = """\
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: main}]}}}
"""
each_pod = pytest.mark.parametrize("manifest", PODS, ids=lambda manifest: manifest.name)


def scenario(manifest: Manifest, waiting: Json) -> str:
    """The command line's scenario in which the pod ``waiting`` does so."""
    return json.dumps({"name": manifest.name, "objects": list(manifest.objects), "pending": [waiting], "mode": "each"})


def stored(manifest: Manifest) -> Json:
    """Its pod as an API server stores it."""
    objects = ClusterObjects()
    for raw in manifest.objects:
        objects.add(raw)
    return admit_pod(manifest.document, objects)


def comes(text: str, **more: Any) -> Json:
    return {"addWorkload": {"manifest": yaml.safe_load(text)}, **more}


def tainted(*taints: Json, at: str) -> Json:
    return {"at": at, "taintNodes": {"nodes": ["node1"], "taints": list(taints)}}


def played(objects: tuple[Json, ...], *changes: Json, run_until: str = "1m") -> RunOutcome:
    document = {"objects": list(objects), "changes": list(changes), "run": {"place": "pending", "until": run_until}}
    prepared = prepare_scenario(read_scenario({"name": "printed", **document}), [], {}, seed=1, now=0.0)
    assert not prepared.notes
    return run_scenario(prepared, configuration())


def node_by_pod(outcome: RunOutcome, time: float) -> dict[str, str | None]:
    """Pod -> its node at ``time``."""
    places = outcome.placed(time).tolist()
    return {key: outcome.nodes[at] if at >= 0 else None for key, at in zip(outcome.pods, places, strict=True)}


@each_pod
def test_explain_says_which_nodes_fit(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(scenario(manifest, manifest.document)))
    assert main(["explain"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["pods"]
    assert set(answer.get("feasible") or ()) == set(manifest.fits)
    assert set(answer.get("best") or ()) == set(manifest.best or manifest.fits)


@each_pod
def test_the_real_scheduler_says_the_same(
    manifest: Manifest,
    oracle: Callable[[str, str], Any],
    real_release: Release,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario_text = scenario(manifest, stored(manifest))
    monkeypatch.setattr(sys, "stdin", io.StringIO(scenario_text))
    assert main(["explain", "--release", real_release.name]) == 0
    (ours,) = json.loads(capsys.readouterr().out)["pods"]
    (theirs,) = oracle("explain", scenario_text)[0]["pods"]
    for part in ("feasible", "rejected", "total", "best", "message"):
        assert ours.get(part) == theirs.get(part), part


@each_pod
def test_a_scenario_places_the_pod(manifest: Manifest) -> None:
    outcome = played(manifest.objects, comes(manifest.text))
    place = node_by_pod(outcome, 60)[f"default/{manifest.document['metadata']['name']}"]
    assert (place in (manifest.best or manifest.fits)) if manifest.fits else place is None


@pytest.mark.parametrize("text", [*(manifest.text for manifest in PODS), CACHE, WEB, RUNTIME_CLASS])
def test_an_api_server_would_take_it(text: str) -> None:
    assert [*find_refusals(yaml.safe_load(text))] == []


def test_each_web_server_stands_beside_a_cache_of_its_own() -> None:
    placed = node_by_pod(played(THREE, comes(CACHE), comes(WEB)), 60)
    for workload in ("redis-cache", "web-server"):
        cache_places = [place for name, place in placed.items() if name.startswith(f"default/{workload}-")]
        assert sorted(map(str, cache_places)) == ["node-1", "node-2", "node-3"]


def test_a_fourth_cache_waits_for_a_fourth_node() -> None:
    scaled = {"at": "10s", "scaleWorkload": {"workload": "default/Deployment/redis-cache", "replicas": 4}}
    outcome = played(THREE, comes(CACHE), scaled, {"at": "30s", "addNodes": {"like": "node-1"}})
    assert list(node_by_pod(outcome, 20).values()).count(None) == 1
    assert sorted(map(str, node_by_pod(outcome, 60).values()))[:2] == ["node-1", "node-1-new-1"]


@pytest.mark.parametrize(
    ("tolerations", "hour", "later"),
    [(AN_HOUR, "node1", None), (STAYS, "node1", "node1"), (EQUAL, None, None)],
    ids=["for an hour", "for good", "of another effect"],
)
def test_a_taint_that_evicts_leaves_pods_their_time(tolerations: str, hour: str | None, later: str | None) -> None:
    evicting = tainted({**KEY1, "effect": "NoExecute"}, at="10m")
    outcome = played((node("node1"),), comes(tolerant(tolerations)), evicting, run_until="3h")
    assert node_by_pod(outcome, 599)["default/tolerant"] == "node1"
    assert node_by_pod(outcome, 600 + 3590)["default/tolerant"] == hour
    assert node_by_pod(outcome, 600 + 3660)["default/tolerant"] == later


def test_a_pod_whose_taint_goes_in_time_stays() -> None:
    untaint = {"at": "30m", "taintNodes": {"nodes": ["node1"], "remove": ["key1"]}}
    evicting = tainted({**KEY1, "effect": "NoExecute"}, at="10m")
    outcome = played((node("node1"),), comes(tolerant(AN_HOUR)), evicting, untaint, run_until="3h")
    assert node_by_pod(outcome, 10_000)["default/tolerant"] == "node1"


def test_a_pod_that_runs_does_not_mind_a_taint_against_new_ones() -> None:
    taints = [{**KEY1, "effect": "NoSchedule"}, {**KEY1, "effect": "NoExecute"}]
    third = {"key": "key2", "value": "value2", "effect": "NoSchedule"}
    outcome = played(
        (node("node1"),), comes(tolerant(EQUAL + STAYS)), tainted(*taints, third, at="10m"), run_until="3h"
    )
    assert node_by_pod(outcome, 10_000)["default/tolerant"] == "node1"


def test_pods_are_told_to_leave_a_silent_node_after_their_time_and_those_of_daemon_sets_never() -> None:
    nodes = [node("node1", labels={ZONE: "a"}), node("node2", labels={ZONE: "b"})]
    alone = tolerant(UNREACHABLE) + "  nodeSelector: {topology.kubernetes.io/zone: a}\n"
    changes = [comes(AGENT), comes(alone), {"at": "10m", "failZone": {"zone": "a"}}]
    document = read_scenario({"name": "silence", "objects": nodes, "changes": changes, "run": {"until": "4h"}})
    prepared = prepare_scenario(document, [], {}, seed=1, now=0.0)
    simulation = Simulation(prepared.objects, configuration(), prepared.events, prepared.settings)
    (evicted,) = simulation.run(4 * 3600.0).evicted
    # Unreachable from 655 on, the first look after 50 seconds of silence.
    assert (evicted.pod, evicted.time) == ("default/tolerant", 655.0 + 6000.0)


@pytest.mark.parametrize(
    "key",
    [
        *("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/memory-pressure"),
        *("node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"),
        *("node.kubernetes.io/network-unavailable", "node.cloudprovider.kubernetes.io/uninitialized"),
    ],
)
def test_taints_of_the_control_plane_keep_pods_away_that_do_not_tolerate_them(key: str) -> None:
    closed = node("closed", taints=[{"key": key, "effect": "NoSchedule"}])
    toleration = {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    assert explain(pod("p"), closed, node("open"))["feasible"] == ["open"]
    assert explain(pod("p", tolerations=[toleration]), closed)["feasible"] == ["closed"]


def test_nodes_kept_for_one_team_take_its_pods_and_no_others() -> None:
    dedicated = {"key": "dedicated", "value": "team", "effect": "NoSchedule"}
    nodes = (node("theirs", labels={"dedicated": "team"}, taints=[dedicated]), node("open"))
    ours: Json = {"tolerations": [{**dedicated, "operator": "Equal"}]}
    assert explain(pod("p"), *nodes)["feasible"] == ["open"]
    assert explain(pod("p", **ours), *nodes)["feasible"] == ["theirs", "open"]
    assert explain(pod("p", **ours, nodeSelector={"dedicated": "team"}), *nodes)["feasible"] == ["theirs"]


@pytest.mark.parametrize(
    ("key", "host_network", "comes_there"),
    [
        *((key, False, True) for key in ("memory-pressure", "disk-pressure", "pid-pressure", "unschedulable")),
        ("network-unavailable", True, True),
        ("network-unavailable", False, False),
    ],
)
def test_daemon_sets_tolerate_what_their_controller_adds(key: str, host_network: bool, comes_there: bool) -> None:
    closed = node("closed", taints=[{"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule"}])
    agent = yaml.safe_load(AGENT)
    agent["spec"]["template"]["spec"]["hostNetwork"] = host_network
    placed = node_by_pod(played((closed, node("open")), {"addWorkload": {"manifest": agent}}), 60)
    assert sorted(map(str, placed.values())) == (["closed", "open"] if comes_there else ["open"])
