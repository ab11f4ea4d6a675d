"""TidalCoLocation: curves of the day of pods and nodes against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.plugins.tidalcolocation import tide_of
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

HOURS = 24
DAY = [2.0] * 12 + [0.0] * 12  # works in the first half of the day
NIGHT = DAY[::-1]
FLAT = [1.0] * HOURS
Curve = Sequence[float | None]

hourly = st.lists(st.integers(0, 40).map(lambda tenths: tenths / 10), min_size=HOURS, max_size=HOURS)
works = hourly.filter(any)
curves = st.lists(hourly, min_size=1, max_size=4)


def owned(workload: str, **fields: Any) -> dict:
    raw = pod(**fields)
    raw["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": workload, "controller": True}]
    return raw


def cluster(on: Mapping[str, Sequence[str]], curves_by_workload: Mapping[str, Curve | None]) -> Snapshot:
    """Nodes of 100 CPU with a pod of each of the workloads that ``on`` names, whose curves are ``known``."""
    nodes = [node(name, allocatable={"cpu": "100", "memory": "100Gi", "pods": "110"}) for name in on]
    bound = [
        owned(workload, name=f"{name}-{number}", on=name)
        for name, workloads in on.items()
        for number, workload in enumerate(workloads)
    ]
    snapshot = Snapshot.from_objects([*nodes, *bound])
    workload_figures = {
        f"default/StatefulSet/{name}": {"cpu": {"hours": curve}} for name, curve in curves_by_workload.items()
    }
    snapshot.watermarks = Watermarks.from_json({"workloads": workload_figures}, snapshot.names)
    return snapshot


def profile(*plugins: str, **args: Any) -> dict[str, Any]:
    enabled = [{"name": name} for name in plugins]
    return {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": enabled, "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": "TidalCoLocation", "args": args}] if args else [],
    }


def scores(snapshot: Snapshot, workload: str = "asked", **args: Any) -> list[int]:
    loaded = load({**CONFIGURATION, "profiles": [profile("TidalCoLocation", **args)]})
    assert loaded.configuration is not None, loaded.errors
    answer = Scheduler(snapshot, loaded.configuration).explain(Pod.from_json(owned(workload, name="new"))).to_dict()
    return list(answer["scores"]["TidalCoLocation"]["raw"].values())


def between(pod: Sequence[float], nodes: Sequence[Sequence[float]], points: float = 5) -> list[int]:
    """The scores on nodes of which each has one pod of 1 % of its cores for each unit of its curve."""
    curves_by_workload: dict[str, Curve | None] = {f"of-{place}": curve for place, curve in enumerate(nodes)}
    on = {f"n{place}": [f"of-{place}"] for place in range(len(nodes))}
    return scores(cluster(on, {**curves_by_workload, "asked": pod}), pointsPerPercent=points)


def total(parts: Iterable[Fraction]) -> Fraction:
    return sum(parts, Fraction(0))


def by_hand(pod: Sequence[float], nodes: Sequence[Sequence[float]], points: float) -> list[int]:
    """The formula of docs/load-aware-policies.md in fractions."""
    exact, pod_curve = [[Fraction(value) for value in curve] for curve in nodes], [Fraction(value) for value in pod]
    mean = [total(curve[hour] for curve in exact) / len(exact) for hour in range(HOURS)]
    expected_scores = []
    for curve in exact:
        met = [
            total(p * value for p, value in zip(pod_curve, node_curve, strict=True)) / total(pod_curve)
            for node_curve in (curve, mean)
        ]
        tide = met[0] - met[1] - (total(curve) - total(mean)) / HOURS
        expected_scores.append(
            floor(min(max(50 - Fraction(points) * tide, Fraction(0)), Fraction(100)) + Fraction(1, 2))
        )
    return expected_scores


def test_a_pod_of_the_day_goes_where_the_night_works() -> None:
    # Each node uses 1 % on average. The pod of the day meets 2 % on the first and 0 % on the second.
    assert between(DAY, [DAY, NIGHT, FLAT]) == [45, 55, 50]
    assert between(NIGHT, [DAY, NIGHT, FLAT]) == [55, 45, 50]
    assert between(DAY, [DAY, NIGHT, FLAT], points=20) == [30, 70, 50]
    assert between(DAY, [DAY, NIGHT, FLAT], points=100) == [0, 100, 50]
    assert between(DAY, [DAY, NIGHT, FLAT], points=0) == [50, 50, 50]


@given(works, curves, st.sampled_from((0.0, 1.0, 5.0, 12.5)))
def test_scores_are_those_of_the_formula(pod: list[float], nodes: list[list[float]], points: float) -> None:
    expected_scores = by_hand(pod, nodes, points)
    # A float may be on the other side of a half.
    assert all(abs(score - by) <= 1 for score, by in zip(between(pod, nodes, points), expected_scores, strict=True))


@given(works, curves, hourly)
def test_equal_curves_added_everywhere_change_nothing(pod: list[float], nodes: list[list[float]], more: Any) -> None:
    before = tide_of(np.array(pod), np.array(nodes).T)
    after = tide_of(np.array(pod), (np.array(nodes) + more).T)
    assert after == pytest.approx(before, abs=1e-9)


@given(works, curves, st.integers(0, HOURS - 1))
def test_it_does_not_matter_when_the_day_begins(pod: list[float], nodes: list[list[float]], by: int) -> None:
    before = tide_of(np.array(pod), np.array(nodes).T)
    after = tide_of(np.roll(pod, by), np.roll(nodes, by, axis=1).T)
    assert after == pytest.approx(before, abs=1e-9)


@given(works, curves, st.integers(1, 50))
def test_the_size_of_the_pod_does_not_matter(pod: list[float], nodes: list[list[float]], times: int) -> None:
    before, after = (tide_of(np.array(pod) * by, np.array(nodes).T) for by in (1, times))
    assert after == pytest.approx(before, abs=1e-9)


@given(works, curves)
def test_the_tides_of_all_nodes_sum_to_nothing(pod: list[float], nodes: list[list[float]]) -> None:
    assert tide_of(np.array(pod), np.array(nodes).T).sum() == pytest.approx(0.0, abs=1e-9)


@given(st.floats(0.125, 4), curves)
def test_a_flat_curve_says_nothing(level: float, nodes: list[list[float]]) -> None:
    assert between([level] * HOURS, nodes) == [50] * len(nodes)


@given(st.one_of(st.none(), hourly.filter(lambda curve: not any(curve)), st.just([None] * HOURS)), curves)
def test_a_pod_without_a_curve_scores_the_same_everywhere(pod_curve: Curve | None, nodes: list[list[float]]) -> None:
    on = {f"n{place}": [f"of-{place}"] for place in range(len(nodes))}
    curves_by_workload: dict[str, Curve | None] = {f"of-{place}": curve for place, curve in enumerate(nodes)}
    assert scores(cluster(on, curves_by_workload)) == [50] * len(nodes)
    assert scores(cluster(on, {**curves_by_workload, "asked": pod_curve})) == [50] * len(nodes)


@given(st.floats(0.125, 4), curves)
def test_a_flat_pod_goes_where_it_goes_without_the_plugin(level: float, nodes: list[list[float]]) -> None:
    on = {f"n{place}": [f"of-{place}"] for place in range(len(nodes))}
    curves_by_workload: dict[str, Curve | None] = {f"of-{place}": curve for place, curve in enumerate(nodes)}
    snapshot = cluster(on, {**curves_by_workload, "asked": [level] * HOURS})
    node_figures = {name: {"cpu": dict.fromkeys(("15m", "1h", "1d"), 7.0 * place)} for place, name in enumerate(on)}
    curves_alone = snapshot.watermarks.curves if snapshot.watermarks is not None else {}
    read = Watermarks.from_json({"nodes": node_figures}, snapshot.names)
    snapshot.watermarks = Watermarks(read.names, read.updated, read.figures, curves=curves_alone)
    best = []
    for plugins in (("HheWaterLevelBalance",), ("HheWaterLevelBalance", "TidalCoLocation")):
        loaded = load({**CONFIGURATION, "profiles": [profile(*plugins)]})
        assert loaded.configuration is not None, loaded.errors
        explanation = Scheduler(snapshot, loaded.configuration).explain(Pod.from_json(owned("asked", name="new")))
        best.append(explanation.to_dict()["best"])
    assert best[0] == best[1]


def test_an_unknown_hour_counts_as_the_mean_of_the_others() -> None:
    half: Curve = [2.0] * 6 + [None] * 12 + [0.0] * 6
    filled: Curve = [2.0] * 6 + [1.0] * 12 + [0.0] * 6
    on = {"n0": ["day"], "n1": ["night"]}
    score_lists = [
        scores(cluster(on, {"day": DAY, "night": NIGHT, "asked": pod_curve})) for pod_curve in (half, filled)
    ]
    assert score_lists[0] == score_lists[1] == [48, 53]  # 47.5 and 52.5


def test_pods_that_come_and_go_move_the_curve_of_their_node() -> None:
    snapshot = cluster({"n0": [], "n1": []}, {"day": DAY, "asked": DAY})
    assert scores(snapshot) == [50, 50]
    arrival = Pod.from_json(owned("day", name="came"))
    snapshot.add_pod(arrival.on("n0"), 0)
    assert scores(snapshot) == [48, 53]
    snapshot.remove_pod(arrival.key)
    assert scores(snapshot) == [50, 50]


def test_the_next_days_curve_counts_for_pods_that_are_there() -> None:
    snapshot = cluster({"n0": ["day"], "n1": []}, {"day": DAY, "asked": DAY})
    assert scores(snapshot) == [48, 53]
    workload_figures = {
        "default/StatefulSet/day": {"cpu": {"hours": NIGHT}},
        "default/StatefulSet/asked": {"cpu": {"hours": DAY}},
    }
    snapshot.watermarks = Watermarks.from_json({"workloads": workload_figures}, snapshot.names)
    assert scores(snapshot) == [53, 48]


@pytest.mark.parametrize("points", [-0.5, 100.5])
def test_points_out_of_range_are_refused(points: float) -> None:
    loaded = load({**CONFIGURATION, "profiles": [profile("TidalCoLocation", pointsPerPercent=points)]})
    path = "profiles[0].pluginConfig[0].args.pointsPerPercent"
    assert loaded.errors == [f"{path}: Invalid value: {points}: not in valid range [0, 100]"]


def test_the_argument_has_a_default() -> None:
    on = {"n0": ["day"], "n1": ["night"]}
    curves_by_workload = {"day": DAY, "night": NIGHT, "asked": DAY}
    assert scores(cluster(on, curves_by_workload)) == scores(cluster(on, curves_by_workload), pointsPerPercent=5)
