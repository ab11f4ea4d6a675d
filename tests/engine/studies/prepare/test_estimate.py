"""Real use that moves with the pods."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies import PreparedScenario, prepare_scenario, read_scenario
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.estimate import Estimate, EstimatedUse
from kschedweb.engine.studies.prepare.history import UseReplay
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import default, owned

NOW = 1_700_000_000.0
WEB = "default/StatefulSet/web"


def make_watermarks(*percent: float, workloads: dict | None = None) -> Watermarks:
    names = [f"n{place}" for place in range(len(percent))]
    figures = {("cpu", "5m"): np.array(percent), ("cpu", "5m_std"): np.full(len(percent), 3.0)}
    return Watermarks(names, np.full(len(percent), NOW - 30.0), figures, workloads or {})


def web(name: str, on: str = "", cpu: str = "1") -> dict:
    return owned(pod(name, on=on, requests={"cpu": cpu}), "StatefulSet", "web")


def scenario(watermarks: Watermarks, *objects: dict, place: str = "pending", **document: object) -> PreparedScenario:
    nodes = [node(name) for name in watermarks.names]
    raw = {"name": "x", "use": {"from": "watermarks"}, "run": {"place": place, "until": "10m"}, **document}
    return prepare_scenario(read_scenario(raw), [*nodes, *objects], {}, seed=1, now=NOW, utilisation=watermarks)


def column(prepared: PreparedScenario, *running: dict) -> list[float]:
    assert prepared.use is not None
    use = prepared.use()
    for raw in running:
        use.add_pod(Pod.from_json(raw), 0.0)
    return use.measured(0.0).column("cpu", "5m").tolist()


def test_while_nobody_moves_figures_are_what_was_measured() -> None:
    pods = [web("a", "n0"), web("b", "n1"), pod("alone", on="n1", requests={"cpu": "2"})]
    prepared = scenario(make_watermarks(40.0, 75.0, workloads={WEB: {"cpu": {"1h": 0.5}}}), *pods)
    assert column(prepared, *pods) == pytest.approx([40.0, 75.0])


def test_a_pod_takes_along_what_one_of_its_workload_uses() -> None:
    prepared = scenario(make_watermarks(40.0, 75.0, workloads={WEB: {"cpu": {"1h": 0.5}}}), web("a", "n0"))
    # Half a core is 12.5 percent of four.
    assert column(prepared) == pytest.approx([27.5, 75.0])
    assert column(prepared, web("a", "n1")) == pytest.approx([27.5, 87.5])
    assert column(prepared, web("a", "n1"), web("new", "n1")) == pytest.approx([27.5, 100.0])


def test_pods_of_which_nothing_is_known_share_what_is_left_up_to_their_requests() -> None:
    first, two = pod("one", on="n0", requests={"cpu": "1"}), pod("two", on="n0", requests={"cpu": "3"})
    idle = pod("idle", on="n1", requests={"cpu": "1"})
    prepared = scenario(make_watermarks(50.0, 75.0), first, two, idle)
    assert column(prepared) == pytest.approx([0.0, 50.0])
    assert column(prepared, pod("one", on="n1")) == pytest.approx([0.0, 62.5])
    assert column(prepared, pod("idle", on="n0")) == pytest.approx([25.0, 50.0])
    # Three of five cores that were requested are used.
    assert column(prepared, pod("new", on="n0", requests={"cpu": "1"})) == pytest.approx([15.0, 50.0])


def test_workloads_that_come_to_more_than_their_node_used_count_for_less() -> None:
    figures = {WEB: {"cpu": {"5m": 2.0}}}
    prepared = scenario(make_watermarks(50.0, 0.0, workloads=figures), web("a", "n0"), web("b", "n0"))
    assert column(prepared, web("a", "n1")) == pytest.approx([0.0, 25.0])
    assert column(prepared, web("new", "n1")) == pytest.approx([0.0, 50.0])


def test_unknown_nodes_stay_unknown_and_new_ones_use_what_their_pods_do() -> None:
    add = {"addNodes": {"name": "late", "count": 1, "allocatable": {"cpu": "2", "memory": "1Gi"}}}
    prepared = scenario(make_watermarks(40.0, math.nan, workloads={WEB: {"cpu": {"1h": 0.5}}}), changes=[add])
    use_column = column(prepared, web("a", "late-1"), web("b", "n1"))
    assert use_column[0] == 40.0
    assert math.isnan(use_column[1])
    assert use_column[2] == 25.0


def test_it_is_measured_often_while_pods_are_placed_anew() -> None:
    prepared = scenario(make_watermarks(40.0))
    assert prepared.use is not None
    use = prepared.use()
    use.measured(0.0)
    assert use.interval == 1.0
    use.measured(300.0)
    assert use.interval == 60.0
    later = use.measured(600.0)
    assert later.updated.tolist() == [570.0]
    assert later.column("cpu", "5m_std").tolist() == [3.0]


def test_a_run_that_places_all_pods_anew_ends_with_the_use_of_where_they_are() -> None:
    pods = [web(f"web-{n}", "n0", cpu="500m") for n in range(4)]
    prepared = scenario(make_watermarks(80.0, 5.0, workloads={WEB: {"cpu": {"1h": 0.75}}}), *pods, place="all")
    outcome = run_scenario(prepared, default())
    on = [sum(outcome.node[row] == place for row in range(4)) for place in range(2)]
    assert sum(on) == 4
    assert on[1] > 0
    last = dict(zip(outcome.nodes, outcome.use.cpu[-1].tolist(), strict=True))
    assert last == pytest.approx({"n0": 5.0 + 18.75 * on[0], "n1": 5.0 + 18.75 * on[1]})


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4000), st.booleans()), max_size=12),
    st.lists(st.floats(0, 100), min_size=3, max_size=3),
    st.floats(0, 3),
)
def test_no_use_is_lost_and_none_is_made_up(
    pods: list[tuple[int, int, bool]], percent: list[float], cores_per_pod: float
) -> None:
    listed = [
        Pod.from_json(web(f"p{n}", f"n{on}") if is_owned else pod(f"p{n}", on=f"n{on}", requests={"cpu": f"{milli}m"}))
        for n, (on, milli, is_owned) in enumerate(pods)
    ]
    has = {f"n{place}": {"cpu": 4000, "memory": 1} for place in range(3)}
    collected = CollectedWatermarks.from_watermarks(
        make_watermarks(*percent, workloads={WEB: {"cpu": {"1h": cores_per_pod}}}), NOW
    )
    use = EstimatedUse(Estimate(UseReplay(collected, NOW, 0.0), listed, has, has, ClusterObjects()))
    for running_pod in listed:
        use.add_pod(running_pod, 0.0)
    assert use.measured(0.0).column("cpu", "5m").tolist() == pytest.approx(percent, abs=1e-3)
    for running_pod in listed:
        use.remove_pod(running_pod, 0.0)
    assert (use.measured(0.0).column("cpu", "5m") <= np.array(percent) + 1e-3).all()
    for running_pod in listed:
        use.add_pod(running_pod.on("n2"), 0.0)
    assert use.measured(0.0).column("cpu", "5m").sum() == pytest.approx(sum(percent), abs=1e-2)


def test_of_very_many_measurements_some_are_kept_and_tries_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.engine.studies.play.recorder.MOST_MEASURED", 64)
    pods = [web(f"web-{n}", "n0", cpu="500m") for n in range(4)]
    late = {"at": "8m", "addWorkload": {"manifest": {**web("late"), "metadata": {"name": "late"}}}}
    prepared = scenario(
        make_watermarks(80.0, 5.0, workloads={WEB: {"cpu": {"1h": 0.75}}}), *pods, place="all", changes=[late]
    )
    outcome = run_scenario(prepared, default())
    assert 32 <= len(outcome.use.time) < 64 < len(outcome.measures.time)
    assert np.ptp(np.diff(outcome.use.time[:20])) == 0.0
    by_log = explain_try(prepared, default(), "default/late", outcome=outcome)
    replayed = explain_try(prepared, default(), "default/late", attempts=1)
    assert by_log.placement == replayed.placement
    columns = [
        explained.snapshot.watermarks.column("cpu", "5m")
        for explained in (by_log, replayed)
        if explained.snapshot.watermarks
    ]
    assert np.array_equal(columns[0], columns[1])
