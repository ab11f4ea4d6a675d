"""The linter of annotations: each trap by its name, and no text that it cannot live with."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.annotations import KEY
from kschedweb.engine.state.watermarks.lint import LintFinding, lint_annotations

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z
SHANGHAI, UTC, KOLKATA = ZoneInfo("Asia/Shanghai"), ZoneInfo("UTC"), ZoneInfo("Asia/Kolkata")
FRESH = '{"updated":"2026-11-21T11:59:00Z","cpu":{"15m":41.3}}'


def crane_node(zone: ZoneInfo = SHANGHAI, age: float = 60.0, **more: str) -> dict[str, str]:
    """A node with the annotations of crane's annotator, written ``age`` seconds ago."""
    texts = {metric: crane.write_usage(0.3, NOON - age, zone) for metric in crane.METRICS}
    return texts | {crane.HOT_VALUE: crane.write_hot_value(0, NOON - age, zone)} | more


def findings(
    nodes: dict[str, Any], workloads: dict[str, Any] | None = None, zone: ZoneInfo = SHANGHAI
) -> dict[str, LintFinding]:
    return {finding.code: finding for finding in lint_annotations(nodes, workloads or {}, NOON, zone)}


def cluster(count: int = 3, **how: Any) -> dict[str, dict[str, str]]:
    return {f"n{number}": crane_node(**how) for number in range(count)}


def test_what_is_right_has_no_finding() -> None:
    assert lint_annotations({}, {}, NOON, SHANGHAI) == []
    assert lint_annotations({"a": {}, "b": {"other": "x"}}, {"shop/Deployment/web": {}}, NOON, SHANGHAI) == []
    assert lint_annotations(cluster(), {}, NOON, SHANGHAI) == []
    assert lint_annotations({"a": {KEY: FRESH}}, {"shop/Deployment/web": {KEY: FRESH}}, NOON, SHANGHAI) == []


def test_texts_written_in_utc_and_read_as_shanghai_are_old_in_step() -> None:
    findings_by_check = findings(cluster(zone=UTC))
    assert set(findings_by_check) == {"zone-behind"}
    finding = findings_by_check["zone-behind"]
    assert finding.message.startswith(
        "Written in UTC, it seems: read as Asia/Shanghai, the stamps of 3 nodes are old by 8 h"
    )
    assert finding.places == ("n0", "n1", "n2")
    assert "TZ=Asia/Shanghai" in finding.advice


def test_texts_written_in_shanghai_and_read_as_utc_are_in_the_future() -> None:
    findings_by_check = findings(cluster(), zone=UTC)
    assert set(findings_by_check) == {"zone-ahead"}
    assert findings_by_check["zone-ahead"].message.startswith(
        "Written in UTC+08:00, it seems: read as UTC, the stamps of 3 nodes are up to 8 h in the future."
    )


@pytest.mark.parametrize("age", [1, 60, 179, 400])
@pytest.mark.parametrize(
    "name", ["Asia/Kolkata", "America/New_York", "Europe/Berlin", "Pacific/Auckland", "Asia/Kathmandu"]
)
def test_a_zone_ahead_of_the_setting_is_named_by_its_offset(name: str, age: float) -> None:
    zone = ZoneInfo(name)
    read_as = ZoneInfo("Pacific/Honolulu")
    offset = crane.read_time(crane.write_time(NOON, zone), UTC) - NOON
    hours, minutes = divmod(abs(int(offset)) // 60, 60)
    words = f"UTC{'+' if offset > 0 else '-'}{hours:02}:{minutes:02}"
    assert findings(cluster(zone=zone, age=age), zone=read_as)["zone-ahead"].message.startswith(f"Written in {words},")


def test_nodes_in_different_zones_are_named_as_mixed() -> None:
    findings_by_check = findings({"a": crane_node(), "b": crane_node(), "c": crane_node(zone=UTC)})
    assert set(findings_by_check) == {"mixed", "zone-behind"}
    assert "2 in UTC+08:00, 1 in UTC." in findings_by_check["mixed"].message
    assert findings_by_check["zone-behind"].places == ("c",)


def test_a_clock_that_is_a_little_ahead_is_no_zone() -> None:
    assert findings(cluster(age=-30)) == {}


def test_stale_texts_are_named_with_the_oldest_age() -> None:
    old = {"cpu_usage_avg_5m": crane.write_usage(0.3, NOON - 480, SHANGHAI)}
    fine = {"mem_usage_avg_5m": crane.write_usage(0.3, NOON - 479, SHANGHAI)}
    assert findings({"a": crane_node(age=60) | fine}) == {}
    assert findings({"a": crane_node(age=60) | old})["stale"].places == ("a: cpu_usage_avg_5m",)
    stopped = findings(cluster(age=3 * 86400.0))
    assert set(stopped) == {"stale"}
    assert stopped["stale"].message == "Stale: 21 texts, the oldest 3 d old."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.3",
        "0.3,",
        "0.3,2026-11-21",
        "x,2026-11-21T20:00:00Z",
        "-1,2026-11-21T20:00:00Z",
        "0.3,2026-11-21T20:00:00Z,",
    ],
)
def test_malformed_texts_are_named_with_the_reason(text: str) -> None:
    finding = findings({"a": crane_node(cpu_usage_avg_5m=text)})["malformed"]
    assert (finding.level, finding.form) == ("error", "crane")
    assert finding.places[0].startswith("a: cpu_usage_avg_5m: ")
    assert len(finding.places[0]) > len("a: cpu_usage_avg_5m: ")


def test_percent_instead_of_a_fraction_is_named() -> None:
    finding = findings({"a": crane_node(cpu_usage_avg_5m=crane.write_usage(45.2, NOON - 60, SHANGHAI))})["percent"]
    assert finding.message.startswith("Above 1, up to 45.2: 1 usage. They look like percent.")
    finding = findings({"a": crane_node(cpu_usage_avg_5m=crane.write_usage(1.02, NOON - 60, SHANGHAI))})["percent"]
    assert "percent." not in finding.message


def test_numbers_that_are_none_and_broken_hot_values_are_named() -> None:
    stamp = crane.write_time(NOON - 60, SHANGHAI)
    findings_by_check = findings({"a": crane_node(cpu_usage_avg_5m=f"NaN,{stamp}", node_hot_value=f"1.5,{stamp}")})
    assert findings_by_check["not-finite"].places == ("a: cpu_usage_avg_5m",)
    assert findings_by_check["hot-value"].places == ("a: node_hot_value",)


def test_nodes_without_annotations_among_annotated_ones_are_named() -> None:
    finding = findings({**cluster(), "bare": {}, "naked": {}})["partial"]
    assert finding.places == ("bare", "naked")


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("cpu_usage_avg_15m", "crane"),
        ("cpu-usage-avg-5m", "crane"),
        ("memory_usage_avg_5m", "crane"),
        ("example.com/mem_usage_avg_5m", "crane"),
        ("node_hotvalue", "crane"),
        ("watermarks.kschedweb.dev/usage", "kschedweb"),
        ("watermark.kschedweb.dev/use", "kschedweb"),
    ],
)
def test_keys_that_only_look_like_it_are_named(key: str, form: str) -> None:
    finding = findings({"a": {key: "1"}})["unknown-key"]
    assert (finding.form, finding.places) == (form, (f"a: {key}",))


def test_own_texts_that_are_malformed_stale_or_from_the_future_are_named() -> None:
    nodes = {
        "bad": {KEY: "[]"},
        "old": {KEY: FRESH.replace("11:59", "11:44")},
        "new": {KEY: FRESH.replace("11:59", "20:00")},
    }
    findings_by_check = findings(nodes)
    assert set(findings_by_check) == {"malformed", "stale", "ahead"}
    assert findings_by_check["malformed"].places == ("bad: must be a JSON object",)
    assert findings_by_check["stale"].places == ("old",)
    assert findings_by_check["ahead"].places == ("new",)
    assert "by up to 8 h" in findings_by_check["ahead"].message


def test_own_figures_that_cannot_be_right_are_named() -> None:
    def node(cpu: float) -> dict[str, str]:
        return {KEY: FRESH.replace("41.3", str(cpu))}

    assert findings({"a": node(410.3)})["range"].places == ("a: cpu.15m",)
    assert set(findings({"a": node(0.41), "b": node(0.2)})) == {"fraction"}
    assert findings({"a": node(0.41), "b": node(20)}) == {}
    assert findings({"a": {KEY: FRESH.replace("15m", "7m")}})["unknown-figure"].places == ("a: cpu.7m",)
    for figure in ("5m_p95", "system", "1d_max", "1h_capacity"):
        assert findings({"a": {KEY: FRESH.replace("15m", figure)}}) == {}
    web = '{"updated":"2026-11-21T11:59:00Z","cpu":{"15m":1500},"memory":{"15m":512}}'
    assert findings({}, {"shop/Deployment/web": {KEY: web}})["unit"].places == (
        "shop/Deployment/web: cpu.15m",
        "shop/Deployment/web: memory.15m",
    )


def test_errors_come_first() -> None:
    all_findings = lint_annotations({**cluster(zone=UTC), "a": {KEY: "x", "cpu_usage": ""}}, {}, NOON, SHANGHAI)
    assert [finding.level for finding in all_findings] == sorted(
        (finding.level for finding in all_findings), key=["error", "warning", "hint"].index
    )


keys = st.sampled_from([KEY, *crane.METRICS, crane.HOT_VALUE, "cpu_usage", "other"])
numbers = st.floats().map(str) | st.text(max_size=5)
times = st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%SZ}") | st.text(max_size=8)
texts = st.text() | st.builds(lambda number, time: f"{number},{time}", numbers, times) | st.just(FRESH)


@given(st.dictionaries(st.text(max_size=3), st.dictionaries(keys, texts)), st.sampled_from([SHANGHAI, UTC, KOLKATA]))
def test_any_text_is_lived_with(nodes: dict[str, dict[str, str]], zone: ZoneInfo) -> None:
    for finding in lint_annotations(nodes, nodes, NOON, zone):
        assert finding.message
        assert finding.advice
        assert finding.places
