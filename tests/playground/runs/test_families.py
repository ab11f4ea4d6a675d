"""Every measure has a family that says what it means, and every family a chart with its table."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.registry import FAMILIES
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.playground.runs.families import WORDS, present_families
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.measures import RunMeasure
from kschedweb.web.figures import Chart
from tests.support import seed_runs


def shown(label: str, outcome: RunOutcome) -> ChartedRun:
    kept = [
        RunMeasure(one.name, one.label, one.unit, one.direction, one.sentence, one.value)
        for one in compute_measures(outcome)
    ]
    return ChartedRun(label, outcome, {one.name: one for one in kept})


@pytest.fixture(scope="module")
def both() -> list[ChartedRun]:
    return [shown("default@1", seed_runs.outcome()), shown("packed@1", seed_runs.outcome(seed_runs.PACKED))]


def sound(chart: Chart) -> None:
    """JSON as a browser takes it, a sentence, and a table whose rows have what its head promises."""
    json.dumps(chart.figure, allow_nan=False)
    assert chart.summary.endswith(".")
    assert chart.rows
    assert {len(row) for row in chart.rows} == {len(chart.head)}


def test_every_family_says_in_sentences_what_it_means_and_what_is_better() -> None:
    assert list(WORDS) == list(FAMILIES)
    for words in WORDS.values():
        assert words.help.endswith(".")
        assert "better" in words.help


def test_charts_say_the_means_that_the_measures_say(both: list[ChartedRun]) -> None:
    charts = {one.family.name: one.chart for one in family_charts(both[:1], "cpu")}
    chart, measures = charts["requests"], both[0].measures
    assert chart is not None
    assert f"skew {measures['skew_cpu'].value:.1f}, spread {measures['spread_cpu'].value:.1f}." in chart.summary


@pytest.mark.parametrize("count", [1, 2])
def test_every_family_has_a_sound_chart_with_a_line_for_each_policy(both: list[ChartedRun], count: int) -> None:
    listed = both[:count]
    found = family_charts(listed, "cpu")
    assert [one.family for one in found] == present_families(listed[0].measures)
    for one in found:
        assert one.measures
        assert one.chart is not None, one.family.name
        sound(one.chart)
        if count > 1:
            text = json.dumps(one.chart.figure)
            assert all(side.label in text for side in listed), one.family.name


def test_the_chart_of_times_ends_at_the_share_of_pods_that_got_a_node(both: list[ChartedRun]) -> None:
    full = seed_runs.outcome(nodes=4)  # room for 16 of 20 pods
    chart = next(one.chart for one in family_charts([shown("default@1", full)], "cpu") if one.family.name == "wait")
    assert chart is not None
    trace = chart.figure["data"][0]
    tried = int((full.attempts > 0).sum())
    assert trace["y"][-1] == pytest.approx(100 * (tried - len(full.pending)) / tried, abs=0.01)
    assert trace["x"] == sorted(trace["x"])
    assert f"{len(full.pending)} never have one" in chart.summary


def test_skew_over_time_is_what_the_measure_says_at_the_end(both: list[ChartedRun]) -> None:
    chart = next(one.chart for one in family_charts(both[:1], "cpu") if one.family.name == "requests")
    assert chart is not None
    skew = chart.figure["data"][0]
    assert skew["name"] == "skew"
    assert skew["y"][-1] == pytest.approx(both[0].measures["skew_cpu_end"].value, abs=0.01)


def test_empty_nodes_over_time_end_at_the_measure(both: list[ChartedRun]) -> None:
    chart = next(one.chart for one in family_charts(both, "cpu") if one.family.name == "nodes")
    assert chart is not None
    for side, trace in zip(both, chart.figure["data"], strict=True):
        assert trace["y"][-1] == side.measures["nodes_empty"].value
        assert trace["y"][0] == 6


def test_a_run_in_which_nothing_happens_shows_words_in_place_of_charts() -> None:
    nothing = seed_runs.outcome(pods=0, changes=[])
    for one in family_charts([shown("default@1", nothing)], "cpu"):
        if one.chart is None:
            assert one.nothing.endswith(".")
        else:
            sound(one.chart)
    texts: dict[str, Any] = {one.family.name: one.chart for one in family_charts([shown("a", nothing)], "cpu")}
    assert texts["wait"] is None
    assert texts["leaving"] is None
    assert not math.isnan(nothing.end)


def test_no_two_of_eight_policies_have_lines_that_look_alike(both: list[ChartedRun]) -> None:
    listed = [shown(f"policy-{number}", one.outcome) for number in range(4) for one in both]
    for family in family_charts(listed):
        assert family.chart is not None
        lines = [trace for trace in family.chart.figure["data"] if trace["type"] == "scatter"]
        looks = {(trace["line"]["dash"], trace.get("marker", {}).get("symbol")) for trace in lines}
        assert len(looks) == len(lines), family.family.name


def test_names_of_policies_stay_as_they_are(both: list[ChartedRun]) -> None:
    summaries = [one.chart.summary for one in family_charts(both) if one.chart]
    assert any(said.startswith("default@1: ") for said in summaries)
    assert not any("Default@1" in said for said in summaries)
