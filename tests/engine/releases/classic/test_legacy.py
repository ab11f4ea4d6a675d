"""Policies as kube-scheduler 1.22 reads them: all recorded answers of 1.22.17."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.releases.classic import load_policy
from kschedweb.engine.releases.classic.legacy import LegacyError, legacy_profile
from tests.conformance.batches import differing
from tests.conformance.policies import policies, recorded


def answer(policy: dict[str, Any]) -> dict[str, Any]:
    """In the form of the recorded answers."""
    loaded = load_policy(policy)
    if loaded.policy is None:
        return {"error": loaded.errors[0]}
    try:
        legacy = legacy_profile(loaded.policy)
    except LegacyError as error:
        return {"error": str(error)}
    plugins = {
        point: [{"name": plugin.name} | ({"weight": plugin.weight} if plugin.weight else {}) for plugin in listed]
        for point, listed in legacy.plugins.items()
    }
    return {"plugins": plugins, "pluginConfig": legacy.arguments}


def test_a_policy_becomes_the_profile_that_kube_scheduler_1_22_made_of_it() -> None:
    assert differing((line["name"], answer(line["policy"]), line["expected"]) for line in recorded()) == {}


def test_the_recorded_policies_are_good_and_bad_ones_and_those_that_are_made() -> None:
    refused = sum("error" in line["expected"] for line in recorded())
    assert len(recorded()) > 350
    assert len(recorded()) // 10 < refused < len(recorded()) // 2
    assert {line["name"]: line["policy"] for line in recorded()} == dict(policies())
