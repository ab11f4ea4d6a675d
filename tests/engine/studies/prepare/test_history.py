"""The history of a cluster's watermarks, replayed with its pods."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedError, CollectedWatermarks
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies import PreparedScenario, ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.history import UseReplay
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import default, owned

NOW = 1_700_000_000.0
WEB = "default/StatefulSet/web"
HOUR, DAY = 3600.0, 86400.0


def history(cpu: list[list[float]], web: list[float], step: float = HOUR / 2, end: float = NOW) -> CollectedWatermarks:
    """``cpu`` percent of nodes n0, n1 … and cores of a pod of ``web``, each ``step`` seconds up to ``end``."""
    values = np.array(cpu)
    times = np.array([end - step * place for place in range(len(cpu) - 1, -1, -1)])
    names = [f"n{place}" for place in range(values.shape[1])]
    nodes = {("cpu", "5m"): values, ("cpu", "15m_std"): values / 10.0}
    last = Watermarks(names, np.full(len(names), end - 30.0), {}, source="prometheus")
    return CollectedWatermarks.from_columns(times, nodes, [WEB], {("cpu", "15m"): np.array(web)[:, None]}, last)


def web(name: str, on: str = "", cpu: str = "1") -> dict:
    return owned(pod(name, on=on, requests={"cpu": cpu}), "StatefulSet", "web")


def scenario(
    collected: CollectedWatermarks | None, *objects: dict, window: str = "1h", **document: object
) -> PreparedScenario:
    nodes = [node(name) for name in (collected.names if collected else ["n0"])]
    use = {"from": "history", "window": window}
    raw = {"name": "x", "use": use, "run": {"place": "pending", "until": window}, **document}
    return prepare_scenario(read_scenario(raw), [*nodes, *objects], {}, seed=1, now=NOW, utilisation=collected)


def column(prepared: PreparedScenario, time: float, *running: dict) -> list[float]:
    assert prepared.use is not None
    use = prepared.use()
    for raw in running:
        use.add_pod(Pod.from_json(raw), 0.0)
    return use.measured(time).column("cpu", "5m").tolist()


THREE = history([[10.0, 20.0], [40.0, 50.0], [80.0, 30.0]], [0.2, 0.4, 0.8])


def test_while_nobody_moves_nodes_are_seen_as_they_were_at_each_time() -> None:
    pods = [web("a", "n0"), web("b", "n1"), pod("alone", on="n1", requests={"cpu": "2"})]
    prepared = scenario(THREE, *pods)
    assert prepared.notes == []
    assert column(prepared, 0.0, *pods) == pytest.approx([10.0, 20.0])
    assert column(prepared, HOUR / 2 - 1, *pods) == pytest.approx([10.0, 20.0])
    assert column(prepared, HOUR / 2, *pods) == pytest.approx([40.0, 50.0])
    assert prepared.use is not None
    measured = prepared.use().measured(HOUR / 2)
    assert measured.column("cpu", "15m_std").tolist() == [4.0, 5.0]
    assert measured.updated.tolist() == [HOUR / 2, HOUR / 2]
    assert measured.workloads[WEB] == {"cpu": {"15m": 0.4}, "memory": {}}


def test_a_pod_takes_along_what_one_of_its_workload_used_at_that_time() -> None:
    prepared = scenario(THREE, web("a", "n0"))
    # 0.2 and 0.4 cores are 5 and 10 percent of four.
    assert column(prepared, 0.0) == pytest.approx([5.0, 20.0])
    assert column(prepared, 0.0, web("a", "n1")) == pytest.approx([5.0, 25.0])
    assert column(prepared, HOUR / 2, web("a", "n1"), web("new", "n1")) == pytest.approx([30.0, 70.0])


def test_pods_that_came_before_the_time_went_on_use_what_those_do_that_come_after() -> None:
    prepared = scenario(THREE, web("a", "n0"))
    assert prepared.use is not None
    use = prepared.use()
    for place in range(3):
        use.add_pod(Pod.from_json(web(f"new-{place}", "n1")), 0.0)
    use.measured(0.0)
    use.remove_pod(Pod.from_json(web("new-0", "n1")), 10.0)
    gone_on = use.measured(HOUR / 2).column("cpu", "5m").tolist()
    assert gone_on == column(prepared, HOUR / 2, web("new-1", "n1"), web("new-2", "n1"))
    use.remove_pod(Pod.from_json(web("new-1", "n1")), HOUR / 2)
    assert use.measured(HOUR / 2).column("cpu", "5m").tolist() == column(prepared, HOUR / 2, web("new-2", "n1"))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4000), st.booleans()), max_size=12),
    st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=3, max_size=6),
    st.data(),
)
def test_at_no_time_is_use_lost_or_made_up(
    pods: list[tuple[int, int, bool]], percent: list[list[float]], data: st.DataObject
) -> None:
    cores_per_pod = data.draw(st.lists(st.floats(0, 3), min_size=len(percent), max_size=len(percent)))
    running = [
        web(f"p{n}", f"n{on}") if is_owned else pod(f"p{n}", on=f"n{on}", requests={"cpu": f"{milli}m"})
        for n, (on, milli, is_owned) in enumerate(pods)
    ]
    step = HOUR / (len(percent) - 1)
    prepared = scenario(history(percent, cores_per_pod, step), *running)
    moved = [{**raw, "spec": {**raw["spec"], "nodeName": "n2"}} for raw in running]
    for place, row in enumerate(percent[:-1]):
        time = math.ceil(place * step)
        assert column(prepared, time, *running) == pytest.approx(row, abs=1e-3)
        assert sum(column(prepared, time, *moved)) == pytest.approx(sum(row), abs=1e-2)


def test_a_run_that_is_longer_goes_through_the_last_whole_days_again() -> None:
    collected = history([[float(place)] for place in range(61)], [0.0] * 61)  # a day and six hours
    prepared = scenario(collected, window="30h", run={"until": "72h"})
    assert prepared.notes == ["use: beyond 30h the run goes through the last 24h again"]
    assert column(prepared, 29.5 * HOUR) == [59.0]
    assert column(prepared, 30 * HOUR) == column(prepared, 6 * HOUR) == [12.0]
    assert column(prepared, 30 * HOUR + DAY + HOUR / 2) == [13.0]
    short = scenario(THREE, run={"until": "quiet"})
    assert short.notes == ["use: the run ends when all is quiet; for the whole history let run.until be 1h"]
    assert column(short, HOUR + 1) == column(short, 1.0)


def test_gaps_are_held_and_told() -> None:
    collected = history([[10.0, math.nan], [math.nan, 50.0], [80.0, 30.0]], [0.2, math.nan, 0.8])
    prepared = scenario(collected)
    assert prepared.notes == ["use: figures of 1 node and 1 workload are missing at times; those from before are held"]
    assert column(prepared, HOUR / 2) == [10.0, 50.0]
    assert math.isnan(column(prepared, 0.0)[1])  # which was not known yet
    with_gap = replace(collected, times=np.array([NOW - 5 * HOUR, NOW - HOUR / 2, NOW]))
    prepared = scenario(with_gap, window="5h")
    expected_note = (
        "use: nothing was collected for 4h30m from 2023-11-14 17:13 UTC on; the figures from before are held"
    )
    assert expected_note in prepared.notes
    assert column(prepared, 4 * HOUR)[0] == 10.0


@pytest.mark.parametrize(
    ("collected", "window", "expected_start"),
    [
        (None, "1h", "use.from: no history of use is known of this base: collect watermarks of its cluster"),
        (CollectedWatermarks.from_watermarks(THREE.last, NOW), "1h",
         "use.from: no history of use is known of this base"),
        (THREE, "6h", "use.window: the history of this base begins at 2023-11-14 21:13 UTC, 1h before its snapshot: "
         "take a window of at most 1h"),
        (history([[1.0], [2.0]], [0, 0], end=NOW - DAY), "1h", "use.from: the history of this base ends at 2023-11-13"),
        (history([[1.0], [2.0]], [0, 0], end=NOW + DAY), "1h", "use.from: the history of this base ends at 2023-11-15"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_with_what_is(
    collected: CollectedWatermarks | None, window: str, expected_start: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(collected, window=window)
    assert str(caught.value).startswith(expected_start)


@pytest.mark.parametrize(
    ("use", "expected_start"),
    [
        ({"from": "watermarks", "window": "1h"}, "use: window goes with from: history alone"),
        ({"from": "history", "file": "a"}, "use: file must be there with from: trace, and only then"),
        ({"from": "history", "window": "1m"}, "use.window: must be at least 1800 s"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(use: dict, expected_start: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_scenario({"name": "x", "use": use})
    assert str(caught.value).startswith(expected_start)


def test_a_run_follows_the_tide_and_its_decisions_are_found_again() -> None:
    pods = [web(f"web-{n}", "n0", cpu="500m") for n in range(4)]
    late = {"at": "40m", "addWorkload": {"manifest": {**web("late"), "metadata": {"name": "late"}}}}
    prepared = scenario(THREE, *pods, changes=[late], run={"place": "all", "until": "1h"})
    outcome = run_scenario(prepared, default())
    times = outcome.use.time
    cpu = outcome.use.cpu.sum(axis=1)
    # 30 and 90 percent of a node, whoever is where; a further pod uses 0.4 cores more.
    assert cpu[(times > 1.0) & (times < HOUR / 2)] == pytest.approx(30.0)
    assert cpu[(times >= HOUR / 2) & (times < 2400.0)] == pytest.approx(90.0)
    by_log = explain_try(prepared, default(), "default/late", outcome=outcome)
    replayed = explain_try(prepared, default(), "default/late", attempts=1)
    assert by_log.placement == replayed.placement
    columns = [
        explained.snapshot.watermarks.column("cpu", "5m")
        for explained in (by_log, replayed)
        if explained.snapshot.watermarks
    ]
    assert np.array_equal(columns[0], columns[1])
    assert run_scenario(prepared, default()).encode() == outcome.encode()


def test_figures_come_back_from_text_as_they_were() -> None:
    figures = {**THREE.nodes, ("memory", "1h"): np.array([[0.1, math.nan], [1 / 3, 1e9], [2.0, 3.0]])}
    collected = CollectedWatermarks.from_columns(THREE.times, figures, THREE.owners, THREE.workloads, THREE.last)
    reread = CollectedWatermarks.from_lines(collected.to_lines())
    assert (list(reread.names), list(reread.owners), reread.last.source) == (["n0", "n1"], [WEB], "prometheus")
    assert reread.times.tolist() == collected.times.tolist()
    assert reread.last.updated.tolist() == collected.last.updated.tolist()
    for mine, other in ((collected.nodes, reread.nodes), (collected.workloads, reread.workloads)):
        assert list(mine) == list(other)
        assert all(np.array_equal(mine[figure], other[figure], equal_nan=True) for figure in mine)


@given(st.lists(st.text(alphabet='node/cpu5m,workla13.-"e \n', max_size=40), max_size=8))
def test_no_text_makes_reading_fail_in_another_way(lines: list[str]) -> None:
    for head in ([], ["figure,object,1,2"]):
        with contextlib.suppress(CollectedError):
            assert len(CollectedWatermarks.from_lines([*head, *lines]).times) == 2


@pytest.mark.parametrize(
    ("lines", "expected_start"),
    [
        ([], "there is no line with the times"),
        (["a,b,c"], "line 1: must begin with figure,object"),
        (["figure,object"], "line 1: has 0 times"),
        (["figure,object,2,1"], "line 1: the times must be seconds of the epoch, each later"),
        (["figure,object,1,"], "line 1: the times must be"),
        (["figure,object,1", "node/disk/5m,n0,1"], "line 2: 'node/disk/5m' is no figure"),
        (["figure,object,1", "node/cpu/5m,n0,1,2"], "line 2: has 2 values, where 1 are wanted"),
        (["figure,object,1", "node/cpu/5m,n0,-1"], "line 2: a value is negative"),
        (["figure,object,1", "node/cpu/5m,n0,nan"], "line 2: a value is negative, not finite"),
        (["figure,object,1", "node/cpu/5m,n0,1e300"], "line 2: a value is negative, not finite, or too large"),
        (["figure,object,1", "node/cpu/5m,n0,x"], "line 2: a value is not a number"),
        (["figure,object,1", "node/cpu/5m,n0,1", "node/cpu/5m,n0,1"], "line 3: there is a line of node/cpu/5m of n0"),
        (["figure,object,1", "workload/cpu/1h,web,1"], "line 2: 'web' must be like namespace/Deployment/name"),
        (["figure,object,1", "updated,n0,1,2"], "line 2: has 2 values"),
        ([f"figure,object,{','.join(map(str, range(2017)))}"], "line 1: has 2,017 times; 1 to 2,016 are taken"),
    ],
)
def test_text_that_holds_no_figures_is_refused_with_its_line(lines: list[str], expected_start: str) -> None:
    with pytest.raises(CollectedError) as caught:
        CollectedWatermarks.from_lines(lines)
    assert str(caught.value).startswith(expected_start)


def test_the_newest_time_counts_that_was_known() -> None:
    played = UseReplay(THREE, NOW, HOUR)
    assert [played.index_at(time) for time in (0.0, 1799.0, 1800.0, 3599.0, 3600.0, 5400.0)] == [0, 0, 1, 1, 0, 1]
