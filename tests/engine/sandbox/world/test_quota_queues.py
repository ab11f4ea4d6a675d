"""Kueue in the sandbox: Jobs that name a LocalQueue wait, run on the nodes of their flavors, stop and come back."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.explanation import WaitVerdict, explain_workload
from kschedweb.engine.queueing.explaining.queue_state import read_state
from kschedweb.engine.queueing.explaining.quota_bars import list_trees
from kschedweb.engine.sandbox.resources import POD, get_resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.world.catalogue import tables
from kschedweb.engine.sandbox.world.controllers.quota_queues import QuotaQueueController
from kschedweb.engine.sandbox.world.resources import (
    CLUSTER_QUEUE,
    COHORT,
    JOB,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from tests.engine.sandbox.living import Living

QUEUE = "kueue.x-k8s.io/queue-name"


def make_queue(name: str, cpu: str, **spec: Any) -> Json:
    quota = {"name": "cpu", "nominalQuota": cpu}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "fast", "resources": [quota]}]}
    body = {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": [group], **spec}
    return {"metadata": {"name": name}, "spec": body}


def make_job(name: str, queue: str, cpu: str, pods: int = 1, minutes: int = 5, **labels: str) -> Json:
    container = {"name": "main", "image": "example.com/main:1.0", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"sandbox.kschedweb.dev/runs-for": f"{minutes}m"}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    metadata = {"name": name, "labels": {QUEUE: queue, **labels}}
    return {"metadata": metadata, "spec": {"parallelism": pods, "completions": pods, "template": template}}


@pytest.fixture
def queued() -> Living:
    """Two queues of one cohort with 4 CPU each: b reclaims its own; the nodes of the flavor are two of three."""
    sandbox = Living()
    for name, labels in (("slow-1", {}), ("fast-1", {"pool": "fast"}), ("fast-2", {"pool": "fast"})):
        sandbox.node(name)
        sandbox.merge(get_resource("Node"), name, {"metadata": {"labels": labels}})
    sandbox.create(RESOURCE_FLAVOR, {"metadata": {"name": "fast"}, "spec": {"nodeLabels": {"pool": "fast"}}})
    sandbox.create(CLUSTER_QUEUE, make_queue("a", "4"))
    sandbox.create(CLUSTER_QUEUE, make_queue("b", "4", preemption={"reclaimWithinCohort": "Any"}))
    for name in ("a", "b"):
        sandbox.create(LOCAL_QUEUE, {"metadata": {"name": name}, "spec": {"clusterQueue": name}})
    sandbox.live(30)
    return sandbox


def find_workload(sandbox: Living, job: str) -> Json:
    [raw] = [raw for raw in sandbox.all(WORKLOAD) if raw["metadata"]["ownerReferences"][0]["name"] == job]
    return raw


def conditions(raw: Json) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in raw["status"].get("conditions") or ()}


def pods_of(sandbox: Living, job: str) -> list[Json]:
    return [raw for raw in sandbox.all(POD) if (raw["metadata"].get("labels") or {}).get("job-name") == job]


def test_a_job_gets_quota_runs_on_its_flavor_s_nodes_and_gives_it_back(queued: Living) -> None:
    queued.create(JOB, make_job("small", "a", "1", pods=2))
    queued.live(10)
    workload = find_workload(queued, "small")
    assert conditions(workload)["Admitted"] == ("True", "Admitted")
    [assignment] = workload["status"]["admission"]["podSetAssignments"]
    assert assignment == {"name": "main", "count": 2, "flavors": {"cpu": "fast"}, "resourceUsage": {"cpu": "2"}}
    assert {pod["spec"]["nodeName"].partition("-")[0] for pod in pods_of(queued, "small")} == {"fast"}
    assert queued.get(CLUSTER_QUEUE, "a")["status"]["admittedWorkloads"] == 1
    assert {"QuotaReserved", "Admitted"} <= set(queued.reasons(WORKLOAD, workload["metadata"]["name"]))
    queued.live(400)
    assert conditions(find_workload(queued, "small"))["Finished"] == ("True", "Succeeded")
    assert queued.get(CLUSTER_QUEUE, "a")["status"] == {
        "pendingWorkloads": 0,
        "reservingWorkloads": 0,
        "admittedWorkloads": 0,
    }


def test_what_does_not_fit_waits_suspended_and_says_why(queued: Living) -> None:
    queued.create(JOB, make_job("holder", "a", "3", pods=2))
    queued.create(JOB, make_job("waits", "a", "3"))
    queued.live(10)
    assert queued.get(JOB, "waits")["spec"]["suspend"] is True
    assert not pods_of(queued, "waits")
    workload = find_workload(queued, "waits")
    assert conditions(workload)["QuotaReserved"] == ("False", "Pending")
    assert workload["status"]["conditions"][0]["message"]
    objects = [raw for kind in (CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD) for raw in queued.all(kind)]
    answer = explain_workload(read_state(objects, queued.now), f"default/{workload['metadata']['name']}")
    assert answer.verdict is WaitVerdict.NO_CANDIDATES
    # It runs once the other one has ended.
    queued.live(400)
    assert conditions(find_workload(queued, "waits"))["Admitted"][0] == "True"


def test_a_borrower_stops_for_the_owner_and_comes_back(queued: Living) -> None:
    queued.create(JOB, make_job("borrower", "a", "3", pods=2, minutes=10))
    queued.live(20)
    assert len(pods_of(queued, "borrower")) == 2
    queued.create(JOB, make_job("owner", "b", "4", minutes=3))
    queued.wait_until(lambda: queued.get(JOB, "borrower")["spec"]["suspend"] is True, 10.0)
    workload = find_workload(queued, "borrower")
    assert conditions(workload)["Preempted"] == ("True", "InCohortReclamation")
    # Its quota is in use until its pods are gone.
    assert conditions(workload)["QuotaReserved"][0] == "True"
    assert conditions(find_workload(queued, "owner"))["QuotaReserved"][0] == "False"
    queued.live(40)
    assert not pods_of(queued, "borrower")
    assert conditions(find_workload(queued, "owner"))["Admitted"][0] == "True"
    assert "nodeSelector" not in queued.get(JOB, "borrower")["spec"]["template"]["spec"]
    queued.live(240)
    assert conditions(find_workload(queued, "borrower"))["Admitted"][0] == "True"
    assert queued.get(JOB, "borrower")["status"].get("failed", 0) == 0
    queued.live(700)
    assert conditions(find_workload(queued, "borrower"))["Finished"][0] == "True"


def test_a_job_runs_with_fewer_pods_if_it_may_and_by_its_priority(queued: Living) -> None:
    queued.create(WORKLOAD_PRIORITY_CLASS, {"metadata": {"name": "urgent"}, "value": 1000})
    job = make_job("wide", "a", "3", 4, 5, **{"kueue.x-k8s.io/priority-class": "urgent"})
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    queued.create(JOB, job)
    queued.live(10)
    workload = find_workload(queued, "wide")
    assert workload["spec"]["priority"] == 1000
    assert workload["status"]["admission"]["podSetAssignments"][0]["count"] == 2
    assert len(pods_of(queued, "wide")) == 2


def test_a_deleted_job_takes_its_workload_with_it_and_others_follow(queued: Living) -> None:
    queued.create(JOB, make_job("holder", "a", "4", pods=2))
    queued.create(JOB, make_job("next", "a", "4", pods=2))
    queued.live(10)
    queued.delete(JOB, "holder")
    queued.live(60)
    assert conditions(find_workload(queued, "next"))["Admitted"][0] == "True"


def test_a_deleted_workload_is_made_anew(queued: Living) -> None:
    queued.create(JOB, make_job("small", "a", "1"))
    queued.live(10)
    former = find_workload(queued, "small")
    queued.delete(WORKLOAD, former["metadata"]["name"])
    queued.live(10)
    workload = find_workload(queued, "small")
    assert workload["metadata"]["uid"] != former["metadata"]["uid"]
    assert conditions(workload)["Admitted"][0] == "True"


def test_another_quota_lets_more_run_at_once(queued: Living) -> None:
    for name in ("first", "second"):
        queued.create(JOB, make_job(name, "a", "6"))
    queued.live(10)
    waiting = next(name for name in ("first", "second") if queued.get(JOB, name)["spec"]["suspend"])
    quota = {"name": "cpu", "nominalQuota": "8"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "fast", "resources": [quota]}]}
    queued.merge(CLUSTER_QUEUE, "a", {"spec": {"resourceGroups": [group]}})
    queued.live(10)
    assert conditions(find_workload(queued, waiting))["Admitted"][0] == "True"


def test_nothing_is_looked_at_while_nothing_changes(queued: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    queued.create(JOB, make_job("holder", "a", "4", pods=2, minutes=60))
    queued.create(JOB, make_job("waits", "a", "4"))
    queued.live(60)
    looks = list[object]()
    monkeypatch.setattr(QuotaQueueController, "_look", lambda controller: looks.append(controller))
    queued.live(600)
    assert not looks
    queued.create(JOB, make_job("another", "a", "4"))
    queued.live(10)
    assert len(looks) == 1


def test_bad_objects_are_refused_in_the_webhook_s_words(queued: Living) -> None:
    with pytest.raises(ApiRefusal, match="must be greater than or equal to 0"):
        queued.create(CLUSTER_QUEUE, make_queue("c", "-1"))
    quota = {"name": "cpu", "nominalQuota": "1", "borrowingLimit": "1"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "fast", "resources": [quota]}]}
    with pytest.raises(ApiRefusal, match="must be nil when parent is empty"):
        queued.create(COHORT, {"metadata": {"name": "x"}, "spec": {"resourceGroups": [group]}})


def test_a_restart_loses_nothing(queued: Living) -> None:
    queued.create(JOB, make_job("borrower", "a", "3", pods=2, minutes=10))
    queued.live(20)
    queued.create(JOB, make_job("owner", "b", "4", minutes=3))
    queued.live(3)
    queued.restart()
    queued.live(60)
    assert conditions(find_workload(queued, "owner"))["Admitted"][0] == "True"


def test_a_new_sandbox_has_two_cohorts_six_queues_and_forty_jobs_that_run_and_wait() -> None:
    sandbox = Living(catalogue=True)
    sandbox.live(60)
    workloads = sandbox.all(WORKLOAD)
    assert (len(sandbox.all(COHORT)), len(sandbox.all(CLUSTER_QUEUE)), len(workloads)) == (2, 6, 40)
    admitted = [raw for raw in workloads if conditions(raw).get("Admitted", ("",))[0] == "True"]
    # Kueue writes nothing to a workload that waits untried, as an equal of it failed.
    waiting = [raw for raw in workloads if conditions(raw).get("QuotaReserved", ("False",))[0] == "False"]
    assert len(admitted) >= 10
    assert len(waiting) >= 5
    kinds = (CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD)
    trees = list_trees(read_state([raw for kind in kinds for raw in sandbox.all(kind)], sandbox.now))
    assert {node.name for root in trees for node in root.walk()} == {
        *(queue.name for queue in tables.QUEUES), *(queue.cohort for queue in tables.QUEUES)
    }  # fmt: skip
    assert any(bar.borrowed for root in trees for node in root.walk() for bar in node.bars)
