"""Observed use of nodes in a scenario."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies import prepare_scenario, read_scenario
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import owned, prepared, problems, run, zoned

NOW = 1_700_000_000.0


def test_known_watermarks_stay_as_old_as_they_were() -> None:
    watermarks = Watermarks(["n0"], np.array([NOW - 30.0]), {("cpu", "5m"): np.array([40.0])})
    document = read_scenario({"name": "x", "use": {"from": "watermarks"}})
    prepared = prepare_scenario(document, zoned("a"), {}, seed=1, now=NOW, utilisation=watermarks)
    assert prepared.use is not None
    use = prepared.use()
    assert use.measured(0.0).updated.tolist() == [-30.0]
    assert use.measured(600.0).updated.tolist() == [570.0]
    assert use.measured(600.0).column("cpu", "5m").tolist() == [40.0]


def test_watermarks_that_are_not_there_are_asked_for() -> None:
    assert problems(use={"from": "watermarks"}) == [
        "use.from: no watermarks are known of this base: collect them, or choose none or a trace"
    ]


def test_pods_follow_recorded_machines_and_each_run_has_its_own_memory() -> None:
    scenario = prepared(
        node("n0"),
        owned(pod("web", requests={"cpu": "2"}), "StatefulSet", "web"),
        pod("alone", requests={"cpu": "1"}),
        files={"cpu": [f"machine,{','.join(['50'] * 12)}"]},
        use={"from": "trace", "file": "cpu"},
        run={"until": "1h"},
    )
    assert scenario.use is not None
    assert scenario.use() is not scenario.use()
    use = scenario.use()
    for time in range(0, 601, 300):
        if time == 0:
            for raw, name in ((pod("web", on="n0", requests={"cpu": "2"}), "web"), (pod("alone", on="n0"), "alone")):
                use.add_pod(Pod.from_json(owned(raw, "StatefulSet", "web") if name == "web" else raw), 0.0)
        watermarks = use.measured(float(time))
    # Half of 2 cores and half of 1 core are 1.5 of 4 cores.
    assert watermarks.column("cpu", "5m").tolist() == [37.5]
    assert len(run(scenario).bound) == 2


def test_a_recording_that_cannot_be_read_is_told_with_its_line() -> None:
    files = {"cpu": b"machine,1,2\nother,1,NaN\n"}
    document = read_scenario({"name": "x", "use": {"from": "trace", "file": "cpu"}})
    try:
        prepare_scenario(document, zoned("a"), files, seed=1, now=0.0)
        message = ""
    except ValueError as error:
        message = str(error)
    assert message == "use.file: cpu: line 2, value 2: NaN is not a percentage from 0 to 100"


def test_times_of_pods_that_keep_their_nodes_are_counted_from_the_beginning() -> None:
    bound = pod("web", on="n0")
    bound["status"] = {"startTime": "2023-11-14T22:13:10Z"}
    document = read_scenario({"name": "x", "run": {"place": "pending"}})
    prepared = prepare_scenario(document, [*zoned("a"), bound], {}, seed=1, now=NOW)
    (raw,) = (raw for raw in prepared.objects if raw["kind"] == "Pod")
    assert Pod.from_json(raw).started == -10.0
