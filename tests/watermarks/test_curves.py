"""Curves of the day: learnt from the hours that were collected, as far as they were known at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import demo_load
from kschedweb.engine.state.columns import Floats
from kschedweb.watermarks import selectors, storage
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from kschedweb.watermarks.models import Resolution

pytestmark = pytest.mark.databases

HOUR = 3600
DAY = 24 * HOUR
MIDNIGHT = 1_700_000_000 // DAY * DAY
FIGURE = Figure(WORKLOAD, "cpu", "15m")
WEB, DB = "shop/Deployment/web", "shop/StatefulSet/db"


@pytest.fixture
def cluster(django_user_model: object) -> Cluster:
    return Cluster.objects.create(name="main", source="import")


def store_hours(
    cluster: Cluster, ends: list[int], values: list[list[float]], names: tuple[str, ...] = (WEB, DB)
) -> None:
    """Means over hours that end so many hours after midnight."""
    rows = [(MIDNIGHT + end * HOUR, {FIGURE: means}) for end, means in zip(ends, values, strict=True)]
    storage.samples_store(
        cluster=cluster, kind=WORKLOAD, names=names, rows=rows, origin="prometheus", resolution=Resolution.HOUR
    )


def known_hours(curve: Floats) -> dict[int, float]:
    return {hour: round(float(value), 4) for hour, value in enumerate(curve) if not math.isnan(value)}


def test_nothing_is_known_before_an_hour_is_over(cluster: Cluster) -> None:
    assert selectors.daily_curves(cluster) == {}
    rows = [(MIDNIGHT + 60, {FIGURE: [1.0, 2.0]})]
    storage.samples_store(cluster=cluster, kind=WORKLOAD, names=(WEB, DB), rows=rows, origin="prometheus")
    assert selectors.daily_curves(cluster) == {}


def test_hours_of_several_days_make_a_curve(cluster: Cluster) -> None:
    store_hours(cluster, [9, 10, 24 + 9], [[1.0, 0.5], [2.0, math.nan], [4.0, math.nan]])
    curves = selectors.daily_curves(cluster)
    assert known_hours(curves[WEB]) == {8: 3.0, 9: 2.0}  # (1 × 1/2 + 4) ÷ 1.5
    assert known_hours(curves[DB]) == {8: 0.5}


def test_the_past_knows_only_the_hours_before_it(cluster: Cluster) -> None:
    store_hours(cluster, [9, 10, 24 + 9], [[1.0, 0.5], [2.0, 0.5], [4.0, 0.5]])
    assert known_hours(selectors.daily_curves(cluster, MIDNIGHT + 10 * HOUR - 1)[WEB]) == {8: 1.0}
    assert known_hours(selectors.daily_curves(cluster, MIDNIGHT + 10 * HOUR)[WEB]) == {8: 1.0, 9: 2.0}
    assert selectors.daily_curves(cluster, MIDNIGHT + 9 * HOUR - 1) == {}


def test_a_week_counts_and_what_was_before_it_does_not(cluster: Cluster) -> None:
    store_hours(cluster, [1, 8 * 24], [[1.0, 1.0], [2.0, 2.0]])
    assert known_hours(selectors.daily_curves(cluster)[WEB]) == {23: 2.0}


def test_a_set_of_workloads_that_changed_is_joined_by_name(cluster: Cluster) -> None:
    store_hours(cluster, [9], [[1.0, 0.5]])
    store_hours(cluster, [10], [[3.0]], names=(DB,))
    curves = selectors.daily_curves(cluster)
    assert known_hours(curves[WEB]) == {8: 1.0}
    assert known_hours(curves[DB]) == {8: 0.5, 9: 3.0}


def test_the_curves_stay_the_same_until_another_hour_is_over(cluster: Cluster) -> None:
    store_hours(cluster, [9], [[1.0, 0.5]])
    first = selectors.daily_curves(cluster)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert selectors.daily_curves(cluster) is first
    assert len(queries) == 1
    store_hours(cluster, [10], [[1.0, 0.5]])
    assert selectors.daily_curves(cluster) is not first


def test_a_replay_begins_with_what_was_known_at_its_beginning(cluster: Cluster) -> None:
    store_hours(cluster, [9, 10], [[1.0, 0.5], [2.0, 0.5]])
    node = Figure(NODE, "cpu", "15m")
    rows = [(MIDNIGHT + at, {node: [10.0]}) for at in (9 * HOUR, 10 * HOUR)]
    storage.samples_store(cluster=cluster, kind=NODE, names=("a",), rows=rows, origin="prometheus")
    now = selectors.current_watermarks(cluster, MIDNIGHT + 10 * HOUR)
    assert now is not None
    assert known_hours(now.curves[WEB]) == {8: 1.0, 9: 2.0}
    history = selectors.load_collected(cluster, MIDNIGHT + 9 * HOUR, MIDNIGHT + 10 * HOUR)
    assert history is not None
    assert known_hours(history.watermarks_at(len(history.times) - 1).curves[WEB]) == {8: 1.0}


@pytest.mark.django_db
def test_the_demo_has_a_day_and_a_night_shift() -> None:
    curves = selectors.daily_curves(demo_load())
    shop, batch = (
        np.array([curve for name, curve in curves.items() if name.startswith(space)]) for space in ("shop/", "batch/")
    )
    assert not np.isnan(shop).any()
    assert 11 <= shop.mean(axis=0).argmax() <= 16
    assert not 6 <= batch.mean(axis=0).argmax() <= 20
