from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from django.test import override_settings

from kschedweb.accounts import services as accounts
from kschedweb.accounts.grants import grant_give
from kschedweb.accounts.models import Token, User
from kschedweb.accounts.roles import Action
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.jobs.models import Job
from kschedweb.lists.models import SavedView
from kschedweb.live.approvals.models import ApprovalRequest, Endpoint
from kschedweb.live.approvals.webhooks import services as webhooks
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.scenarios.models import Scenario
from tests.conftest import person
from tests.support import (
    scenarios,
    seed_approvals,
    seed_autoscaling,
    seed_capacity,
    seed_descheduling,
    seed_fleet,
    seed_gates,
    seed_groups,
    seed_live,
    seed_moves,
    seed_plans,
    seed_questions,
    seed_queues,
    seed_recordings,
    seed_runs,
    seed_sweeps,
    seed_trying,
)
from tests.support.addresses import Places
from tests.support.routes import Choose, leading_to
from tests.support.sandbox import TOKEN, use_sandbox
from tests.support.seed import priced, sized
from tests.support.seed_events import list_events
from tests.support.seed_flight import flown
from tests.support.seed_repositories import repositories

if TYPE_CHECKING:
    from pytest_django import Settings


WEBHOOK_HOSTS = ["192.0.2.9"]  # of no machine


@dataclass(frozen=True)
class Seed:
    """Rows that make addresses lead somewhere."""

    admin: User
    key: str
    token: Token
    cluster: Cluster
    snapshot: Snapshot
    job: Job
    experiment: Experiment
    scenario: str
    ready: str
    run: str
    comparison: str
    sweep: str
    recording: str
    gate: str
    moves: str
    tried_change: str
    capacity: str
    evicting: str
    planned: str
    fleet: str
    autoscaling: str
    decided: tuple[str, str]
    decision: LiveDecision
    approval: ApprovalRequest
    webhook: Endpoint
    webhook_secret: str
    view: SavedView
    grant: object
    mark: str = ""  # what the names of cluster, nodes and pods begin with

    @property
    def places(self) -> Places:
        return Places(
            cluster=self.cluster.name, fitting=f"default/{self.mark}fits", stuck=f"default/{self.mark}pending",
            queued=f"{self.cluster.name}/{seed_queues.WAITING}",
            job=str(self.job.pk), experiment=str(self.experiment.pk), scenario=self.scenario,
            ready=self.ready, groups=self.cluster.name, run=self.run, comparison=self.comparison,
            gate=self.gate, moves=self.moves, tried_change=self.tried_change, fleet=self.fleet, capacity=self.capacity,
            evicting=self.evicting, planned=self.planned, autoscaling=self.autoscaling, decided=self.decided[0],
            effect=self.decided[1], sweep=self.sweep, recording=self.recording, repository="seed",
            node=f"{self.mark}a", snapshot=str(self.snapshot.pk), token=str(self.token.pk),
            live=str(self.decision.scheduler_id), live_decision=str(self.decision.pk), approval=str(self.approval.pk),
            webhook=str(self.webhook.pk), grant=str(self.grant), view=str(self.view.pk), sandbox="default/seed",
        )  # fmt: skip


def node(name: str, **spec: Any) -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{name}"}
    status = {"allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}


def pod(
    name: str,
    cpu: str,
    node_name: str = "",
    group: str = "",
    *,
    namespace: str = "default",
    owner: str = "",
    **spec: Any,
) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    spec |= {"containers": containers, "schedulerName": "default-scheduler"}
    spec |= {"nodeName": node_name} if node_name else {}
    spec |= {"schedulingGroup": {"podGroupName": group}} if group else {}
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    if owner:
        meta["ownerReferences"] = [{"kind": "StatefulSet", "name": owner, "controller": True, "apiVersion": "apps/v1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


@pytest.fixture(scope="module")
def seeded_rows(rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str) -> Seed:
    """Made once a module, whose tests each undo what they change."""
    at_work = {"SANDBOX_SERVER": sandbox_address, "SANDBOX_TOKEN": TOKEN}
    with rows_of_module(), override_settings(CLUSTER_ALLOWLIST=WEBHOOK_HOSTS, **at_work):
        clusters.sandbox_connect()
        return create_seed()


@pytest.fixture
def seed(seeded_rows: Seed, db: None, settings: Settings, sandbox_address: str) -> Seed:
    settings.CLUSTER_ALLOWLIST = WEBHOOK_HOSTS
    use_sandbox(settings, sandbox_address)
    return seeded_rows


def create_seed(mark: str = "", more: Sequence[dict[str, Any]] = ()) -> Seed:
    """A row of everything, for an admin; ``more`` objects are in the imported cluster."""
    admin = person("admin")
    token, key = accounts.token_create(user=admin, name="seed", scope=Action.ADMINISTER, days=1)
    objects = [
        node(f"{mark}a"),
        node(f"{mark}b", unschedulable=True),
        pod(f"{mark}bound", "1", f"{mark}a"),
        pod(f"{mark}pending", "100"),
        seed_groups.group("gang", 1),
        *seed_queues.list_objects(3, pod=f"{mark}pending"),
        pod(f"{mark}fits", "2", group="gang"),
        *more,
    ]
    name = f"{mark}seed"
    file = ("seed.yaml", yaml.safe_dump_all([*objects, *list_events(objects)]).encode())
    cluster, snapshot, _ = clusters.cluster_import(user=admin, name=name, files=[file], limit=2**20, replace=False)
    priced(name)
    sized(name, objects)
    job = Job.objects.create(kind="tests.seed", title="Seed", created_by=admin)
    experiment = Experiment.objects.create(policies=["default"], seeds=[1], setup={}, job=job, created_by=admin)
    scenario = scenarios.seeded(admin, str(snapshot.pk))
    Scenario.objects.filter(pk=scenario).update(shared=True)
    run, comparison = seed_runs.everything(1, admin)
    sweep = seed_sweeps.everything(1, admin)
    live = seed_live.scheduler(admin)
    decision, approval = seed_live.explained(live), seed_approvals.request(live)
    webhook, secret = webhooks.endpoint_save(
        user=admin, name="seed", url="https://192.0.2.9/hooks", events=list(webhooks.EVENTS)
    )
    webhooks.endpoint_test(user=admin, endpoint=webhook)
    repositories(1, admin, "seed")
    flown(cluster_row=cluster, name=f"{mark}pending")
    return Seed(
        admin,
        key,
        token,
        cluster,
        snapshot,
        job,
        experiment,
        scenario,
        scenarios.explained(),
        run,
        comparison,
        sweep,
        seed_recordings.everything(1, admin),
        seed_gates.gates(1, admin, str(snapshot.pk)),
        seed_moves.questions(1, admin, str(snapshot.pk)),
        seed_trying.tried_changes(1, admin, str(snapshot.pk)),
        seed_capacity.question(admin, str(snapshot.pk)),
        seed_descheduling.question(admin, str(snapshot.pk)),
        seed_plans.question(admin, str(snapshot.pk)),
        seed_fleet.trial(admin, name),
        seed_autoscaling.question(admin, str(snapshot.pk)),
        seed_questions.questions(admin, str(snapshot.pk)),
        decision,
        approval,
        webhook,
        secret,
        SavedView.objects.create(user=admin, table="pods", name="seed"),
        grant_give(actor=admin, user="admin", role="viewer", cluster=name).pk,
        mark,
    )


@pytest.fixture
def choose(seed: Seed) -> Choose:
    return leading_to(seed.places, group="gang")
