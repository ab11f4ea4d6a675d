"""Every measure has a family that says what it means, and every family a chart with its table."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.registry import FAMILIES
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.playground.runs.families import present_families
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.measures import RunMeasure
from kschedweb.web.figures import Chart
from tests.support import seed_runs


def charted_run(label: str, outcome: RunOutcome) -> ChartedRun:
    measures = [
        RunMeasure(measure.name, measure.label, measure.unit, measure.direction, measure.sentence, measure.value)
        for measure in compute_measures(outcome)
    ]
    return ChartedRun(label, outcome, {measure.name: measure for measure in measures})


@pytest.fixture(scope="module")
def charted_pair() -> list[ChartedRun]:
    return [charted_run("default@1", seed_runs.outcome()), charted_run("packed@1", seed_runs.outcome(seed_runs.PACKED))]


def check_chart(chart: Chart) -> None:
    """JSON as a browser takes it, a sentence, and a table whose rows have what its head promises."""
    json.dumps(chart.figure, allow_nan=False)
    assert chart.summary.endswith(".")
    assert chart.rows
    assert {len(row) for row in chart.rows} == {len(chart.head)}


def test_every_family_says_in_sentences_what_it_means_and_what_is_better() -> None:
    for family in FAMILIES:
        assert family.help.endswith(".")
        assert "better" in family.help


def test_charts_say_the_means_that_the_measures_say(charted_pair: list[ChartedRun]) -> None:
    charts = {chart.family.name: chart.chart for chart in family_charts(charted_pair[:1], "cpu")}
    chart, measures = charts["requests"], charted_pair[0].measures
    assert chart is not None
    assert f"skew {measures['skew_cpu'].value:.1f}, spread {measures['spread_cpu'].value:.1f}." in chart.summary


@pytest.mark.parametrize("count", [1, 2])
def test_every_family_has_a_sound_chart_with_a_line_for_each_policy(charted_pair: list[ChartedRun], count: int) -> None:
    charted = charted_pair[:count]
    charts = family_charts(charted, "cpu")
    assert [chart.family for chart in charts] == present_families(charted[0].measures)
    for family_chart in charts:
        assert family_chart.measures
        assert family_chart.chart is not None, family_chart.family.name
        check_chart(family_chart.chart)
        if count > 1:
            text = json.dumps(family_chart.chart.figure)
            assert all(side.label in text for side in charted), family_chart.family.name


def test_the_chart_of_times_ends_at_the_share_of_pods_that_got_a_node(charted_pair: list[ChartedRun]) -> None:
    full = seed_runs.outcome(nodes=4)  # room for 16 of 20 pods
    chart = next(
        chart.chart for chart in family_charts([charted_run("default@1", full)], "cpu") if chart.family.name == "wait"
    )
    assert chart is not None
    trace = chart.figure["data"][0]
    tried_count = int((full.attempts > 0).sum())
    assert trace["y"][-1] == pytest.approx(100 * (tried_count - len(full.pending)) / tried_count, abs=0.01)
    assert trace["x"] == sorted(trace["x"])
    assert f"{len(full.pending)} never have one" in chart.summary


def test_skew_over_time_is_what_the_measure_says_at_the_end(charted_pair: list[ChartedRun]) -> None:
    chart = next(chart.chart for chart in family_charts(charted_pair[:1], "cpu") if chart.family.name == "requests")
    assert chart is not None
    skew = chart.figure["data"][0]
    assert skew["name"] == "skew"
    assert skew["y"][-1] == pytest.approx(charted_pair[0].measures["skew_cpu_end"].value, abs=0.01)


def test_empty_nodes_over_time_end_at_the_measure(charted_pair: list[ChartedRun]) -> None:
    chart = next(chart.chart for chart in family_charts(charted_pair, "cpu") if chart.family.name == "nodes")
    assert chart is not None
    for side, trace in zip(charted_pair, chart.figure["data"], strict=True):
        assert trace["y"][-1] == side.measures["nodes_empty"].value
        assert trace["y"][0] == 6


def test_a_run_in_which_nothing_happens_shows_words_in_place_of_charts() -> None:
    nothing = seed_runs.outcome(pods=0, changes=[])
    for chart in family_charts([charted_run("default@1", nothing)], "cpu"):
        if chart.chart is None:
            assert chart.nothing.endswith(".")
        else:
            check_chart(chart.chart)
    texts: dict[str, Any] = {
        chart.family.name: chart.chart for chart in family_charts([charted_run("a", nothing)], "cpu")
    }
    assert texts["wait"] is None
    assert texts["leaving"] is None
    assert not math.isnan(nothing.end)


def test_no_two_of_eight_policies_have_lines_that_look_alike(charted_pair: list[ChartedRun]) -> None:
    charted = [charted_run(f"policy-{number}", pair_run.outcome) for number in range(4) for pair_run in charted_pair]
    for family in family_charts(charted):
        assert family.chart is not None
        lines = [trace for trace in family.chart.figure["data"] if trace["type"] == "scatter"]
        looks = {(trace["line"]["dash"], trace.get("marker", {}).get("symbol")) for trace in lines}
        assert len(looks) == len(lines), family.family.name


def test_names_of_policies_stay_as_they_are(charted_pair: list[ChartedRun]) -> None:
    summaries = [chart.chart.summary for chart in family_charts(charted_pair) if chart.chart]
    assert any(summary.startswith("default@1: ") for summary in summaries)
    assert not any("Default@1" in summary for summary in summaries)
