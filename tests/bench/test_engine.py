"""The engine beside kube-scheduler's own code: the same scenarios, one after the other, in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from tests.bench import growth, workloads
from tests.bench.conftest import measure_milliseconds
from tests.conftest import ROOT
from tests.support import openb

Oracle = Callable[[str, str], Any]
# How many times as fast as kube-scheduler scoring every node: about half of the least that two busy cores have shown.
LIMITS = {"basic": 60, "mixed": 8}
PENDING = {"mixed": 150}
COMMIT = {"basic", "mixed"}  # the others are told apart by the full tier
KINDS = list(workloads.KINDS)
nightly = pytest.mark.nightly
RUNS = 3
CHECKED = 100  # pods whose placements are compared, one by one


def as_release(release: Release, scenario: Json) -> Json:
    """Return the scenario as the engine is asked: as the release that kube-scheduler is here, and its oracle."""
    return scenario | {"release": release.name}


def engine(command: list[str], scenario: str) -> Any:
    """Return the answer of the engine's command line."""
    whole = [sys.executable, "-m", "kschedweb.engine", *command]
    process = subprocess.run(whole, cwd=ROOT, input=scenario, capture_output=True, text=True, timeout=900, check=True)
    return json.loads(process.stdout)


def ours(scenario: str, enough: float = 0.0) -> Json:
    """The first run with ``enough`` pods a second, else the best of some; each is a new process."""
    best: Json = {}
    for _ in range(RUNS):
        answer = engine(["schedule", "--summary"], scenario)
        best = max(best or answer, answer, key=lambda candidate: float(candidate["PodsPerSecond"]))
        if best["PodsPerSecond"] >= enough:
            break
    return best


@pytest.mark.parametrize(
    "kind", [kind if kind in COMMIT else pytest.param(kind, marks=nightly) for kind in workloads.KINDS]
)
def test_every_node_scored(
    kind: str, oracle: Oracle, real_release: Release, compare: Callable[..., None], long: bool
) -> None:
    whole = as_release(real_release, workloads.scenario(kind, pending=500 if long else PENDING.get(kind, 300)))
    scenario = json.dumps(whole)
    theirs, limit = oracle("bench", scenario), LIMITS.get(kind, 30)
    mine = ours(scenario, limit * theirs["PodsPerSecond"])
    first = json.dumps({**whole, "pending": whole["pending"][:CHECKED]})
    assert engine(["schedule"], first)["placements"] == oracle("schedule", first)[0]["placements"]
    compare(f"{kind}, 5,000 nodes", mine, theirs, limit)


@nightly
def test_every_node_scored_beside_a_sample(oracle: Oracle, real_release: Release, compare: Callable[..., None]) -> None:
    """kube-scheduler looks at a tenth of the nodes here, the engine at all of them."""
    sampling = oracle("bench", json.dumps(workloads.scenario("basic", workloads.SAMPLING)))
    mine = ours(json.dumps(as_release(real_release, workloads.scenario("basic"))), 6 * sampling["PodsPerSecond"])
    compare("basic, beside kube-scheduler on a sample", mine, sampling, 6)


def test_preemption(oracle: Oracle, real_release: Release, compare: Callable[..., None], long: bool) -> None:
    scenario = json.dumps(as_release(real_release, workloads.preemption(pending=500 if long else 150)))
    theirs = oracle("bench", scenario)
    mine = ours(scenario, 10 * theirs["PodsPerSecond"])
    # Every node is as good as the other, and kube-scheduler takes any: who has to go is compared by number.
    placements = engine(["schedule"], scenario)["placements"]
    assert {len(placement["victims"]) for placement in placements} == {3}
    assert mine["Scheduled"] == theirs["Scheduled"] == len(placements)
    compare("preemption, 5,000 nodes", mine, theirs, 10)


@nightly
def test_recorded_cluster(oracle: Oracle, real_release: Release, compare: Callable[..., None]) -> None:
    objects, pending = openb.nodes(), openb.pods(1000)
    config = {key: value for key, value in workloads.CONFIG.items() if key != "percentageOfNodesToScore"}
    whole = {"name": "openb", "config": config, "objects": objects, "pending": pending}
    scenario = json.dumps(as_release(real_release, whole))
    compare("recorded cluster, 1,523 nodes, sampled by both", ours(scenario), oracle("bench", scenario))


def test_explanation(report: Callable[..., None]) -> None:
    scenario = workloads.scenario("mixed", pending=20)
    snapshot = Snapshot.from_objects([*scenario["objects"], *scenario["pending"]])
    scheduler = Scheduler(snapshot, configuration())
    milliseconds = [measure_milliseconds(partial(scheduler.explain, pod)) for pod in snapshot.pending]
    report("one explanation, 5,000 nodes", milliseconds, 30)


@nightly
def test_a_very_large_cluster(report: Callable[..., None], long: bool) -> None:
    """Of 100,000 nodes and 300,000 pods with --long."""
    nodes, gibibytes, limit = (100_000, 3.0, 10.0) if long else (20_000, 0.8, 4.0)
    grown = growth.measured(nodes)
    assert grown.gibibytes <= gibibytes
    report(f"read {nodes:,} nodes and {3 * nodes:,} pods", [grown.reading * 1000], remark=f"{grown.gibibytes:.2f} GiB")
    for kind, rate in grown.rates.items():
        report(f"{kind}, {nodes:,} nodes", [1000 / rate], limit, f"{rate:,.0f} pods/s")


def configuration() -> Configuration:
    configuration = load(workloads.CONFIG).configuration
    assert configuration is not None
    return configuration
