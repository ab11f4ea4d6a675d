"""Arguments of the plugins of scheduler-plugins: defaults, what is refused, and what is not heeded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.config import Loaded
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.validation.golang import parse_float
from tests.engine.builders import CONFIGURATION

PLUGINS = ("TargetLoadPacking", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "Peaks")
AT = "profiles[0].pluginConfig[0].args"
MODEL = {"k0": 300.0, "k1": 50.0, "k2": 0.01}


def loaded(plugin: str, args: dict[str, Any] | None) -> Loaded:
    profile: dict[str, Any] = {"schedulerName": "default-scheduler"}
    profile["plugins"] = {"multiPoint": {"enabled": [{"name": plugin}]}}
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin, "args": args}]
    return load({**CONFIGURATION, "profiles": [profile]})


def arguments(plugin: str, args: dict[str, Any] | None) -> dict[str, Any]:
    result = loaded(plugin, args)
    assert result.configuration is not None, result.errors
    plugin_args = dict(result.configuration.profiles[0].args[plugin])
    assert plugin_args.pop("kind") == f"{plugin}Args"
    del plugin_args["apiVersion"]
    return plugin_args


def warnings(plugin: str, args: dict[str, Any]) -> list[str]:
    return [warning.removeprefix(f"{AT}.") for warning in loaded(plugin, args).warnings if warning.startswith(AT)]


WATCHER = {"metricProvider": {"type": "KubernetesMetricsServer"}}


@pytest.mark.parametrize("args", [None, {}])
def test_defaults_are_those_of_scheduler_plugins(args: dict | None) -> None:
    assert arguments("TargetLoadPacking", args) == WATCHER | {
        "defaultRequests": {"cpu": "1000m"},
        "defaultRequestsMultiplier": "1.5",
        "targetUtilization": 40,
    }
    assert arguments("LoadVariationRiskBalancing", args) == WATCHER | {
        "safeVarianceMargin": 1,
        "safeVarianceSensitivity": 1,
    }
    assert arguments("LowRiskOverCommitment", args) == WATCHER | {
        "smoothingWindowSize": 5,
        "riskLimitWeights": {"cpu": 0.5, "memory": 0.5},
    }
    assert arguments("Peaks", args) == {}


def test_the_watcher_s_defaults_follow_from_what_is_said_of_it() -> None:
    assert arguments("TargetLoadPacking", {"watcherAddress": "http://w:2020"})["metricProvider"] == {}
    watcher_args = {"metricProvider": {"type": "Prometheus"}}
    prometheus = {"type": "Prometheus", "insecureSkipVerify": True}
    assert arguments("TargetLoadPacking", watcher_args)["metricProvider"] == prometheus


@pytest.mark.parametrize("plugin", PLUGINS)
def test_each_is_known_to_come_from_elsewhere(plugin: str) -> None:
    assert f'"{plugin}" is not part of kube-scheduler' in " ".join(loaded(plugin, None).warnings)
    assert not load(None).warnings
    assert plugin in CURRENT.factories


@pytest.mark.parametrize("plugin", PLUGINS[:3])
def test_what_only_the_watcher_heeds_is_said(plugin: str) -> None:
    ignored = "is not heeded: kschedweb collects utilisation itself"
    assert warnings(plugin, {"watcherAddress": "http://w:2020"}) == [f"watcherAddress: {ignored}"]
    assert warnings(plugin, {"metricProvider": {"type": "SignalFx"}}) == [f"metricProvider: {ignored}"]
    assert warnings(plugin, {}) == []


@pytest.mark.parametrize("plugin", PLUGINS[:3])
def test_a_provider_that_does_not_exist_is_refused(plugin: str) -> None:
    errors = loaded(plugin, {"metricProvider": {"type": "Zabbix"}}).errors
    supported = '"KubernetesMetricsServer", "Prometheus", "SignalFx"'
    assert errors == [f'{AT}.metricProvider.type: Unsupported value: "Zabbix": supported values: {supported}']
    assert loaded(plugin, {"metricProvider": {"type": "Zabbix"}, "watcherAddress": "http://w"}).valid


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            {"defaultRequests": {"cpu": "one"}},
            "defaultRequests.cpu: Invalid value: \"one\": 'one' is not a quantity, such as 500m, 2 or 1.5Gi",
        ),
        (
            {"defaultRequests": {"cpu": True}},
            "defaultRequests.cpu: Invalid value: true: must be a quantity, such as 500m, 2 or 1.5Gi",
        ),
        (
            {"defaultRequestsMultiplier": "half"},
            'defaultRequestsMultiplier: Invalid value: "half": must be a number in quotes, such as 1.5',
        ),
        (
            {"defaultRequestsMultiplier": ""},
            'defaultRequestsMultiplier: Invalid value: "": must be a number in quotes, such as 1.5',
        ),
        ({"penalty": "50"}, 'penalty: Unsupported value: "50": supported values: "Target", "Fixed50"'),
    ],
)
def test_what_cannot_be_run_is_refused(args: dict, error: str) -> None:
    assert loaded("TargetLoadPacking", args).errors == [f"{AT}.{error}"]


def test_a_number_where_upstream_wants_text_is_refused_as_upstream_does() -> None:
    [error] = loaded("TargetLoadPacking", {"defaultRequestsMultiplier": 1.5}).errors
    assert "cannot unmarshal number into Go struct field TargetLoadPackingArgs.defaultRequestsMultiplier" in error


@pytest.mark.parametrize(
    ("args", "expected_warning"),
    [
        (
            {"targetUtilization": 120},
            "targetUtilization: above 100 scores rise above 100, and pods fail to be scheduled",
        ),
        (
            {"penalty": "Fixed50"},
            "penalty: is known to kschedweb only: scheduler-plugins refuses a configuration with it",
        ),
    ],
)
def test_what_is_run_but_surprises_is_said(args: dict, expected_warning: str) -> None:
    assert warnings("TargetLoadPacking", args) == [expected_warning]


@pytest.mark.parametrize(("configured", "counts"), [(0, 40), (-5, 40), (1, 1), (100, 100), (101, 101)])
def test_a_target_of_0_or_less_counts_as_40(configured: int, counts: int) -> None:
    assert arguments("TargetLoadPacking", {"targetUtilization": configured})["targetUtilization"] == counts


@pytest.mark.parametrize(
    ("default_requests", "milli"),
    [({"cpu": "250m"}, 250), ({"cpu": 2}, 2000), ({"cpu": 0.5}, 500), ({}, 0), ({"memory": 1}, 0)],
)
def test_default_requests_that_do_not_name_cpu_count_as_0(default_requests: dict, milli: int) -> None:
    plugin: Any = CURRENT.factories["TargetLoadPacking"](
        arguments("TargetLoadPacking", {"defaultRequests": default_requests})
    )
    assert plugin.default == milli


def test_a_resource_that_is_not_weighed_is_said() -> None:
    assert warnings("LowRiskOverCommitment", {"riskLimitWeights": {"cpu": 1, "example.com/gpu": 1}}) == [
        "riskLimitWeights.example.com/gpu: has no effect: cpu and memory count"
    ]


def test_power_models_are_read_in_either_spelling_but_not_in_both() -> None:
    assert arguments("Peaks", {"NodePowerModel": {"a": MODEL}}) == {"NodePowerModel": {"a": MODEL}}
    both = {"nodePowerModel": {"a": MODEL}, "NodePowerModel": {"b": MODEL}}
    assert loaded("Peaks", both).errors == [
        f'{AT}.NodePowerModel: Invalid value: ["b"]: stands beside nodePowerModel: write one of them'
    ]
    assert warnings("Peaks", {}) == ["nodePowerModel: names no node, so every node gets the same score"]
    assert warnings("Peaks", {"nodePowerModel": {"a": MODEL}, "WatcherAddress": "http://w"}) == [
        "WatcherAddress: is not heeded: kschedweb collects utilisation itself"
    ]


@pytest.mark.parametrize("text", ["1.5", "0x1.8p0", "-2e3", ".5", "5.", "0_9", "1_0.5", "+1", "0x_1p4", "1e-400"])
def test_numbers_that_go_reads(text: str) -> None:
    expected = float.fromhex(text.replace("_", "")) if "x" in text else float(text)
    assert parse_float(text) == expected


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1,5", "0x1.8", "0x", "1__0", "_1", "1e400", "nan", "inf", "-Infinity", "٣", "1.5x", "1e"]
)
def test_what_go_does_not_read_as_a_finite_number(text: str) -> None:
    assert parse_float(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_back(number: float) -> None:
    assert parse_float(repr(number)) == number
