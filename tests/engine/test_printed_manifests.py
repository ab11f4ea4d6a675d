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
each = pytest.mark.parametrize("one", PODS, ids=lambda one: one.name)


def scenario(one: Manifest, waiting: Json) -> str:
    """The command line's scenario in which the pod ``waiting`` does so."""
    return json.dumps({"name": one.name, "objects": list(one.objects), "pending": [waiting], "mode": "each"})


def stored(one: Manifest) -> Json:
    """Its pod as an API server stores it."""
    known = ClusterObjects()
    for raw in one.objects:
        known.add(raw)
    return admit_pod(one.document, known)


def comes(text: str, **more: Any) -> Json:
    return {"addWorkload": {"manifest": yaml.safe_load(text)}, **more}


def tainted(*taints: Json, at: str) -> Json:
    return {"at": at, "taintNodes": {"nodes": ["node1"], "taints": list(taints)}}


def played(objects: tuple[Json, ...], *changes: Json, until: str = "1m") -> RunOutcome:
    document = {"objects": list(objects), "changes": list(changes), "run": {"place": "pending", "until": until}}
    prepared = prepare_scenario(read_scenario({"name": "printed", **document}), [], {}, seed=1, now=0.0)
    assert not prepared.notes
    return run_scenario(prepared, configuration())


def where(outcome: RunOutcome, time: float) -> dict[str, str | None]:
    """Pod -> its node at ``time``."""
    places = outcome.placed(time).tolist()
    return {key: outcome.nodes[at] if at >= 0 else None for key, at in zip(outcome.pods, places, strict=True)}


@each
def test_explain_says_which_nodes_fit(
    one: Manifest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(scenario(one, one.document)))
    assert main(["explain"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["pods"]
    assert set(told.get("feasible") or ()) == set(one.fits)
    assert set(told.get("best") or ()) == set(one.best or one.fits)


@each
def test_the_real_scheduler_says_the_same(
    one: Manifest,
    oracle: Callable[[str, str], Any],
    real_release: Release,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = scenario(one, stored(one))
    monkeypatch.setattr(sys, "stdin", io.StringIO(asked))
    assert main(["explain", "--release", real_release.name]) == 0
    (ours,) = json.loads(capsys.readouterr().out)["pods"]
    (theirs,) = oracle("explain", asked)[0]["pods"]
    for part in ("feasible", "rejected", "total", "best", "message"):
        assert ours.get(part) == theirs.get(part), part


@each
def test_a_scenario_places_the_pod(one: Manifest) -> None:
    outcome = played(one.objects, comes(one.text))
    place = where(outcome, 60)[f"default/{one.document['metadata']['name']}"]
    assert (place in (one.best or one.fits)) if one.fits else place is None


@pytest.mark.parametrize("text", [*(one.text for one in PODS), CACHE, WEB, RUNTIME_CLASS])
def test_an_api_server_would_take_it(text: str) -> None:
    assert [*find_refusals(yaml.safe_load(text))] == []


def test_each_web_server_stands_beside_a_cache_of_its_own() -> None:
    placed = where(played(THREE, comes(CACHE), comes(WEB)), 60)
    for workload in ("redis-cache", "web-server"):
        found = [place for name, place in placed.items() if name.startswith(f"default/{workload}-")]
        assert sorted(map(str, found)) == ["node-1", "node-2", "node-3"]


def test_a_fourth_cache_waits_for_a_fourth_node() -> None:
    scaled = {"at": "10s", "scaleWorkload": {"workload": "default/Deployment/redis-cache", "replicas": 4}}
    outcome = played(THREE, comes(CACHE), scaled, {"at": "30s", "addNodes": {"like": "node-1"}})
    assert list(where(outcome, 20).values()).count(None) == 1
    assert sorted(map(str, where(outcome, 60).values()))[:2] == ["node-1", "node-1-new-1"]


@pytest.mark.parametrize(
    ("tolerations", "hour", "later"),
    [(AN_HOUR, "node1", None), (STAYS, "node1", "node1"), (EQUAL, None, None)],
    ids=["for an hour", "for good", "of another effect"],
)
def test_a_taint_that_evicts_leaves_pods_their_time(tolerations: str, hour: str | None, later: str | None) -> None:
    evicting = tainted({**KEY1, "effect": "NoExecute"}, at="10m")
    outcome = played((node("node1"),), comes(tolerant(tolerations)), evicting, until="3h")
    assert where(outcome, 599)["default/tolerant"] == "node1"
    assert where(outcome, 600 + 3590)["default/tolerant"] == hour
    assert where(outcome, 600 + 3660)["default/tolerant"] == later


def test_a_pod_whose_taint_goes_in_time_stays() -> None:
    gone = {"at": "30m", "taintNodes": {"nodes": ["node1"], "remove": ["key1"]}}
    evicting = tainted({**KEY1, "effect": "NoExecute"}, at="10m")
    outcome = played((node("node1"),), comes(tolerant(AN_HOUR)), evicting, gone, until="3h")
    assert where(outcome, 10_000)["default/tolerant"] == "node1"


def test_a_pod_that_runs_does_not_mind_a_taint_against_new_ones() -> None:
    taints = [{**KEY1, "effect": "NoSchedule"}, {**KEY1, "effect": "NoExecute"}]
    third = {"key": "key2", "value": "value2", "effect": "NoSchedule"}
    outcome = played((node("node1"),), comes(tolerant(EQUAL + STAYS)), tainted(*taints, third, at="10m"), until="3h")
    assert where(outcome, 10_000)["default/tolerant"] == "node1"


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
    placed = where(played((closed, node("open")), {"addWorkload": {"manifest": agent}}), 60)
    assert sorted(map(str, placed.values())) == (["closed", "open"] if comes_there else ["open"])
