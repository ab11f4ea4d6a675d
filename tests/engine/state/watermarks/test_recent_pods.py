"""Sums over recently bound pods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.recent_pods import EstimateColumns, PodContribution, RecentPods
from tests.engine.builders import node, pod
from tests.engine.state.watermarks.observed import alone, levels, make_snapshot

NOW = 1_790_000_000.0
SPAN = 300.0


def bound(name: str, ago: float | None) -> dict[str, Any]:
    raw = pod(name, on="a" if int(name) % 2 else "b")
    if ago is not None:
        stamp = np.datetime_as_string(np.datetime64(int(NOW - ago), "s")) + "Z"
        raw.setdefault("status", {})["startTime"] = stamp
    return raw


@pytest.mark.parametrize("columns", [None, "given"])
def test_pods_that_cannot_count_are_not_asked_about(columns: str | None) -> None:
    ages = [0.0, 10.0, 299.0, 300.0, 301.0, 5000.0, None]
    snapshot = Snapshot.from_objects([node("a"), node("b"), *(bound(str(at), ago) for at, ago in enumerate(ages))])
    snapshot.now = NOW
    asked_pods: list[str] = []

    def estimate(pod: Pod, place: int, time: float) -> PodContribution | None:
        asked_pods.append(pod.name)
        return None if math.isnan(time) else PodContribution([1.0], time + SPAN)

    estimate_columns = EstimateColumns(lambda pods: pods.scheduled + SPAN) if columns else None
    sums = RecentPods(snapshot, 1, estimate, estimate_columns).current_sums()
    assert dict(zip(snapshot.names, sums[0].tolist(), strict=True)) == {"a": 2.0, "b": 2.0}
    assert len(asked_pods) == (4 if columns else len(ages))


AGES = st.one_of(st.none(), st.sampled_from([0.0, 59.0, 60.0, 299.0, 300.0, 301.0]), st.floats(-400.0, 4000.0))
PHASES = st.sampled_from(["Running", "Pending", "Failed", ""])
PODS = st.lists(st.tuples(AGES, PHASES, st.booleans()), max_size=12)
COUNTING = ["TargetLoadPacking", "HheWaterLevelBalance", "VolcanoUsage", "Dynamic"]


def drawn_pod(at: int, ago: float | None, phase: str, leaving: bool) -> dict[str, Any]:
    raw = bound(str(at), ago)
    raw.setdefault("status", {})["phase"] = phase
    raw["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{100 * at % 3}m"}, "limits": {"cpu": "1"}}
    raw["metadata"] |= {"deletionTimestamp": "2026-11-27T00:00:00Z"} if leaving else {}
    return raw


@pytest.mark.parametrize("plugin", COUNTING)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=PODS, removed=st.sets(st.integers(0, 11)), later=st.floats(0.0, 500.0))
def test_columns_count_what_the_estimate_does(
    monkeypatch: pytest.MonkeyPatch, plugin: str, drawn: list[Any], removed: set[int], later: float
) -> None:
    """All pods at once and each by itself, of pods that are there, are placed, and leave, now and later."""
    snapshot = make_snapshot(
        levels(a=20.0, b=None), *(drawn_pod(at, *draw) for at, draw in enumerate(drawn)), updated=NOW
    )
    compared: list[bool] = []

    def recent(_: Snapshot, __: Any, width: int, estimate: Any, columns: EstimateColumns) -> Floats:
        both = [RecentPods(snapshot, width, estimate, estimator) for estimator in (columns, None)]
        moments = [[recent_pods.current_sums().copy() for recent_pods in both]]
        for key in {f"default/{at}" for at in removed} & set(snapshot.pods.slots):
            snapshot.remove_pod(key)
        snapshot.place_pod(Pod.from_json(pod(f"new-{len(compared)}", requests={"cpu": "50m"})), "b")
        moments.append([recent_pods.current_sums().copy() for recent_pods in both])
        moments.append(
            [RecentPods(snapshot, width, estimate, estimator).current_sums() for estimator in (columns, None)]
        )
        snapshot.now += later
        moments.append([recent_pods.current_sums() for recent_pods in both])
        for sums, plain in moments:
            assert sums.tolist() == plain.tolist()
        removed.clear()
        compared.append(True)
        return both[0].current_sums()

    monkeypatch.setattr(Snapshot, "recent_sums", recent)
    alone(plugin, snapshot).explain(Pod.from_json(pod("asked")))
    assert compared
