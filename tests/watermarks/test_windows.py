"""The windows that kschedweb keeps itself equal those of all the samples at hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import storage
from kschedweb.watermarks.collection import CollectedFigures
from kschedweb.watermarks.figures import NODE, NOW, Figure
from kschedweb.watermarks.inventory import inventory_make
from kschedweb.watermarks.metrics import compute_window, compute_windows
from tests.watermarks.conftest import OBJECTS

T = 1_700_000_000 // 3600 * 3600
NAMES = ("node-a", "node-b", "node-c")
PRESENT = Figure(NODE, "cpu", NOW)


def curve(minute: int) -> list[float]:
    return [minute % 60, 50 + 40 * np.sin(minute / 90), np.nan if minute % 4 else minute / 20]


def node_cpu(values: dict[Figure, np.ndarray], statistic: str) -> np.ndarray:
    return values[Figure(NODE, "cpu", statistic)]


def test_windows_of_a_day_of_samples_equal_those_of_the_curve(cluster: Cluster) -> None:
    minutes = range(1, 26 * 60)
    rows = [(T + 60 * minute, {PRESENT: curve(minute)}) for minute in minutes]
    storage.samples_store(cluster=cluster, kind=NODE, names=NAMES, rows=rows, origin="metrics.k8s.io")
    while storage.samples_rollup(cluster=cluster, now=T + 60 * minutes[-1]):
        pass
    now = minutes[-1] + 1
    present = np.array(curve(now))
    collected = CollectedFigures(inventory_make(OBJECTS), {PRESENT: present})
    windows = compute_windows(cluster, collected, at=T + 60 * now)
    assert set(windows) == {
        Figure(NODE, "cpu", statistic) for statistic in ("5m", "15m", "1h", "1d", "15m_std", "1h_max", "1d_max")
    }
    day = np.array([curve(minute) for minute in range(1, now + 1)])

    def close(statistic: str, expected: np.ndarray, percent: float = 0.001) -> None:
        assert node_cpu(windows, statistic) == pytest.approx(expected, rel=percent / 100, nan_ok=True)

    close("5m", np.nanmean(day[-5:], axis=0))
    close("15m", np.nanmean(day[-15:], axis=0))
    close("1h", np.nanmean(day[-60:], axis=0))
    close("15m_std", np.nanstd(day[-15:], axis=0), 0.01)
    # Of a day five-minute means are kept, each of which counts as one.
    close("1d", np.nanmean(day[-1440:], axis=0), 1)
    fives = np.array([np.nanmean(day[start : start + 5], axis=0) for start in range(now % 5, now, 5)])
    assert np.all(node_cpu(windows, "1d_max") >= np.nanmax(fives[-288:], axis=0) - 0.01)
    assert np.all(node_cpu(windows, "1d_max") <= np.nanmax(day[-1440:], axis=0))
    assert node_cpu(windows, "1h_max")[0] == pytest.approx(57)  # minutes 55 to 59 of a saw tooth


def test_the_first_sample_is_every_average_of_itself(cluster: Cluster) -> None:
    collected = CollectedFigures(inventory_make(OBJECTS), {PRESENT: np.array([10.0, 20.0, np.nan])})
    windows = compute_windows(cluster, collected, at=T)
    for statistic in ("5m", "15m", "1h", "1d", "1h_max", "1d_max"):
        assert node_cpu(windows, statistic) == pytest.approx([10, 20, np.nan], nan_ok=True)
    assert node_cpu(windows, "15m_std") == pytest.approx([0, 0, np.nan], nan_ok=True)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=70), st.sampled_from(["5m", "15m", "1h", "1h_max", "15m_std"]))
def test_no_window_leaves_the_range_of_its_samples(values: list[float], statistic: str) -> None:
    times = np.array([T - 60.0 * ago for ago in range(len(values))][::-1])
    recent = np.array(values)[:, None]
    value = compute_window(statistic, T, times, recent, np.empty(0), np.empty((0, 1)))
    upper = max(values) - min(values) if statistic == "15m_std" else max(values)
    lower = 0.0 if statistic == "15m_std" else min(values)
    assert lower - 1e-6 <= value[0] <= upper + 1e-6
