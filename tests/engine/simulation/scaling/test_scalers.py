"""Workloads that are scaled while a simulation runs."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.studies import prepare_scenario, read_scenario
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from tests.engine.studies.worlds import configuration

CONTAINER = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
WEB = "default/Deployment/web"
NODES = {"name": "worker", "count": 4, "allocatable": {"cpu": "16", "memory": "64Gi"}}


def workload(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}}
    selector = {"matchLabels": {"app": "web"}}
    return {"kind": kind, "metadata": {"name": "web"}, "spec": {"selector": selector, "template": template, **spec}}


def outcome(*changes: dict[str, Any], replicas: int = 2, kind: str = "Deployment", **document: Any) -> RunOutcome:
    first = [{"addNodes": NODES}, {"addWorkload": {"manifest": workload(kind), "replicas": replicas}}]
    raw = {"name": "x", "changes": [*first, *changes], "run": {"until": "1h"}, **document}
    return run_scenario(prepare_scenario(read_scenario(raw), [], {}, seed=1, now=0.0), configuration())


def autoscale(workload: str = WEB, **more: Any) -> dict[str, Any]:
    return {"autoscaleWorkload": {"workload": workload, "max": 20, "targetCpu": 50, **more}}


def running(run_outcome: RunOutcome, time: float) -> list[str]:
    return sorted(
        name for name, node in zip(run_outcome.pods, run_outcome.placed(time).tolist(), strict=True) if node >= 0
    )


def changes(run_outcome: RunOutcome) -> list[tuple[float, int, int]]:
    log = run_outcome.scalings
    return list(zip(log.time.tolist(), log.before.tolist(), log.after.tolist(), strict=True))


def steps(*listed: tuple[str, str]) -> dict[str, Any]:
    return {"steps": [{"at": at, "cores": cores} for at, cores in listed]}


def test_pods_follow_the_load_up_at_once_and_down_after_five_minutes() -> None:
    run_outcome = outcome(autoscale(load=steps(("0s", "1"), ("10m", "4"), ("30m", "1"))))
    assert changes(run_outcome)[:2] == [(600.0, 2, 4), (615.0, 4, 8)]
    (down,) = [time for time, before, after in changes(run_outcome) if after < before]
    assert down == 30 * 60 + 300  # the last look that found eight right was 15 seconds before
    assert [len(running(run_outcome, at)) for at in (599.0, 900.0, 2100.0, 2200.0)] == [2, 8, 8, 2]
    looks = run_outcome.looks.for_workload(0)
    assert looks.utilization[looks.time == 1200.0].tolist() == [50.0]


def test_new_pods_take_no_load_before_they_are_ready() -> None:
    slow = outcome(autoscale(load=steps(("0s", "1"), ("10m", "4")), startup="90s"))
    looks = slow.looks.for_workload(0)
    assert looks.replicas[looks.time == 630.0].tolist() > looks.ready[looks.time == 630.0].tolist() == [2]
    share = compute_measures(slow)["above_target"].value
    quick = compute_measures(outcome(autoscale(load=steps(("0s", "1"), ("10m", "4")))))["above_target"].value
    assert share is not None
    assert quick is not None
    assert share > quick


def test_pods_that_find_no_node_do_not_lead_to_more() -> None:
    run_outcome = outcome(autoscale(load=steps(("0s", "1"), ("10m", "60")), max=100))
    assert len(running(run_outcome, run_outcome.end)) == 4 * 16
    assert changes(run_outcome)[-1][2] <= 100


def test_a_pod_uses_no_more_than_its_limit() -> None:
    limited = {"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1500m"}}}
    manifest = workload()
    manifest["spec"]["template"]["spec"]["containers"] = [limited]
    first = [{"addNodes": NODES}, {"addWorkload": {"manifest": manifest, "replicas": 2}}]
    raw = {"name": "x", "changes": [*first, autoscale(load={"cores": "30"}, max=2)], "run": {"until": "5m"}}
    run_outcome = run_scenario(prepare_scenario(read_scenario(raw), [], {}, seed=1, now=0.0), configuration())
    assert run_outcome.looks.utilization[-1] == 150.0


def test_cron_entries_set_the_number_of_pods() -> None:
    entries = [{"schedule": "10 * * * *", "replicas": 5}, {"schedule": "40 * * * *", "replicas": 1}]
    run_outcome = outcome({"cronWorkload": {"workload": WEB, "entries": entries}})
    assert changes(run_outcome) == [(600.0, 2, 5), (2400.0, 5, 1)]
    assert [len(running(run_outcome, at)) for at in (500.0, 700.0, 3000.0)] == [2, 5, 1]
    assert run_outcome.reasons == ["cron entry 10 * * * *", "cron entry 40 * * * *"]
    assert compute_measures(run_outcome)["above_target"].value is None


def test_a_stateful_set_counts_up_and_down() -> None:
    entries = [{"schedule": "10 * * * *", "replicas": 4}, {"schedule": "40 * * * *", "replicas": 1}]
    name = "default/StatefulSet/web"
    run_outcome = outcome({"cronWorkload": {"workload": name, "entries": entries}}, kind="StatefulSet")
    assert running(run_outcome, 700.0) == [f"default/web-{number}" for number in range(4)]
    assert running(run_outcome, 3000.0) == ["default/web-0"]


def test_somebody_scales_by_hand_and_the_autoscaler_goes_on() -> None:
    hand = {"at": "20m", "scaleWorkload": {"workload": WEB, "replicas": 9}}
    run_outcome = outcome(autoscale(load={"cores": "1"}, min=2), hand)
    assert changes(run_outcome)[0] == (1200.0, 2, 9)
    assert changes(run_outcome)[-1][2] == 2


def test_a_workload_that_goes_takes_all_pods_along() -> None:
    removal = {"at": "20m", "removeWorkload": {"workload": WEB}}
    run_outcome = outcome(autoscale(load={"cores": "4"}), removal)
    assert len(running(run_outcome, 1000.0)) == 8
    assert running(run_outcome, 1300.0) == []
    assert run_outcome.looks.time[-1] <= 1200.0


def test_evicted_pods_are_replaced_and_still_counted() -> None:
    run_outcome = outcome(autoscale(load={"cores": "4"}), {"at": "20m", "drainNodes": {"nodes": ["worker-1"]}})
    assert len(running(run_outcome, 2000.0)) == 8
    assert [after for _, _, after in changes(run_outcome)] == [4, 8]


def test_another_autoscaler_takes_the_place_of_the_first() -> None:
    run_outcome = outcome(autoscale(load={"cores": "4"}), {"at": "30m", **autoscale(max=3)})
    assert changes(run_outcome)[-1] == (1800.0, 8, 3)


def test_the_same_comes_of_the_same_and_decisions_are_explained() -> None:
    more = autoscale(load={"cores": "10", "tide": {"low": 0.1, "peak": "30m"}}, startup="20s")
    raw = {"name": "x", "changes": [{"addNodes": NODES}, {"addWorkload": {"manifest": workload()}}, more]}
    prepared = prepare_scenario(read_scenario({**raw, "run": {"until": "1h"}}), [], {}, seed=1, now=0.0)
    run_outcome = run_scenario(prepared, configuration())
    assert (
        run_outcome.encode()
        == run_scenario(prepared, configuration()).encode()
        == RunOutcome.decode(run_outcome.encode()).encode()
    )
    last = run_outcome.pods[-1]
    decided = explain_try(prepared, configuration(), last, outcome=run_outcome)
    assert decided.placement.node == run_outcome.nodes[int(run_outcome.node[-1])]


def test_a_run_ends_once_nothing_changes_any_more() -> None:
    run_outcome = outcome(autoscale(load={"cores": "4"}), run={})
    assert 600.0 <= run_outcome.end < 1800.0


@pytest.mark.parametrize("load", [{"cores": "8"}, steps(("0s", "8"))])
def test_forms_of_a_load_say_the_same(load: dict[str, Any]) -> None:
    assert changes(outcome(autoscale(load=load))) == changes(outcome(autoscale(load={"cores": 8})))
