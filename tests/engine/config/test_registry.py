"""Plugins from elsewhere take part like the in-tree ones."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from kschedweb.engine import plugins
from kschedweb.engine.config import PluginRef
from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginError, PluginSpec, Registry
from kschedweb.engine.config.types import FLOAT64, INT32, StructField
from kschedweb.engine.releases import CURRENT, json_schema, load
from kschedweb.engine.validation.fields import Problem, child_path, invalid

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
TIDE_ARGS = args_struct("TideArgs", "How high the tide may rise.", StructField("mark", INT32, "Percent.", pointer=True))


def tide_defaults(args: dict[str, Any]) -> None:
    if args["mark"] is None:
        args["mark"] = 80


def tide_problems(args: dict[str, Any], path: str) -> list[Problem]:
    return [] if 0 <= args["mark"] <= 100 else [invalid(child_path(path, "mark"), args["mark"], "must be a percentage")]


TIDE = PluginSpec(
    "Tide",
    frozenset({"preScore", "score"}),
    "Keeps nodes below a mark.",
    ArgsSpec(TIDE_ARGS, tide_defaults, tide_problems),
)
WITH_TIDE = CURRENT.with_plugins(TIDE)


def document(args: dict[str, Any] | None = None) -> dict[str, Any]:
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [{"name": "Tide", "weight": 4}]}}}
    if args is not None:
        profile["pluginConfig"] = [{"name": "Tide", "args": args}]
    return HEAD | {"profiles": [profile]}


def test_a_plugin_from_elsewhere_is_enabled_with_its_defaults() -> None:
    loaded = load(document(), WITH_TIDE)
    assert loaded.configuration is not None
    profile = loaded.configuration.profiles[0]
    assert profile.points["score"][-1] == PluginRef("Tide", 4)
    assert profile.points["preScore"][-1] == PluginRef("Tide")
    assert profile.args["Tide"] == {"kind": "TideArgs", "apiVersion": HEAD["apiVersion"], "mark": 80}


FLOOD = PluginSpec(
    "Tide",
    frozenset({"score"}),
    "Keeps nodes below a mark.",
    ArgsSpec(args_struct("TideArgs", "How high.", StructField("mark", FLOAT64, "Percent."))),
)


@pytest.mark.parametrize("mark", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 40, -2.5])
def test_a_64_bit_float_comes_back_to_the_last_bit(mark: float) -> None:
    loaded = load(document({"mark": mark}), CURRENT.with_plugins(FLOOD))
    assert loaded.configuration is not None
    assert loaded.configuration.profiles[0].args["Tide"]["mark"] == mark
    assert loaded.defaulted is not None
    [plugin_args] = [item["args"] for item in loaded.defaulted["profiles"][0]["pluginConfig"] if item["name"] == "Tide"]
    assert plugin_args.get("mark", 0.0) == mark


@pytest.mark.parametrize("mark", ["1e400", "9" * 400])
def test_a_float_out_of_range_is_refused(mark: str) -> None:
    text = json.dumps(document({"mark": 0})).replace('"mark": 0', f'"mark": {mark}')
    [error] = load(text, CURRENT.with_plugins(FLOOD)).errors
    assert f"cannot unmarshal number {mark}" in error
    assert error.endswith("of type float64")


def test_its_arguments_are_decoded_strictly_and_validated() -> None:
    assert load(document({"mark": 101}), WITH_TIDE).errors == [
        "profiles[0].pluginConfig[0].args.mark: Invalid value: 101: must be a percentage"
    ]
    assert "unknown field" in load(document({"marc": 1}), WITH_TIDE).errors[0]


def test_it_is_in_the_schema() -> None:
    assert "TideArgs" in json_schema(WITH_TIDE)["$defs"]


def test_without_its_package_the_plugin_does_not_exist() -> None:
    error_start = (
        'initializing profiles: creating profile for scheduler name default-scheduler: PreFilterPlugin "Tide" does'
    )
    assert load(document(), CURRENT).errors == [f"{error_start} not exist"]


def test_profiles_with_different_queue_sort_plugins_are_refused() -> None:
    other = PluginSpec("Fifo", frozenset({"queueSort"}), "First in, first out.")
    swap = {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "Fifo"}]}
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"multiPoint": swap}}]
    loaded = load(HEAD | {"profiles": profiles}, CURRENT.with_plugins(other))
    assert loaded.errors == [
        'initializing profiles: different queue sort plugins for profile "b": "Fifo", first: "PrioritySort"'
    ]


def test_two_plugins_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two plugins are called 'Tide'"):
        _ = WITH_TIDE.with_plugins(TIDE).registry.specs


def test_an_unknown_extension_point_is_refused() -> None:
    with pytest.raises(ValueError, match=r"extension points that do not exist: \['scores'\]"):
        Registry([PluginSpec("X", frozenset({"scores"}), "")], ())


def test_entry_points_bring_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [EntryPoint("tide", f"{__name__}:TIDE", plugins.ENTRY_POINTS)]
    monkeypatch.setattr(EntryPoint, "load", lambda self: TIDE)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    assert TIDE in plugins.out_of_tree_plugins.__wrapped__()


def test_an_entry_point_that_is_no_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [EntryPoint("wrong", "json:loads", plugins.ENTRY_POINTS)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    with pytest.raises(PluginError, match=r"the plugin wrong \(json:loads\) cannot be used: is no PluginSpec"):
        plugins.out_of_tree_plugins.__wrapped__()
