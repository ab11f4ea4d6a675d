"""Samples: what is written is read, rolled up, pruned, and told with its age."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import selectors, storage
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from kschedweb.watermarks.models import Members, Resolution, Sample, Series

pytestmark = pytest.mark.databases

CPU = Figure(NODE, "cpu", "15m")
MEMORY = Figure(NODE, "memory", "15m")
HIGHEST = Figure(NODE, "cpu", "1h_max")
T = 1_700_000_000 // 3600 * 3600  # the beginning of an hour
NAN = math.nan
NAMES = ("a", "b", "c")


def store(
    cluster: Cluster,
    at: int,
    values: dict[Figure, list[float]],
    names: tuple[str, ...] = NAMES,
    origin: str = "prometheus",
) -> None:
    storage.samples_store(cluster=cluster, kind=NODE, names=names, rows=[(at, values)], origin=origin)


def minutes(cluster: Cluster, count: int) -> int:
    """``count`` minutes in which ``a`` has the minute's number, all rolled up; the time of the last one."""
    rows = [(T + 60 * minute, {CPU: [minute, 0, 0]}) for minute in range(1, count + 1)]
    storage.samples_store(cluster=cluster, kind=NODE, names=NAMES, rows=rows, origin="prometheus")
    while storage.samples_rollup(cluster=cluster, now=T + 60 * count):
        pass
    return T + 60 * count


def lists(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 4) for value in np.ravel(values)]


@given(st.lists(st.floats(width=32, allow_infinity=False), max_size=50))
def test_what_is_packed_is_unpacked(values: list[float]) -> None:
    assert np.array_equal(
        storage.unpack_values(storage.pack_values(values)), np.array(values, dtype=np.float32), equal_nan=True
    )


def test_a_cluster_without_samples_has_no_watermarks(cluster: Cluster) -> None:
    assert selectors.current_watermarks(cluster) is None
    assert selectors.figures_version(cluster) == ""
    history = selectors.load_history(cluster, NODE, "cpu", "15m", T, T + 3600)
    assert (history.times.size, history.names, history.values.shape) == (0, (), (0, 0))
    assert selectors.load_freshness(cluster, T).updated is None


def test_the_newest_values_are_current_and_bear_their_time(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3], MEMORY: [10, 20, 30]})
    before = selectors.figures_version(cluster)
    store(cluster, T + 60, {CPU: [4, 5, 6], MEMORY: [40, 50, 60]})
    assert selectors.figures_version(cluster) != before
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    assert watermarks.names == ["a", "b", "c"]
    assert lists(watermarks.column("cpu", "15m")) == [4, 5, 6]
    assert lists(watermarks.updated) == [T + 60] * 3
    assert watermarks.source == "prometheus"
    assert lists(watermarks.column("cpu", "1d")) == [None, None, None]


def test_the_past_is_told_as_it_was_known_then(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    store(cluster, T + 60, {CPU: [4, 5, 6]})
    then = selectors.current_watermarks(cluster, T + 59.5)
    assert then is not None
    assert lists(then.column("cpu", "15m")) == [1, 2, 3]
    assert selectors.current_watermarks(cluster, T - 1) is None
    assert selectors.figures_version(cluster, T + 59.5) != selectors.figures_version(cluster)


def test_a_value_that_is_missing_now_is_the_last_good_one_with_its_own_age(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3], MEMORY: [10, 20, 30]})
    store(cluster, T + 60, {CPU: [4, NAN, 6]})
    table = selectors.load_table(cluster, NODE)
    assert table is not None
    assert lists(table.figures["cpu", "15m"]) == [4, 2, 6]
    assert lists(table.times["cpu", "15m"]) == [T + 60, T, T + 60]
    assert lists(table.figures["memory", "15m"]) == [10, 20, 30]
    assert lists(table.updated) == [T, T, T]  # as old as the oldest figure


def test_a_value_that_is_missing_for_longer_than_a_quarter_of_an_hour_is_unknown(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3], MEMORY: [10, 20, 30]})
    store(cluster, T + selectors.CARRIED, {CPU: [4, NAN, 6]})
    table = selectors.load_table(cluster, NODE)
    assert table is not None
    assert lists(table.figures["cpu", "15m"]) == [4, None, 6]
    assert lists(table.updated) == [T + 900, None, T + 900]


def test_a_silent_source_leaves_all_figures_with_a_growing_age(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    fresh, late = selectors.load_freshness(cluster, T + 30), selectors.load_freshness(cluster, T + 7200)
    assert (fresh.age, fresh.stale, fresh.nodes) == (30, False, 3)
    assert (late.age, late.stale, late.nodes) == (7200, True, 3)


def test_values_of_an_older_set_of_nodes_find_their_place(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    store(cluster, T + 60, {CPU: [NAN, 5, NAN]}, names=("d", "c", "b"))
    table = selectors.load_table(cluster, NODE)
    assert table is not None
    assert table.names == ("d", "c", "b")
    assert lists(table.figures["cpu", "15m"]) == [None, 5, 2]


def test_history_joins_sets_of_nodes_over_time(cluster: Cluster) -> None:
    store(cluster, T + 60, {CPU: [1, 2, 3]})
    store(cluster, T + 120, {CPU: [4, 5]}, names=("c", "d"), origin="demo")
    history = selectors.load_history(cluster, NODE, "cpu", "15m", T, T + 600)
    assert history.names == ("c", "d", "a", "b")
    assert [lists(row) for row in history.values] == [[3, None, 1, 2], [4, 5, None, None]]
    assert history.origins == ("prometheus", "demo")
    assert history.times.tolist() == [T + 60, T + 120]


def test_the_same_set_of_nodes_is_kept_once(cluster: Cluster) -> None:
    for minute in range(3):
        store(cluster, T + 60 * minute, {CPU: [1, 2, 3], MEMORY: [1, 2, 3]})
    assert Members.objects.count() == 1
    assert Series.objects.count() == 2


def test_the_same_time_again_replaces_its_values(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    store(cluster, T, {CPU: [7, 8, 9]})
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    assert lists(watermarks.column("cpu", "15m")) == [7, 8, 9]
    assert Sample.objects.count() == 1


def test_spans_that_are_over_are_rolled_up(cluster: Cluster) -> None:
    for minute in range(1, 12):
        store(cluster, T + 60 * minute, {CPU: [minute, NAN, NAN if minute % 2 else 10], HIGHEST: [minute, 1, NAN]})
    assert storage.samples_rollup(cluster=cluster, now=T + 660) == 2
    assert storage.samples_rollup(cluster=cluster, now=T + 660) == 0
    rolled_up_rows = Sample.objects.filter(resolution=Resolution.FIVE_MINUTES).order_by("series__statistic", "at")
    # (T, T + 300] holds the minutes 1 to 5, (T + 300, T + 600] those from 6 to 10.
    assert [(row.at - T, lists(storage.unpack_values(row.values))) for row in rolled_up_rows] == [
        (300, [3, None, 10]),
        (600, [8, None, 10]),
        (300, [5, 1, None]),
        (600, [10, 1, None]),
    ]


def test_hours_are_rolled_up_from_whole_ones_only(cluster: Cluster) -> None:
    minutes(cluster, 300)
    hours = Sample.objects.filter(resolution=Resolution.HOUR).order_by("at")
    assert [(row.at - T, lists(storage.unpack_values(row.values))[0]) for row in hours] == [
        (3600 * hour, 60 * hour - 29.5) for hour in range(1, 6)
    ]


def test_a_chart_has_no_more_rows_than_it_asked_for(cluster: Cluster) -> None:
    end = minutes(cluster, 300)
    fine = selectors.load_history(cluster, NODE, "cpu", "15m", T, end, points=300)
    assert (fine.values.shape, fine.resolution) == ((300, 3), 60)
    coarse = selectors.load_history(cluster, NODE, "cpu", "15m", T, end, points=60)
    assert (coarse.values.shape, coarse.resolution) == ((60, 3), 300)
    few = selectors.load_history(cluster, NODE, "cpu", "15m", T, end, points=4)
    assert lists(few.values[:, 0]) == [30.5, 90.5, 150.5, 240.5]  # hours; two of them ended in the last span


def test_a_chart_reaches_to_the_newest_sample_and_back_behind_what_was_pruned(cluster: Cluster) -> None:
    now = minutes(cluster, 182)
    tail = selectors.load_history(cluster, NODE, "cpu", "15m", T, now, points=40)
    assert tail.times[-1] == now
    keep = {Resolution.COLLECTED: 3600, Resolution.FIVE_MINUTES: 86_400, Resolution.HOUR: 864_000}
    assert storage.samples_prune(cluster=cluster, keep=keep, now=now) == 121
    head = selectors.load_history(cluster, NODE, "cpu", "15m", T, now, points=200)
    assert head.times[0] == T + 300
    assert head.times[-1] == now
    assert np.all(np.diff(head.times) > 0)
    assert selectors.current_watermarks(cluster, T + 1200) is not None


def test_pruning_forgets_sets_of_objects_that_nothing_names(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    store(cluster, T + 7200, {CPU: [1, 2]}, names=("a", "b"))
    storage.samples_prune(cluster=cluster, keep={Resolution.COLLECTED: 3600}, now=T + 7200)
    assert [storage.names_of(row.pk) for row in Members.objects.all()] == [("a", "b")]


def test_workloads_come_in_the_form_of_the_engine(cluster: Cluster) -> None:
    figures = {Figure(WORKLOAD, "cpu", "15m"): [0.5, NAN], Figure(WORKLOAD, "memory", "1d"): [NAN, 1024.0]}
    names = ("shop/Deployment/web", "shop/StatefulSet/db")
    store(cluster, T, {CPU: [1, 2, 3]})
    storage.samples_store(cluster=cluster, kind=WORKLOAD, names=names, rows=[(T, figures)], origin="prometheus")
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    assert watermarks.workloads == {
        "shop/Deployment/web": {"cpu": {"15m": 0.5}, "memory": {}},
        "shop/StatefulSet/db": {"cpu": {}, "memory": {"1d": 1024.0}},
    }


def test_workloads_that_nobody_tells_about_any_more_are_forgotten(cluster: Cluster) -> None:
    use = {Figure(WORKLOAD, "cpu", "15m"): [0.5]}
    storage.samples_store(cluster=cluster, kind=WORKLOAD, names=["s/Deployment/w"], rows=[(T, use)], origin="demo")
    store(cluster, T + selectors.CARRIED - 1, {CPU: [1, 2, 3]})
    soon = selectors.current_watermarks(cluster)
    store(cluster, T + selectors.CARRIED, {CPU: [1, 2, 3]})
    later = selectors.current_watermarks(cluster)
    assert soon is not None
    assert later is not None
    assert list(soon.workloads) == ["s/Deployment/w"]
    assert not later.workloads
    assert selectors.load_freshness(cluster, T + 1000).workloads == 0


def test_deleting_a_cluster_takes_its_samples_along(cluster: Cluster) -> None:
    store(cluster, T, {CPU: [1, 2, 3]})
    cluster.delete()
    assert not Sample.objects.exists()
    assert not Members.objects.exists()


def test_reading_costs_the_same_few_queries_whatever_the_number_of_samples(cluster: Cluster) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as queries_captured:
            selectors.current_watermarks(cluster)
            selectors.load_history(cluster, NODE, "cpu", "15m", T, T + 86_400)
        return len(queries_captured)

    store(cluster, T, {CPU: [1, 2, 3]})
    queries()
    few = queries()
    for minute in range(1, 20):
        store(cluster, T + minute * 60, {CPU: [1, 2, 3]})
    assert queries() <= few
