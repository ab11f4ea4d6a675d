"""Differences between policies: how much of each, in which order, on page, REST and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.studies.compare.changes import compute_change
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.registry import MOVED, lead_of
from kschedweb.playground.runs import pod_rows, selectors
from kschedweb.playground.runs.comparisons import measure_rows, moved_pods
from kschedweb.playground.runs.measures import RunMeasure
from kschedweb.playground.runs.models import Run
from kschedweb.playground.runs.pod_rows import PodList
from kschedweb.playground.runs.rows import sort_rows
from tests.support import seed_runs

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]


def test_what_is_not_known_comes_last_in_either_direction() -> None:
    rows = [("a", 2.0), ("b", None), ("c", 7.0), ("d", 2.0)]
    assert [name for name, _ in sort_rows(rows, lambda row: row[1], down=False)] == ["a", "d", "c", "b"]
    assert [name for name, _ in sort_rows(rows, lambda row: row[1], down=True)] == ["c", "a", "d", "b"]


def test_a_bar_is_as_long_as_the_change_is_of_the_larger_value(editor: User) -> None:
    comparison = selectors.comparison_get(editor, seed_runs.comparison(editor).pk)
    differences = list(selectors.difference_list(comparison))
    for line in measure_rows.compare_measures(measure_rows.list_sides(comparison), differences):
        if line.measure.name == MOVED:
            counts = differences[0].counts
            assert line.values == [{}, {1: counts["moved"]}]
            assert line.changes[0].share == pytest.approx(counts["moved"] / counts["pods"])
            assert (
                line.changes[0].relative == f"{100 * counts['moved'] / counts['pods']:.1f} % of {counts['pods']} pods"
            )
            continue
        before, after = line.values[0][1], line.values[1][1]
        assert line.changes[0].share == pytest.approx(abs(after - before) / (max(abs(before), abs(after)) or 1))


def test_what_differs_goes_by_importance_and_what_is_alike_lies_below(editor: User) -> None:
    comparison = selectors.comparison_get(editor, seed_runs.comparison(editor).pk)
    lines = measure_rows.compare_measures(
        measure_rows.list_sides(comparison), list(selectors.difference_list(comparison))
    )
    groups = measure_rows.group_rows(lines)
    assert [group.group.name for group in groups] == ["run", "disruption", "balance", "cost", "speed"]
    group_lines = [line for group in groups for row in group.rows for line in (row.line, *row.near)]
    assert sorted(line.measure.name for line in group_lines) == sorted(
        line.measure.name for line in lines if line.differs
    )
    for group in groups:
        assert all(row.line.measure.group == group.group for row in group.rows)
        leading = [line.measure.name for line in lines if line in [row.line for row in group.rows]]
        assert len({lead_of(name) for name in leading}) == len(leading)
        sizes = [line.importance for line in lines if line.measure.group == group.group]
        assert sizes == sorted(sizes, reverse=True)
    (skew,) = [row for group in groups for row in group.rows if row.line.measure.name == "skew_cpu"]
    assert {"spread_cpu", "spread_cpu_end"} == {line.measure.name for line in skew.near}


def test_where_only_a_similar_measure_differs_it_leads() -> None:
    def line(name: str, after: float) -> measure_rows.MeasureRow:
        measure = RunMeasure(name, name, "points", "lower", "", None)
        change = compute_change(name, "points", "lower", {1: 10.0}, {1: after})
        return measure_rows.MeasureRow(measure, "", [measure_rows.ShownChange(change, "", "", "", 0.0, "")], [])

    rows = measure_rows.group_rows([line("skew_cpu", 10.2), line("spread_cpu", 14.0), line("spread_cpu_end", 12.0)])
    (row,) = [row for group in rows for row in group.rows]
    assert (row.line.measure.name, [line.measure.name for line in row.near]) == ("spread_cpu", ["spread_cpu_end"])


def test_measures_are_the_same_on_page_over_rest_and_as_csv(client_as: Clients, api_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    address = f"/comparisons/{comparison.pk}/"
    page = client_as("viewer").get(address)
    lines_by_measure = {line.measure.name: line for line in page.context["lines"]}
    assert {"moved", "unscheduled", "wait_median", "skew_cpu", "spread_memory_end", "nodes_empty"} <= set(
        lines_by_measure
    )
    assert {"fragmentation_cpu", "preemptions", "evictions"} <= set(lines_by_measure)
    rest_rows = {measure["name"]: measure for measure in api_as("viewer").get(f"/api/v1{address}").json()["measures"]}
    text = b"".join(client_as("viewer").get(f"{address}?format=csv").streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert set(rest_rows) == set(lines_by_measure) == {row["measure"] for row in rows}
    for row in rows:
        line, place = lines_by_measure[row["measure"]], ["default@1", "packed@1"].index(row["policy"])
        description = tuple(row[name] for name in ("measure", "group", "unit", "direction"))
        assert description == line.measure.described
        assert rest_rows[row["measure"]]["group"] == line.measure.group.name
        assert float(row["value"]) == line.values[place][int(row["seed"])]
        (rest_change,), (change,) = rest_rows[row["measure"]]["changes"], line.changes
        assert (rest_change["differs"], rest_change["better"]) == (change.differs, change.better)
        assert (rest_change["policy"], rest_change["noise_floor"]) == ("packed@1", change.measure_change.floor)
        assert rest_rows[row["measure"]]["values"][place][row["seed"]] == line.values[place][int(row["seed"])]


def test_both_tables_of_a_comparison_are_sorted_by_their_heads(client_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    client, address = client_as("viewer"), f"/comparisons/{comparison.pk}/"
    page = client.get(address, {"measures": "-measure", "ordering": "-before", "what": "moved"})
    for measure_group in page.context["measured"]:
        labels = [row.line.measure.label.lower() for row in measure_group.rows]
        assert labels == sorted(labels, reverse=True)
    before = [row.before for row in page.context["page"]]
    assert len(before) > 2
    assert before == sorted(before, reverse=True)
    content = page.content.decode()
    assert content.count('aria-sort="descending"') == 2
    assert "?measures=-measure&amp;ordering=before&amp;what=moved" in content  # the rest of the address stays
    by_change = client.get(address, {"measures": "change-1"}).context["lines"]
    for group in GROUPS:
        shares = [line.changes[0].share for line in by_change if line.measure.group == group]
        assert shares == sorted(shares)
    assert client.get(address, {"measures": "nonsense", "ordering": "-"}).status_code == 200


def test_rest_sorts_moved_pods_and_those_of_a_run_and_refuses_other_orders(api_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    api, address = api_as("viewer"), f"/api/v1/comparisons/{comparison.pk}/moved/"
    for key in moved_pods.ORDERS:
        assert api.get(address, {"ordering": f"-{key}"}).status_code == 200
    pods = [row["pod"] for row in api.get(address, {"ordering": "-pod"}).json()["results"]]
    assert pods == sorted(pods, reverse=True)
    run = f"/api/v1/runs/{Run.objects.get(position=0).pk}/pods/"
    waits = [row["waited"] for row in api.get(run, {"ordering": "-waited"}).json()["results"]]
    known_waits = [wait for wait in waits if wait is not None]
    assert known_waits == sorted(known_waits, reverse=True)
    assert waits[: len(known_waits)] == known_waits
    for path in (address, run):
        rejection = api.get(path, {"ordering": "-colour"})
        assert (rejection.status_code, rejection.json()["errors"][0]["path"]) == (400, "ordering")


@pytest.mark.parametrize("key", pod_rows.ORDERS)
def test_pods_of_a_run_keep_being_all_there_in_every_order(key: str) -> None:
    outcome = seed_runs.outcome()
    rows = PodList(outcome, outcome.end, ordering=f"-{key}").rows
    assert sorted(rows) == sorted(PodList(outcome, outcome.end).rows)
