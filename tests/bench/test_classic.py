"""The classic engine beside kube-scheduler 1.13's own code, one after the other, in the same run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import ClassicSnapshot, Registry
from kschedweb.engine.releases.classic.comparison import compare_pods
from tests.bench import workloads
from tests.bench.conftest import measure_milliseconds
from tests.bench.test_engine import ours
from tests.support import tiers
from tests.support.needs import missing

NODES, BOUND, PENDING = 5000, 1000, 300 if tiers.NIGHTLY else 150
# How many times as fast. Of "mixed" no two pods are alike, so that nothing of one can be remembered for the next.
LIMITS = {"basic": 30, "node affinity": 25, "mixed": 15}
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "bench"},
    "spec": {"selector": {"app": "web"}},
}


def scenario(kind: str) -> str:
    """One of the workloads as a cluster of that time, with a service for SelectorSpreadPriority to count."""
    document = workloads.scenario(kind, nodes=NODES, bound=BOUND, pending=PENDING)
    del document["config"]
    document["objects"].append(SERVICE)
    return json.dumps({**document, "classic": {"percentageOfNodesToScore": 100}}).replace(workloads.ZONE, BETA_ZONE)


@pytest.mark.parametrize(
    "kind", ["mixed", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("basic", "node affinity"))]
)
def test_every_node_scored(kind: str, assets: Path, compare: Callable[..., None]) -> None:
    command = assets / "oracle-classic"
    if not command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle-classic")
    text, limit = scenario(kind), LIMITS[kind]
    process = subprocess.run([command, "bench"], input=text, capture_output=True, text=True, timeout=600, check=True)
    theirs = json.loads(process.stdout)
    mine = ours(text, limit * theirs["PodsPerSecond"])
    compare(f"classic, {kind}, 5,000 nodes", mine, theirs, limit)


def test_moves_to_a_profile(report: Callable[..., None]) -> None:
    """Both schedulers asked about every node for each pod."""
    for kind in ("basic", "mixed"):
        raw = json.loads(scenario(kind))
        classic, snapshot = ClassicSnapshot.from_objects(raw["objects"]), Snapshot.from_objects(raw["objects"])
        configuration = load(workloads.CONFIG).configuration
        assert configuration is not None
        comparisons = compare_pods(
            classic, snapshot, Registry().build_algorithm(), configuration, map(Pod.from_json, raw["pending"])
        )
        times = [measure_milliseconds(partial(next, comparisons)) for _ in range(PENDING)]
        report(f"classic and profile, {kind}, a pod", times, remark=f"{1000 * PENDING / sum(times):,.0f} pods/s")
