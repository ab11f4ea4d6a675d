"""Differences between releases are in their values: a made-up older one reads and decides otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Release
from kschedweb.engine.config.release import Gate
from kschedweb.engine.config.schema import EXTENSION_POINTS, Schema
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import COUNTING
from kschedweb.engine.releases import CURRENT, RELEASES, json_schema, load
from kschedweb.engine.state.columns import Ints, Rows
from tests.engine.builders import CONFIGURATION, node, pod


class Alphabetical:
    """NodeResourcesBalancedAllocation of the older release: the last name is the best."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: Json) -> None:
        pass

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        names = sorted(cycle.snapshot.names)
        return np.array([names.index(name) for name in cycle.snapshot.names], dtype=np.int64)[rows]


def older() -> Release:
    name = Alphabetical.name
    specs = tuple(
        replace(spec, factory=Alphabetical, points=frozenset({"score"}), variant=lambda release: {})
        if spec.name == name
        else spec
        for spec in CURRENT.specs
    )
    defaults = tuple(
        PluginRef(ref.name, 90) if ref.name == name else ref
        for ref in CURRENT.defaults
        if ref.name != "NodeDeclaredFeatures"
    )
    return replace(
        CURRENT,
        version="1.0.0",
        specs=specs,
        defaults=defaults,
        schema=Schema(group_points=()),
        gates={"GenericWorkload": Gate("beta", True)},
        behaviour=replace(CURRENT.behaviour, score_weight_error_prefix=False),
    )


OLDER = older()


def document(**profile: Any) -> Json:
    return {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]}


def test_a_configuration_carries_the_release_that_read_it() -> None:
    for release in (CURRENT, OLDER):
        configuration = load(None, release).configuration
        assert configuration is not None
        assert configuration.release is release
    assert OLDER.engine.endswith(", kube-scheduler 1.0.0")


def test_its_default_set_and_weights_are_its_own() -> None:
    configuration = load(None, OLDER).configuration
    assert configuration is not None
    points = configuration.profiles[0].points
    assert PluginRef(Alphabetical.name, 90) in points["score"]
    assert "NodeDeclaredFeatures" not in {ref.name for ref in points["filter"]}


def test_a_plugin_is_made_as_it_is_in_the_release() -> None:
    configuration = load(None, OLDER).configuration
    assert configuration is not None
    snapshot = Snapshot.from_objects([node("b"), node("c"), node("a")])
    explanation = Scheduler(snapshot, configuration).explain(Pod.from_json(pod("p")))
    raw = next(column.raw for column in explanation.scores if column.plugin == Alphabetical.name)
    assert {explanation.nodes[row]: int(score) for row, score in zip(explanation.feasible, raw, strict=True)} == {
        "a": 0,
        "b": 1,
        "c": 2,
    }
    assert explanation.node == "c"


def test_extension_points_that_it_does_not_have_are_unknown_fields() -> None:
    config = document(plugins={"placementScore": {"enabled": [{"name": "PodGroupPodsCount"}]}})
    assert load(config, CURRENT).valid
    assert 'unknown field "profiles[0].plugins.placementScore"' in load(config, OLDER).errors[0]
    for release, knows in ((CURRENT, True), (OLDER, False)):
        assert Draft202012Validator(json_schema(release)).is_valid(config) is knows


def test_words_are_those_of_the_release() -> None:
    """A plugin that nobody has is found late where every extension point leaves multiPoint out."""
    for release, expected_start in (
        (CURRENT, 'score plugins: plugin "Nope"'),
        (OLDER, 'default-scheduler: plugin "Nope"'),
    ):
        sets = (*EXTENSION_POINTS, *release.schema.group_points)
        plugins: Json = {point: {"disabled": [{"name": "*"}]} for point in sets}
        plugins["queueSort"]["enabled"] = [{"name": "PrioritySort"}]
        plugins["bind"]["enabled"] = [{"name": "DefaultBinder"}]
        plugins["multiPoint"] = {"enabled": [{"name": "Nope"}]}
        (error,) = load(document(plugins=plugins), release).errors
        assert f"{expected_start} does not exist" in error


def test_a_gate_that_is_on_needs_no_warning() -> None:
    config = document(plugins={"multiPoint": {"enabled": [{"name": "GangScheduling"}]}})
    assert any("feature gate GenericWorkload" in warning for warning in load(config, CURRENT).warnings)
    assert not any("feature gate" in warning for warning in load(config, OLDER).warnings)


def test_pods_are_counted_as_the_current_release_counts_them_where_none_is_named() -> None:
    assert CURRENT.counting == COUNTING
    assert {release.counting for release in RELEASES.values()} > {COUNTING}
