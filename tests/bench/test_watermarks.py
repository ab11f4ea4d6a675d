"""Watermarks of 5,000 nodes and 2,000 workloads: a minute's write, and a day read back for a chart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from django.db import connection

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.watermarks import selectors, storage
from kschedweb.watermarks.collection import CollectedFigures
from kschedweb.watermarks.figures import FIGURES, KINDS, NODE, NOW, RESOURCES, WORKLOAD, Figure
from kschedweb.watermarks.inventory import Inventory
from kschedweb.watermarks.metrics import compute_windows
from kschedweb.watermarks.models import Resolution
from tests.bench.conftest import timed

pytestmark = pytest.mark.nightly

NODES, WORKLOADS = 5000, 2000
MINUTES, TIMED = 1440, 120  # of a day; those whose writes are timed, one by one
WRITE, READ = 6000, 300  # milliseconds: a tenth of the interval, and what a chart may take
T = 1_700_000_000 // 86_400 * 86_400
NAMES = {
    NODE: tuple(f"node-{index:05d}.example.internal" for index in range(NODES)),
    WORKLOAD: tuple(f"team-{index % 50}/Deployment/service-{index:05d}" for index in range(WORKLOADS)),
}
Values = dict[Figure, np.ndarray]


def minute(numbers: np.random.Generator, kind: str, figures: tuple[Figure, ...] = FIGURES) -> Values:
    return {figure: numbers.random(len(NAMES[kind])) * 100 for figure in figures if figure.kind == kind}


def write(cluster: Cluster, at: int, rows: dict[str, Values]) -> None:
    """Write the figures, as a run does once the source has answered."""
    for kind in KINDS:
        storage.samples_store(cluster=cluster, kind=kind, names=NAMES[kind], rows=[(at, rows[kind])], origin="bench")
    storage.samples_rollup(cluster=cluster, now=at)


def fill(cluster: Cluster, drawn: list[dict[str, Values]], minutes: range) -> None:
    """Minutes that went before, an hour in each write."""
    for first in minutes[::60]:
        hour = range(first, min(first + 60, minutes.stop))
        for kind in KINDS:
            rows = [(T + 60 * at, drawn[at % len(drawn)][kind]) for at in hour]
            storage.samples_store(cluster=cluster, kind=kind, names=NAMES[kind], rows=rows, origin="bench")
        while storage.samples_rollup(cluster=cluster, now=T + 60 * hour[-1]):
            pass


@pytest.fixture
def cluster(db: None) -> Cluster:
    return Cluster.objects.create(name="large", source=ClusterSource.IMPORT)


@pytest.mark.django_db(transaction=True)
def test_a_day_of_minutes_is_written_and_read_back_in_time(cluster: Cluster, report: Callable[..., None]) -> None:
    numbers = np.random.default_rng(1)
    # The values of a minute are drawn before the clock runs; twenty different ones repeat over the day.
    drawn = [{kind: minute(numbers, kind) for kind in KINDS} for _ in range(20)]
    fill(cluster, drawn, range(1, MINUTES - TIMED + 1))
    took = [
        timed(partial(write, cluster, T + 60 * at, drawn[at % 20])) for at in range(MINUTES - TIMED + 1, MINUTES + 1)
    ]
    vendor, size = connection.vendor, f"{len(FIGURES)} figures of {NODES:,} nodes and {WORKLOADS:,} workloads"
    report(f"a minute of watermarks written, {vendor}", took, WRITE, size)
    report(f"the slowest minute of two hours, {vendor}", [max(took)], WRITE, "at the end of a day of minutes")
    end = T + 86_400

    def read() -> selectors.FigureHistory:
        return selectors.load_history(cluster, NODE, "cpu", "1h", T, end, points=300)

    history = read()
    assert history.values.shape == (288, NODES)
    assert history.resolution == Resolution.FIVE_MINUTES
    report(f"heatmap of a day read, {vendor}", [timed(read) for _ in range(7)], READ, f"{NODES:,} nodes, 5 minutes")

    def skew() -> np.ndarray:
        values = read().values
        return np.asarray([values.max(axis=1) - values.min(axis=1), values.std(axis=1)])

    report(f"skew of a day read, {vendor}", [timed(skew) for _ in range(7)], READ)
    report(
        f"six hours of minutes read, {vendor}",
        [timed(lambda: selectors.load_history(cluster, NODE, "cpu", "1h", end - 21_600, end, 360)) for _ in range(5)],
        READ,
    )
    report(
        f"the present watermarks read, {vendor}",
        [timed(lambda: selectors.current_watermarks(cluster)) for _ in range(7)],
        READ,
    )
    report(
        f"the freshness read, {vendor}", [timed(lambda: selectors.load_freshness(cluster, end)) for _ in range(7)], READ
    )


@pytest.mark.django_db(transaction=True)
def test_windows_of_a_day_are_kept_in_time(cluster: Cluster, report: Callable[..., None]) -> None:
    numbers = np.random.default_rng(2)
    present = tuple(Figure(kind, resource, NOW) for kind in KINDS for resource in RESOURCES)
    fill(cluster, [{kind: minute(numbers, kind, present) for kind in KINDS} for _ in range(20)], range(1, MINUTES + 1))
    sizes = {resource: np.ones(NODES) for resource in RESOURCES}
    inventory = Inventory(NAMES[NODE], sizes, sizes, {}, NAMES[WORKLOAD], {})
    at = T + 86_400 + 60

    def collect() -> None:
        collected = CollectedFigures(inventory, minute(numbers, NODE, present) | minute(numbers, WORKLOAD, present))
        collected.values |= compute_windows(cluster, collected, at=at)
        write(cluster, at, {kind: collected.values_of_kind(kind) for kind in KINDS})

    collect()
    report(f"windows of a day worked out and written, {connection.vendor}", [timed(collect) for _ in range(5)], WRITE)
