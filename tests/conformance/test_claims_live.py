"""Decisions about resource claims that nobody wrote down, answered by the engine and by the real scheduler."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.hunting import comparable
from tests.conformance.making.claims import ClaimMaker
from tests.conformance.reference import Reference
from tests.support import tiers

SEED = tiers.seed()
COUNT = tiers.count(150, 1500)
OUTSIDE = "outside the simulation: "
PLUGIN, FITS = "DynamicResources", "fits, and so may others"
# What kube-scheduler says where it searched for devices and found none, or where its clock ran out.
SEARCHED = (["cannot allocate all claims"], ["resourceclaim not available on the node"])


def draw_scenarios() -> list[dict]:
    maker = ClaimMaker(Random(SEED))
    return [maker.scenario(f"claims-{SEED}-{number}") for number in range(COUNT)]


def agrees(ours: dict, expected: dict, *, slices: bool) -> bool:
    """Return whether two explanations of a pod agree, as far as the engine explains anything.

    Where the engine says that devices would be chosen, the real scheduler must have searched for some.
    """
    unknown = {node for node, verdict in ours["filters"].get(PLUGIN, {}).items() if outside(verdict)}
    fitting = {node for node in unknown if FITS in ours["filters"][PLUGIN][node]["reasons"][0]}
    real = expected["filters"].get(PLUGIN, {})
    if not (slices or all(real.get(node, {}).get("reasons") in SEARCHED for node in unknown - fitting)):
        return False
    if not fitting <= set(expected["feasible"] or ()):
        return False
    if not ours.get("message", "").startswith(OUTSIDE):
        return without_nodes(ours, unknown) == without_nodes(expected, unknown)
    open_nodes = {node for node, verdict in ours["rejected"].items() if outside(verdict)}
    elsewhere = set(expected["feasible"] or ()) - open_nodes
    return (
        bool(open_nodes)
        and elsewhere.isdisjoint(ours["rejected"])
        and verdicts(ours, unknown, open_nodes) == verdicts(expected, unknown, open_nodes)
    )


def outside(verdict: dict) -> bool:
    return verdict["reasons"][0].startswith(OUTSIDE)


def without_nodes(answer: dict, unknown: set[str]) -> Any:
    """The answer, without what DynamicResources says of ``unknown`` nodes."""
    filters = {
        plugin: {node: verdict for node, verdict in column.items() if plugin != PLUGIN or node not in unknown}
        for plugin, column in answer["filters"].items()
    }
    return comparable({**answer, "filters": {plugin: column for plugin, column in filters.items() if column}})


def verdicts(answer: dict, unknown: set[str], open_nodes: set[str]) -> Any:
    """The verdicts alone, without those on nodes where devices would be chosen."""
    rejected = {node: verdict for node, verdict in answer["rejected"].items() if node not in open_nodes}
    return without_nodes(answer, unknown)["filters"], comparable(rejected)


def explained_alike(scenario: dict, expected: dict) -> bool:
    slices = any(item["kind"] == "ResourceSlice" for item in scenario["objects"])
    for mine, theirs in zip(Scenario.from_text(json.dumps(scenario)).explain()["pods"], expected["pods"], strict=True):
        if not agrees(mine, theirs, slices=slices):
            return False
        if mine.get("message", "").startswith(OUTSIDE) and scenario["mode"] == "sequence":
            return True  # from here on the two clusters differ
    return True


def test_the_engine_explains_claims_as_the_real_scheduler(reference: Reference) -> None:
    scenarios = [reference.with_release(scenario) for scenario in draw_scenarios()]
    differing = [
        scenario["name"]
        for scenario, expected in zip(scenarios, reference.answers("explain", scenarios), strict=True)
        if not explained_alike(scenario, expected)
    ]
    assert differing == [], f"HUNT_SEED={SEED}"


def placed_alike(ours: list[dict], expected: list[dict]) -> bool:
    for mine, real in zip(ours, expected, strict=True):
        if mine.get("message", "").startswith(OUTSIDE):
            return True  # from here on the two clusters differ
        if mine != real:
            return False
    return True


def test_the_engine_places_pods_with_claims_as_the_real_scheduler(reference: Reference) -> None:
    scenarios = [reference.with_release(scenario) for scenario in draw_scenarios()]
    differing = [
        scenario["name"]
        for scenario, expected in zip(scenarios, reference.answers("schedule", scenarios), strict=True)
        if not placed_alike(Scenario.from_text(json.dumps(scenario)).schedule()["placements"], expected["placements"])
    ]
    assert differing == [], f"HUNT_SEED={SEED}"
