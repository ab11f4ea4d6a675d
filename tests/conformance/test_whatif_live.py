"""A recorded production cluster, run as a scenario: its placements are those of the real scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.engine.config import load
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.whatif.document import read
from kschedweb.engine.whatif.prepared import Prepared, prepare
from kschedweb.engine.whatif.run import run
from tests.engine.builders import CONFIGURATION
from tests.support.openb import GPU

RESOURCES = [{"name": name, "weight": weight} for name, weight in (("cpu", 1), ("memory", 1), (GPU, 5))]
STRATEGY = {"scoringStrategy": {"type": "MostAllocated", "resources": RESOURCES}}
DEFAULT = {**CONFIGURATION, "parallelism": 1}  # with more the real scheduler's sample of nodes differs from run to run
PACKING = {
    **DEFAULT,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [{"name": "NodeResourcesFit", "args": STRATEGY}],
        }
    ],
}
PODS = 1000
DOCUMENT = {
    "apiVersion": "kschedweb/v1",
    "kind": "Scenario",
    "name": "openb",
    "base": {"empty": True},
    "changes": [{"addNodes": {"file": "nodes", "format": "openb"}}],
    "arrivals": [{"trace": {"file": "pods", "format": "openb", "leave": False, "limit": PODS}}],
    "run": {"until": "quiet"},
}


def openb(shared: Path) -> Prepared:
    """The 1,523 nodes, and the first pods in their order, which stay."""
    data = shared / "data"
    files = {
        "nodes": (data / "openb_node_list_all_node.csv.gz").read_bytes(),
        "pods": (data / "openb_pod_list_default.csv.gz").read_bytes(),
    }
    return prepare(read(DOCUMENT), [], files, seed=1, now=0.0)


@pytest.mark.parametrize("config", [DEFAULT, PACKING], ids=["default", "packing with GPUs weighed"])
def test_a_recorded_cluster_is_filled_as_the_real_scheduler_fills_it(
    config: dict, shared: Path, oracle: Callable[[str, str], Any]
) -> None:
    prepared = openb(shared)
    configuration = load(config).configuration
    assert configuration is not None
    outcome = run(prepared, configuration)
    pending = [event.pod for event in prepared.events if isinstance(event, PodArrives)]
    scenario = {"name": "openb", "config": config, "objects": prepared.objects, "pending": pending}
    answer = oracle("schedule", json.dumps(scenario))[0]
    theirs = {one["pod"]: one.get("node", "") for one in answer["placements"]}
    ours = {
        pod: outcome.nodes[node] if node >= 0 else ""
        for pod, node in zip(outcome.pods, outcome.node.tolist(), strict=True)
    }
    assert len(ours) == PODS
    assert ours == theirs
