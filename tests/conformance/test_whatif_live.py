"""A recorded production cluster, run as a scenario: its placements are those of the real scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.engine.config import Release
from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from tests.conformance.record import DEFAULT, PACKING, PODS, RECORDED, RELEASE
from tests.conformance.record import read as golden
from tests.support import openb as recorded
from tests.support import tiers

FIRST = PODS if tiers.NIGHTLY else 300
DOCUMENT = {
    "apiVersion": "kschedweb/v1",
    "kind": "Scenario",
    "name": "openb",
    "base": {"empty": True},
    "changes": [{"addNodes": {"file": "nodes", "format": "openb"}}],
    "run": {"until": "quiet"},
}


def openb(pods: int = PODS) -> PreparedScenario:
    """The 1,523 nodes, and the first pods in their order, which stay."""
    arrivals = [{"trace": {"file": "pods", "format": "openb", "leave": False, "limit": pods}}]
    return prepare_scenario(read_scenario(DOCUMENT | {"arrivals": arrivals}), [], recorded.files(), seed=1, now=0.0)


def placed(prepared: PreparedScenario, config: dict, release: Release) -> dict[str, str]:
    """The node of each pod, "" for none."""
    configuration = load(config, release).configuration
    assert configuration is not None
    outcome = run_scenario(prepared, configuration)
    nodes = zip(outcome.pods, outcome.node.tolist(), strict=True)
    return {pod: outcome.nodes[node] if node >= 0 else "" for pod, node in nodes}


@pytest.mark.parametrize("line", golden(RECORDED), ids=lambda line: line["name"])
def test_a_recorded_cluster_is_filled_as_the_real_scheduler_filled_it(line: dict) -> None:
    nodes = [node["metadata"]["name"] for node in recorded.nodes()]
    pods = [f"default/{pod['metadata']['name']}" for pod in recorded.pods(FIRST)]
    places = line["expected"][:FIRST]
    theirs = {pod: nodes[place] if place >= 0 else "" for pod, place in zip(pods, places, strict=True)}
    assert len(theirs) == FIRST
    assert placed(openb(FIRST), line["config"], RELEASES[RELEASE]) == theirs


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(DEFAULT, id="default", marks=pytest.mark.nightly),
        pytest.param(PACKING, id="packing with GPUs weighed"),
    ],
)
def test_a_recorded_cluster_is_filled_as_the_real_scheduler_fills_it(
    config: dict, oracle: Callable[[str, str], Any], real_release: Release
) -> None:
    prepared = openb()
    pending = [event.pod for event in prepared.events if isinstance(event, PodArrives)]
    scenario = {"name": "openb", "config": config, "objects": prepared.objects, "pending": pending}
    answer = oracle("schedule", json.dumps(scenario))[0]
    theirs = {placement["pod"]: placement.get("node", "") for placement in answer["placements"]}
    assert len(theirs) == PODS
    assert placed(prepared, config, real_release) == theirs
