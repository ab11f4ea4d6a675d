"""Switching a plugin does what was asked to it, nothing to the others, and leaves no trace when taken back."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.releases import CURRENT, load
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.editing.switches import merge_plugins, with_order, with_plugin
from tests.support import tiers

NAMES = [name for name in CURRENT.registry.specs if load_tables().points_of(name)]
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
DEFAULT = merge_plugins({})


def list_usable_plugins(point: str) -> list[str]:
    return NAMES if point == "multiPoint" else [name for name in NAMES if point in load_tables().points_of(name)]


@st.composite
def plugin_sets(draw: st.DrawFn) -> dict[str, Any]:
    """``plugins`` of a profile as people write them, wild but well-formed."""
    points = draw(
        st.lists(
            st.sampled_from([p for p in (*EXTENSION_POINTS, "multiPoint") if list_usable_plugins(p)]),
            unique=True,
            max_size=4,
        )
    )
    result = {}
    for point in points:
        names = st.sampled_from(list_usable_plugins(point))
        enabled = [
            {"name": name} | draw(st.one_of(st.just({}), st.integers(0, 20).map(lambda weight: {"weight": weight})))
            for name in draw(st.lists(names, unique=True, max_size=3))
        ]
        disabled = [{"name": name} for name in draw(st.lists(names | st.just("*"), unique=True, max_size=3))]
        result[point] = {key: value for key, value in (("enabled", enabled), ("disabled", disabled)) if value}
    return result


@settings(max_examples=tiers.count(50, 1500), deadline=None)
@given(plugins=plugin_sets())
def test_the_merge_is_the_engine_s(plugins: dict[str, Any]) -> None:
    configuration = load({**HEADER, "profiles": [{"schedulerName": "a", "plugins": plugins}]}).configuration
    if configuration is None:
        return
    points = configuration.profiles[0].points
    mine = merge_plugins(plugins)
    for point in EXTENSION_POINTS:
        assert [plugin.name for plugin in points[point]] == list(mine[point])
    assert {plugin.name: plugin.weight for plugin in points["score"]} == mine["score"]


@settings(max_examples=tiers.count(66, 2000), deadline=None)
@given(
    plugins=plugin_sets(),
    name=st.sampled_from(NAMES),
    weight=st.none() | st.integers(1, 100),
    data=st.data(),
)
def test_a_switch_moves_one_plugin_only(
    plugins: dict[str, Any], name: str, weight: int | None, data: st.DataObject
) -> None:
    points = data.draw(st.frozensets(st.sampled_from(load_tables().points_of(name))))
    changed_sets = with_plugin(plugins, name, points, weight)
    before, after = merge_plugins(plugins), merge_plugins(changed_sets)
    for point in EXTENSION_POINTS:
        assert (name in after[point]) == (point in points)
        assert without_plugin(after[point], name) == without_plugin(before[point], name)
    if "score" in points:
        assert after["score"][name] == (weight or load_tables().default_weight(name))
    assert with_plugin(changed_sets, name, points, weight) == changed_sets


def without_plugin(points: dict[str, int], name: str) -> dict[str, int]:
    return {key: value for key, value in points.items() if key != name}


@settings(max_examples=tiers.count(50, 1500), deadline=None)
@given(name=st.sampled_from(NAMES), weight=st.none() | st.integers(1, 100), data=st.data())
def test_back_to_default_leaves_nothing_behind(name: str, weight: int | None, data: st.DataObject) -> None:
    changed_sets = with_plugin(
        {}, name, data.draw(st.frozensets(st.sampled_from(load_tables().points_of(name)))), weight
    )
    default = frozenset(point for point in load_tables().points_of(name) if name in DEFAULT[point])
    assert with_plugin(changed_sets, name, default, None) == {}


def test_a_weight_keeps_the_plugin_s_place() -> None:
    changed_sets = with_plugin({}, "ImageLocality", frozenset({"score"}), 9)
    assert changed_sets == {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 9}]}}
    assert list(load_points(changed_sets)["score"]) == list(load_points({})["score"])


def load_points(plugins: dict[str, Any]) -> dict[str, list[str]]:
    configuration = load({**HEADER, "profiles": [{"plugins": plugins}]}).configuration
    assert configuration is not None
    return {
        point: [plugin.name for plugin in point_plugins]
        for point, point_plugins in configuration.profiles[0].points.items()
    }


def test_one_point_is_disabled_where_it_is_and_all_of_them_in_multi_point() -> None:
    other_points = frozenset(load_tables().points_of("NodeAffinity")) - {"score"}
    assert with_plugin({}, "NodeAffinity", other_points, None) == {"score": {"disabled": [{"name": "NodeAffinity"}]}}
    assert with_plugin({}, "NodeAffinity", frozenset(), None) == {
        "multiPoint": {"disabled": [{"name": "NodeAffinity"}]}
    }


def test_malformed_plugins_count_as_none() -> None:
    shapes: list[Any] = [
        None,
        "x",
        [],
        {"score": 3},
        {"score": {"enabled": "x"}},
        {"score": {"enabled": [{"name": 1}, 4]}},
    ]
    for plugins in shapes:
        assert merge_plugins(plugins) == DEFAULT


@settings(max_examples=tiers.count(80, 3000), deadline=None)
@given(plugins=plugin_sets(), point=st.sampled_from(EXTENSION_POINTS), data=st.data())
def test_plugins_are_called_in_the_order_that_they_are_given(
    plugins: dict[str, Any], point: str, data: st.DataObject
) -> None:
    before = merge_plugins(plugins)
    order = data.draw(st.permutations(list(before[point])))
    changed_sets = with_order(plugins, point, order)
    after = merge_plugins(changed_sets)
    assert list(after[point]) == order
    assert after[point] == before[point] or point != "score"  # elsewhere weights mean nothing
    assert all(
        list(after[other_point].items()) == list(before[other_point].items())
        for other_point in after
        if other_point != point
    )
    assert with_order(changed_sets, point, order) == changed_sets
    was, is_now = (
        load({**HEADER, "profiles": [{"plugins": plugin_set}]}).configuration for plugin_set in (plugins, changed_sets)
    )
    if was is not None:
        assert is_now is not None
        assert [(point.name, point.weight) for point in is_now.profiles[0].points[point]] == [
            (name, before[point][name] if point == "score" else 0) for name in order
        ]


def test_the_first_of_an_order_is_one_entry_with_its_weight() -> None:
    order = list(DEFAULT["score"])
    new_order = [order[1], order[0], *order[2:]]
    assert new_order[:2] == ["NodeAffinity", "TaintToleration"]
    assert with_order({}, "score", new_order) == {"score": {"enabled": [{"name": "NodeAffinity", "weight": 2}]}}
    back = with_order(with_order({}, "score", new_order), "score", order)
    assert back == {}


def test_a_plugin_of_its_own_point_comes_before_the_others_only_where_all_are_named() -> None:
    plugins = {"score": {"enabled": [{"name": "TargetLoadPacking", "weight": 4}]}}
    names = list(merge_plugins(plugins)["score"])
    changed_sets = with_order(plugins, "score", ["TargetLoadPacking", *names[:-1]])
    assert changed_sets["score"]["disabled"] == [{"name": "*"}]
    assert changed_sets["score"]["enabled"][:2] == [
        {"name": "TargetLoadPacking", "weight": 4},
        {"name": "TaintToleration", "weight": 3},
    ]


def test_names_that_do_not_run_are_no_part_of_an_order() -> None:
    order = ["ImageLocality", "nobody", "ImageLocality"]
    assert next(iter(merge_plugins(with_order({}, "score", order))["score"])) == "ImageLocality"
