"""Plugins behind feature gates that are off: a configuration may name them, and nothing runs."""

from __future__ import annotations

import pytest

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.plugins import gangscheduling, podgrouppodscount, topologyplacementgenerator
from kschedweb.engine.releases import CURRENT, load
from tests.engine.builders import CONFIGURATION, explain, node, pod

SPECS = (gangscheduling.SPEC, topologyplacementgenerator.SPEC, podgrouppodscount.SPEC)
CASES = [(spec, point) for spec in SPECS for point in sorted(spec.points)]


@pytest.mark.parametrize(("spec", "point"), CASES, ids=[f"{spec.name}-{point}" for spec, point in CASES])
def test_a_configuration_that_names_it_is_warned_and_schedules_all_the_same(spec: PluginSpec, point: str) -> None:
    plugins = {point: {"enabled": [{"name": spec.name}]}}
    loaded = load({**CONFIGURATION, "profiles": [{"plugins": plugins}]})
    gate = CURRENT.in_tree_plugins.specs[spec.name].gate
    assert loaded.warnings == [
        f'profiles[0].plugins.{point}.enabled[0]: "{spec.name}" does nothing unless the feature gate {gate} is on'
    ]
    assert explain(pod("p"), node("a"), plugins=plugins) == explain(pod("p"), node("a"))


@pytest.mark.parametrize("spec", SPECS)
def test_it_does_not_filter(spec: PluginSpec) -> None:
    loaded = load({**CONFIGURATION, "profiles": [{"plugins": {"filter": {"enabled": [{"name": spec.name}]}}}]})
    assert loaded.errors == [
        "initializing profiles: creating profile for scheduler name default-scheduler: "
        f'plugin "{spec.name}" does not extend FilterPlugin plugin'
    ]
