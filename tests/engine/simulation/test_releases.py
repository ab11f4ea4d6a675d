"""Simulations of the same cluster under one release and another."""

from __future__ import annotations

import pytest

from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.simulation import PodArrives, PodChanges, Simulation, SimulationEvent, SimulationSettings
from tests.engine.builders import CONFIGURATION, node, pod

LARGE, SMALL = {"cpu": "3"}, {"cpu": "2"}


def bound(name: str, objects: list[dict], *events: SimulationEvent) -> dict[str, float]:
    """Pod -> when it was bound, as the release decides."""
    configuration = load(CONFIGURATION, RELEASES[name]).configuration
    assert configuration is not None
    result = Simulation(objects, configuration, events, SimulationSettings(cycle=0.0)).run(100.0)
    return {binding.pod.removeprefix("default/"): binding.time for binding in result.bound}


def resized(name: str, on: str = "a") -> dict:
    """One container asks for 1 CPU and has 2 still, the other asks for 2 and has 1."""
    asks, has = {"one": "1", "two": "2"}, {"one": "2", "two": "1"}
    raw = pod(name, on=on)
    raw["spec"]["containers"] = [
        {"name": name, "image": "x", "resources": {"requests": {"cpu": cpu}}} for name, cpu in asks.items()
    ]
    raw["status"] = {
        "containerStatuses": [
            {"name": name, "resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": asks[name]}}
            for name, cpu in has.items()
        ]
    }
    return raw


@pytest.mark.parametrize("name", RELEASES)
def test_a_pod_under_a_resize_takes_what_the_release_counts(name: str) -> None:
    fits = {"p"} if RELEASES[name].behaviour.resize_pod_level_sums else set()
    small = PodArrives(10.0, pod("p", requests={"cpu": "1"}))
    assert bound(name, [node("a"), resized("r")], small).keys() == fits
    assert bound(name, [node("a")], PodArrives(0.0, resized("r")), small).keys() == fits
    plain = resized("r")
    del plain["status"]
    changed = [PodArrives(0.0, plain), PodChanges(5.0, resized("r")), small]
    assert bound(name, [node("a")], *changed).keys() == fits


@pytest.mark.parametrize("name", RELEASES)
def test_a_gated_pod_keeps_the_room_that_it_was_promised_since_1_37(name: str) -> None:
    gated = pod("gated", requests=LARGE, schedulingGates=[{"name": "g"}])
    gated["status"] = {"nominatedNodeName": "a"}
    times = bound(name, [node("a"), gated], PodArrives(10.0, pod("other", requests=SMALL)))
    assert ("other" in times) is not RELEASES[name].behaviour.nomination_on_pod_add
