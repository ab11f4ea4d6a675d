"""Scenarios that are small and yet show everything, and their runs, done as a worker does them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.playground.runs.models import Comparison, Run
    from kschedweb.playground.scenarios.models import ScenarioRevision

SMALL = {"cpu": "250m", "memory": "512Mi", "life": "2m"}
PACKED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""


def document(nodes: int = 6, pods: int = 20, drawn: bool = False, changes: list[Json] | None = None) -> Json:
    """Nodes of 4 CPU in three zones; pods of 1 CPU, and at the end an important one that preempts others.

    With ``drawn`` small pods come at times that the seed decides; ``changes`` are made in place of that pod's coming.
    """
    from tests.support.seed import node, pod

    node_documents = [node(f"node-{number}", cpu="4", memory="16Gi") for number in range(nodes)]
    for number, node_document in enumerate(node_documents):
        node_document["metadata"]["labels"]["topology.kubernetes.io/zone"] = f"zone-{number % 3}"
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    important = pod("important", cpu="3")
    important["spec"] |= {"priorityClassName": "high", "terminationGracePeriodSeconds": 5}
    waiting = [pod(f"web-{number:02d}", cpu="1", memory=f"{1 + number % 3}Gi") for number in range(pods)]
    return {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": "rush",
        "base": {"empty": True},
        "objects": [*node_documents, high, *waiting],
        "changes": [{"at": "5m", "addWorkload": {"manifest": important}}] if changes is None else changes,
        "arrivals": [{"generate": {"perHour": 120, "until": "8m", "shapes": [SMALL]}}] if drawn else [],
        "run": {"until": "10m", "sample": "10s"},
    }


def outcome(policy: str = "", seed: int = 1, **fields: Any) -> RunOutcome:
    """Run the scenario of ``fields`` under ``policy`` ("": the default), without a database."""
    from kschedweb.engine.config import default_document
    from kschedweb.engine.releases import load
    from kschedweb.engine.studies.document.document import read_scenario
    from kschedweb.engine.studies.play.run import run_scenario
    from kschedweb.engine.studies.prepare.prepared import prepare_scenario

    configuration = load(policy or default_document()).configuration
    assert configuration is not None
    return run_scenario(prepare_scenario(read_scenario(document(**fields)), [], {}, seed=seed, now=0.0), configuration)


def scenario(user: User | None, name: str = "rush", shared: bool = True, **size: Any) -> ScenarioRevision:
    """The first revision of a scenario that is stored."""
    from kschedweb.playground.scenarios.models import Scenario, ScenarioRevision

    slug = f"{name}-{Scenario.objects.count()}"
    row = Scenario.objects.create(name=name, slug=slug, shared=shared, created_by=user)
    text = json.dumps(document(**size) | {"name": name}, indent=1)
    return ScenarioRevision.objects.create(scenario=row, number=1, text=text, author=user)


def elastic(user: User | None) -> ScenarioRevision:
    """A scenario whose one workload is scaled by its load."""
    from kschedweb.playground.scenarios.models import Scenario, ScenarioRevision

    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    manifest = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    steps = [{"at": at, "cores": cores} for at, cores in (("0s", "1"), ("10m", "4"), ("30m", "1"))]
    scaled = {"workload": "default/Deployment/web", "min": 2, "max": 20, "targetCpu": 50, "load": {"steps": steps}}
    changes = [
        {"addNodes": {"name": "worker", "count": 2, "allocatable": {"cpu": "8", "memory": "16Gi"}}},
        {"addWorkload": {"manifest": manifest, "replicas": 2}},
        {"autoscaleWorkload": scaled},
    ]
    row = Scenario.objects.create(name="elastic", slug="elastic", shared=True, created_by=user)
    text = json.dumps({"name": "elastic", "changes": changes, "run": {"until": "1h"}}, indent=1)
    return ScenarioRevision.objects.create(scenario=row, number=1, text=text, author=user)


def queued(user: User | None, *, loops: bool = False) -> ScenarioRevision:
    """A scenario of two queues: a borrower is evicted, and a job with quota fits no node; or jobs that loop."""
    from kschedweb.playground.scenarios.models import Scenario, ScenarioRevision
    from tests.engine.studies.actors.test_queues import make_document, make_looping_document

    document = make_looping_document() if loops else make_document()
    row = Scenario.objects.create(name="queued", slug="queued", shared=True, created_by=user)
    text = json.dumps(document | {"name": "queued"}, indent=1)
    return ScenarioRevision.objects.create(scenario=row, number=1, text=text, author=user)


def packed(user: User) -> str:
    """The name of a policy that fills nodes up."""
    from kschedweb.policies import services
    from kschedweb.policies.models import Policy

    if not Policy.objects.filter(name="packed").exists():
        services.policy_create(name="packed", document=PACKED, author=user)
    return "packed"


def work_off() -> int:
    """Do all jobs of runs that are queued, in their order, as a worker does; how many."""
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.playground.runs import tasks

    messages = 0
    while job := Job.objects.filter(state=JobState.QUEUED, kind__startswith="runs.").order_by("created_at").first():
        {"runs.run": tasks.run, "runs.difference": tasks.difference}[job.kind](str(job.pk))
        messages += 1
    return messages


def run(user: User, revision: ScenarioRevision | None = None) -> Run:
    """A run that is done."""
    from kschedweb.playground.runs import services
    from kschedweb.playground.runs.models import Run

    row = services.run_start(user=user, revision=revision or scenario(user), policy="default")
    work_off()
    return Run.objects.get(pk=row.pk)


def comparison(user: User, seeds: list[int] | None = None, revision: ScenarioRevision | None = None) -> Comparison:
    """Two policies, done; of a scenario in which something is drawn where there are several seeds."""
    from kschedweb.playground.runs import services

    policies = ["default", packed(user)]
    revision = revision or scenario(user, drawn=len(seeds or [1]) > 1)
    row = services.comparison_start(user=user, revision=revision, policies=policies, seeds=seeds or [1])
    work_off()
    return row


def everything(rows: int, user: User) -> tuple[str, str]:
    """About ``rows`` runs and comparisons, of each one that is done; the ids of these two."""
    from kschedweb.playground.runs import services
    from kschedweb.playground.runs.models import Run

    revision = scenario(user)
    compared = comparison(user, revision=revision)
    for _ in range(rows - 1):
        services.comparison_start(user=user, revision=revision, policies=["default", packed(user)], seeds=[1])
    return str(Run.objects.get(comparison=compared, position=0).pk), str(compared.pk)
