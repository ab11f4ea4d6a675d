"""Workloads that are scaled: what a scenario may say, HorizontalPodAutoscalers among the objects, and shared use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import ScalerComes
from kschedweb.engine.simulation.recorded_use import Follower, RecordedUse
from kschedweb.engine.simulation.scaling.load import Load, Share
from kschedweb.engine.studies import PreparedScenario, ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.estimate import EstimatedUse
from tests.engine.builders import node, pod
from tests.engine.simulation.scaling.test_scalers import NODES, WEB, autoscale, workload
from tests.engine.studies.prepare.test_estimate import NOW, make_watermarks
from tests.engine.studies.prepare.test_prepared import owned
from tests.engine.studies.worlds import configuration

FIRST = [{"addNodes": NODES}, {"addWorkload": {"manifest": workload(), "replicas": 2}}]
TRACE = b"a,50,50,100,100,100,100,100,100,100,100,100,100\nb,50,50,100,100,100,100,100,100,100,100,100,100\n"


def hpa(name: str = "web", kind: str = "Deployment", target: str = "web", **spec: Any) -> dict[str, Any]:
    goal = {"apiVersion": "apps/v1", "kind": kind, "name": target}
    metadata = {"name": name, "namespace": "default"}
    whole = {"scaleTargetRef": goal, "maxReplicas": 10, **spec}
    return {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": whole
    }  # fmt: skip


def prepare_changes(*changes: dict[str, Any], **document: Any) -> PreparedScenario:
    raw = {"name": "x", "changes": [*FIRST, *changes], "run": {"until": "1h"}, **document}
    return prepare_scenario(read_scenario(raw), [], {"use.csv": TRACE}, seed=1, now=0.0)


def problems(*changes: dict[str, Any], **document: Any) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        prepare_changes(*changes, **document)
    return [str(problem) for problem in error.value.problems]


LOAD = {"cores": "4"}


@pytest.mark.parametrize(
    ("change", "expected_problem"),
    [
        (autoscale(), "changes[2].autoscaleWorkload.load: nothing is known of what its pods use"),
        (autoscale(load=LOAD, workload="default/Deployment/no"), "workload: there is no workload"),
        (autoscale(load=LOAD, workload="default/Job/web"), "must be namespace/Kind/name, Kind one of Deployment or"),
        (autoscale(load=LOAD, min=30), "changes[2].autoscaleWorkload: min must not be above max"),
        (autoscale(load={}), "load: must have exactly one of cores, steps"),
        (autoscale(load={"steps": [{"at": 5, "cores": 1}], "tide": {}}), "load: tide goes with cores alone"),
        (
            autoscale(load={"steps": [{"at": 5, "cores": 1}, {"at": 5, "cores": 1}]}),
            "load: steps must be in the order of their times",
        ),
        (autoscale(load=LOAD, behavior={"scaleUp": {"selectPolicy": "x"}}), "behavior.scaleUp.selectPolicy: must be"),
        (
            {"cronWorkload": {"workload": WEB, "entries": [{"schedule": "0 25 * * *", "replicas": 1}]}},
            "changes[2].cronWorkload.entries[0]: hour: 25 is not within 0 to 23",
        ),
        ({"cronWorkload": {"workload": WEB, "entries": []}}, "changes[2].cronWorkload.entries: must not be empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, Any], expected_problem: str) -> None:
    assert expected_problem in " | ".join(problems(change))


def test_a_stateful_set_with_claims_of_its_own_is_scaled_by_hand_alone() -> None:
    manifest = workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    manifest["metadata"]["name"] = "db"
    changes = [{"addWorkload": {"manifest": manifest}}, autoscale(workload="default/StatefulSet/db", load=LOAD)]
    assert "volumeClaimTemplates: scale it by hand" in problems(*changes)[0]


def test_autoscalers_among_the_objects_are_followed_where_use_is_known() -> None:
    scenario = prepare_changes(objects=[hpa()], use={"from": "trace", "file": "use.csv"})
    (event,) = [event for event in scenario.events if isinstance(event, ScalerComes)]
    assert (event.time, event.scaler.kind.workload) == (0.0, WEB)
    assert not scenario.notes
    assert run_scenario(scenario, configuration()).scaled == [WEB]


@pytest.mark.parametrize(
    ("objects", "more", "expected_note"),
    [
        ([hpa()], {"use": {"from": "none"}}, "default/web: is not followed: nothing is known of what its pods use"),
        ([hpa(), hpa("other")], {}, "default/other: is not followed: default/Deployment/web has more than one"),
        ([hpa(target="no")], {}, "is not followed: there is no workload default/Deployment/no"),
        ([hpa(kind="ReplicaSet")], {}, "is not followed: default/ReplicaSet/web is neither Deployment nor StatefulSet"),
        ([hpa(maxReplicas=0)], {}, "is not followed: spec.maxReplicas: must be greater than 0"),
    ],
)
def test_a_note_says_why_an_autoscaler_is_not_followed(
    objects: list[dict[str, Any]], more: dict[str, Any], expected_note: str
) -> None:
    scenario = prepare_changes(**{"objects": objects, "use": {"from": "trace", "file": "use.csv"}, **more})
    assert expected_note in " | ".join(scenario.notes)
    assert not [event for event in scenario.events if isinstance(event, ScalerComes)]


def test_a_change_takes_precedence_and_without_controllers_none_is_followed() -> None:
    both = prepare_changes(autoscale(load=LOAD, max=3), objects=[hpa()])
    (event,) = [event for event in both.events if isinstance(event, ScalerComes)]
    assert event.scaler.autoscaler is not None
    assert event.scaler.autoscaler.max_replicas == 3
    use = {"from": "trace", "file": "use.csv"}
    off = prepare_changes(objects=[hpa()], use=use, run={"until": "1h", "controllers": False})
    assert not [event for event in off.events if isinstance(event, ScalerComes)]


def test_recorded_use_is_what_two_pods_used_however_many_share_it() -> None:
    """The curve doubles after ten minutes: then twice as many pods are wanted, and each uses as much as before."""
    run_outcome = run_scenario(
        prepare_changes(autoscale(targetCpu=50), use={"from": "trace", "file": "use.csv"}), configuration()
    )
    assert run_outcome.scalings.after.tolist() == [4]
    log = run_outcome.use
    total = (log.cpu / 100.0 * 16.0).sum(axis=1)
    assert total[log.time == 600.0].tolist() == pytest.approx([1.0], rel=1e-6)
    for time in (900.0, 1200.0, 3600.0):
        assert total[log.time == time].tolist() == pytest.approx([2.0], rel=1e-6)


@pytest.mark.parametrize("load", [None, Load((0.0,), (3.0,))])
@pytest.mark.parametrize("count", [1, 3])
def test_pods_divide_what_is_recorded(load: Load | None, count: int) -> None:
    use = RecordedUse({"a": 16.0}, np.array([[50.0] * 3]), 300.0, {WEB: Follower(0, 2.0)})
    for number in range(count):
        use.add_pod(Pod.from_json(owned(pod(f"p{number}", on="a", requests={"cpu": "2"}), "Deployment", "web")), 0.0)
    use.share(WEB, Share(load, 2), [], 0.0)
    whole = 3.0 if load else 2.0
    assert use.shared(WEB, 0.0) == whole
    use.measured(0.0)
    assert use.measured(300.0).column("cpu", "5m").tolist() == [pytest.approx(100.0 * whole / 16.0)]


def test_pods_divide_what_was_measured() -> None:
    objects = [owned(pod(f"p{n}", on="n0", requests={"cpu": "1"}), "Deployment", "web") for n in range(2)]
    raw = {"name": "x", "use": {"from": "watermarks"}, "run": {"place": "pending", "until": "10m"}}
    base = [node("n0"), node("n1"), *objects]
    scenario = prepare_scenario(read_scenario(raw), base, {}, seed=1, now=NOW, utilisation=make_watermarks(50.0, 0.0))
    assert scenario.use is not None
    use = scenario.use()
    assert isinstance(use, EstimatedUse)
    pods = [Pod.from_json(raw) for raw in objects]
    for running_pod in pods:
        use.add_pod(running_pod, 0.0)
    before = use.measured(0.0).column("cpu", "5m").tolist()
    use.share(WEB, Share(None, 2), pods, 0.0)
    assert use.measured(0.0).column("cpu", "5m").tolist() == pytest.approx(before)
    third = Pod.from_json(owned(pod("p2", on="n1", requests={"cpu": "1"}), "Deployment", "web"))
    use.add_pod(third, 1.0)
    n0, n1 = use.measured(1.0).column("cpu", "5m").tolist()
    together = use.shared(WEB, 1.0)
    assert together > 0.0
    assert (n0 + n1, n1) == (pytest.approx(sum(before)), pytest.approx(100.0 * together / 3 / 4.0))
    use.remove_pod(third, 2.0)
    assert use.measured(2.0).column("cpu", "5m").tolist() == pytest.approx(before)
