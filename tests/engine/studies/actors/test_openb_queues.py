"""A recorded day of the openb cluster with its classes of service as teams: queues of one cohort, and other quotas."""

from __future__ import annotations

import csv
import gzip
import io
from functools import cache

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies import prepare_scenario, read_scenario
from kschedweb.engine.studies.actors.queues.setting_paths import build_settings, parse_settings, read_settings
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, with_actor
from tests.data import DATA
from tests.engine.simulation.quota_queues.building import flavor, local_queue
from tests.engine.studies.worlds import configuration

# The busiest day: 678 pods, 422 of them latency-sensitive (LS), 252 best-effort (BE), 4 burstable.
DAY, SECONDS = 148, 86_400
GPU = "nvidia.com/gpu"


@cache
def read_day() -> bytes:
    with gzip.open(DATA / "openb_pod_list_default.csv.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(float(row["creation_time"])) // SECONDS == DAY]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    for row in rows:
        times = {
            name: f"{float(row[name]) - DAY * SECONDS:g}"
            for name in ("creation_time", "deletion_time", "scheduled_time")
            if row[name]
        }
        writer.writerow({**row, **times})
    return text.getvalue().encode()


def make_queue(name: str, cpu: int, gpus: int, **spec: object) -> Json:
    # All pods ask for memory, so a queue has to cover it.
    quotas = {"cpu": str(cpu), "memory": "1000Ti", GPU: str(gpus)}
    resources = [{"name": resource, "nominalQuota": quota} for resource, quota in quotas.items()]
    group = {"coveredResources": list(quotas), "flavors": [{"name": "f", "resources": resources}]}
    body = {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": [group], **spec}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body}


@cache
def prepare_day() -> PreparedScenario:
    reclaiming = {"preemption": {"reclaimWithinCohort": "Any"}}
    document = {
        "name": "a day of openb",
        "objects": [
            flavor(),
            make_queue("ls", 600, 8, **reclaiming),
            make_queue("be", 400, 4),
            make_queue("burstable", 50, 4),
            *(local_queue(name) for name in ("ls", "be", "burstable")),
        ],
        "changes": [{"addNodes": {
            "name": "gpu", "count": 30, "allocatable": {"cpu": "96", "memory": "768Gi", "pods": "110", GPU: "8"},
        }}],
        "arrivals": [{"trace": {"file": "day.csv", "format": "openb"}}],
        "queues": {"queueLabel": "qos"},
        "run": {"until": "24h"},
    }  # fmt: skip
    return prepare_scenario(read_scenario(document), [], {"day.csv": read_day()}, seed=1, now=0.0)


def measure(settings: str = "") -> dict[str, float]:
    prepared = prepare_day()
    if settings:
        changes = read_settings(build_settings(parse_settings(settings)))
        own = read_scenario({"name": "x", "queues": {"queueLabel": "qos"}}).actors["queues"]
        prepared = with_actor(prepared, "queues", own.with_changes(changes))
    measures = compute_measures(run_scenario(prepared, configuration()))
    return {entry.name: entry.value for entry in measures if entry.value is not None}


@pytest.mark.nightly
def test_teams_wait_for_their_quota_and_less_of_it_makes_them_wait_longer() -> None:
    day = measure()
    assert {name for name in day if name.startswith("queue_wait_p99_")} >= {"queue_wait_p99_ls", "queue_wait_p99_be"}
    assert day["jobs_evicted_reclaimed"] > 0, "LS takes back what BE borrows"
    tight = measure(f"be/f/{GPU}/nominal=3, ls/f/{GPU}/nominal=6")
    assert tight["queue_wait_p99_burstable"] > day["queue_wait_p99_burstable"]
    assert tight[f"quota_used_{GPU}"] > day[f"quota_used_{GPU}"]
    alone = measure("be/cohort=, ls/cohort=")
    assert alone["jobs_evicted"] == 0.0
    assert alone[f"quota_borrowed_{GPU}"] == 0.0
