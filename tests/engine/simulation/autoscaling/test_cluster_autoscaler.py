"""cluster-autoscaler in the loop of a simulation, by its documentation."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.studies.document.document import ScenarioError, read_scenario
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from tests.engine.simulation.autoscaling.test_karpenter import (
    CONFIGURATION,
    FULL,
    GP3,
    budget,
    deployment,
    list_actions,
    scale,
    with_volumes,
)


def group(name: str, cpu: str = "4", max_nodes: int = 5, **more: Any) -> Json:
    return {"name": name, "allocatable": {"cpu": cpu, "memory": "64Gi"}, "max": max_nodes, **more}


def played(*changes: Json, groups: list[Json], run_until: str = "1h", objects: Any = (), **more: Any) -> RunOutcome:
    document = {
        "name": "played",
        "objects": [FULL, *objects],
        "changes": list(changes),
        "autoscaler": {"clusterAutoscaler": {"nodeGroups": groups, **more}},
        "run": {"until": run_until, "place": "pending"},
    }
    assert CONFIGURATION is not None
    return run_scenario(prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0), CONFIGURATION)


def groups_of(run_outcome: RunOutcome) -> list[str]:
    return [node.rpartition("-")[0] for _, action, node, _ in run_outcome.autoscaler_actions if action == LAUNCHED]


def test_nodes_join_after_a_scan_and_the_launch_time() -> None:
    outcome = played(deployment("web", "1900m", 65, 4), groups=[group("plain")], launch="90s")
    assert [time for time, _ in list_actions(outcome, LAUNCHED)] == [70.0, 70.0]
    assert outcome.bound == pytest.approx([160.0] * 4, abs=0.2)


def test_pods_with_ephemeral_volumes_bring_nodes_and_let_them_go() -> None:
    changes = with_volumes(deployment("web", "1900m", 60, 4)), scale("web", 1000, 2)
    outcome = played(*changes, groups=[group("plain")], objects=[GP3], run_until="2h")
    assert len(list_actions(outcome, LAUNCHED)) == 2
    assert not len(outcome.pending)
    # Of one pod on each of the nodes the volume is known: it goes to the other one.
    assert len(list_actions(outcome, REMOVED)) == 1


@pytest.mark.parametrize(("expander", "picked"), [("least-waste", "small"), ("price", "large"), ("priority", "middle")])
def test_the_expander_picks_the_group(expander: str, picked: str) -> None:
    groups = [
        group("small", "2", price=2.0, priority=1),
        group("middle", "4", price=3.0, priority=9),
        group("large", "8", price=1.0, priority=5),
    ]
    outcome = played(deployment("web", "1900m", 60, 1), groups=groups, expander=expander)
    assert groups_of(outcome) == [picked]


def test_a_group_has_no_more_nodes_than_its_most_and_another_one_helps() -> None:
    outcome = played(deployment("web", "1900m", 60, 5), groups=[group("small", "2", 2), group("large", "8", 1)])
    assert sorted(groups_of(outcome)) == ["large", "small", "small"] or sorted(groups_of(outcome)) == ["large", "small"]
    assert not len(outcome.pending)
    full = played(deployment("web", "1900m", 60, 5), groups=[group("small", "2", 2)])
    assert (groups_of(full), len(full.pending)) == (["small", "small"], 3)


def test_an_unneeded_node_goes_after_ten_minutes_and_not_below_the_least() -> None:
    changes = deployment("web", "1900m", 60, 4), scale("web", 1000, 0)
    outcome = played(*changes, groups=[group("plain")])
    times = [time for time, _ in list_actions(outcome, REMOVED)]
    assert len(times) == 2
    assert all(1630.0 <= time <= 1650.0 for time in times)
    with_minimum = played(*changes, groups=[group("plain", min=1)])
    assert len(list_actions(with_minimum, REMOVED)) == 1


def test_a_node_above_the_threshold_stays_and_one_below_whose_pods_fit_elsewhere_goes() -> None:
    changes = deployment("web", "900m", 60, 8), scale("web", 1000, 3)
    outcome = played(*changes, groups=[group("plain")], objects=[budget("web", 1)], run_until="2h")
    assert len(list_actions(outcome, REMOVED)) == 1
    assert not len(outcome.pending)
    assert compute_measures(outcome)["disruptions"].value == 0.0
    strict = played(*changes, groups=[group("plain")], scaleDown={"threshold": 0.1})
    assert list_actions(strict, REMOVED) == []


def test_what_cannot_be_is_told_in_the_document() -> None:
    for groups, expected_error in (
        ([group("a"), group("a")], r"nodeGroups\[1\].name: is there twice"),
        ([group("a", min=9)], "min must not be above max"),
        ([{**group("a"), "allocatable": {"cpu": "1"}}], "must name cpu and memory"),
        ([group("a", price=-1)], "must be at least 0"),
    ):
        with pytest.raises(ScenarioError, match=expected_error):
            played(groups=groups)
