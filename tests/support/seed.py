"""Fill a database with as many rows as a test asks for, by the services that people use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kschedweb.engine.json_types import Json
from tests.support import seed_approvals, seed_groups, seed_live, seed_recordings, seed_runs, seed_sweeps
from tests.support.addresses import Places
from tests.support.seed_classic import classic
from tests.support.seed_crane import crane
from tests.support.seed_karpenter import karpenter

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

POLICY = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: {}\n"


def node(name: str, cpu: str = "8", memory: str = "32Gi", **more: str) -> Json:
    capacity = {"cpu": cpu, "memory": memory, "pods": "110", **more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{len(name) % 3}"},
        },
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cpu: str = "100m", memory: str = "128Mi", bound_to: str = "", **more: str) -> Json:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    container["resources"]["requests"].update(more)  # type: ignore[index]
    limits = {key: value for key, value in more.items() if "/" in key}
    if limits:
        container["resources"]["limits"] = limits  # type: ignore[index]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": "seeded"}},
        "spec": {
            "containers": [container],
            "schedulerName": "default-scheduler",
            **({"nodeName": bound_to} if bound_to else {}),
        },
        "status": {"phase": "Running" if bound_to else "Pending"},
    }


def cluster(nodes: int, pods: int) -> list[Json]:
    """``nodes`` nodes; of ``pods`` pods one fits nowhere, a tenth is pending, the rest is bound in turn."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    pending = max(pods // 10, 1)
    node_documents = [node(f"node-{number:05d}") for number in range(nodes)]
    bound = [pod(f"bound-{number:05d}", bound_to=f"node-{number % nodes:05d}") for number in range(pods - pending - 1)]
    waiting = [pod(f"pending-{number:05d}") for number in range(pending)]
    return [namespace, *node_documents, *bound, *waiting, pod("stuck", cpu="1000")]


def imported(name: str, objects: Iterable[Json], user: User) -> str:
    """Import ``objects`` as cluster ``name``; the id of its snapshot."""
    from django.conf import settings

    from kschedweb.clusters import services

    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    files = [("cluster.json", text)]
    _, snapshot, _ = services.cluster_import(user=user, name=name, files=files, limit=settings.UPLOAD_LIMIT)
    return str(snapshot.pk)


def sized(name: str, objects: Iterable[Json]) -> str:
    """Two hours of what containers of the bound pods among ``objects`` used in cluster ``name``; a workload of them.

    It is "" where no pod has an owner.
    """
    from django.utils import timezone

    from kschedweb.advice.rightsizing.selectors import sizes_of
    from kschedweb.clusters.models import Cluster
    from kschedweb.watermarks.container_book import ContainerUse, book_add
    from kschedweb.watermarks.inventory import inventory_make
    from kschedweb.watermarks.models import Resolution

    listed = list(objects)
    inventory = inventory_make(listed)
    pods = [raw["metadata"]["name"] for raw in listed if raw["kind"] == "Pod" and raw["spec"].get("nodeName")]
    last = int(timezone.now().timestamp()) // 300 * 300
    used = {("default", pod, "main"): {"cpu": 0.02, "memory": 64.0 * 2**20} for pod in pods}
    use = ContainerUse.from_rows((at, used) for at in range(last - 7200 + 300, last + 1, 300))
    cluster_row = Cluster.objects.get(name=name)
    book_add(cluster=cluster_row, inventory=inventory, use=use, origin="demo", peaks=Resolution.FIVE_MINUTES)
    return next((row.workload for row in sizes_of(cluster_row)[2]), "")


def priced(name: str) -> None:
    """A price table for the cluster ``name``, in which every node costs the same."""
    from kschedweb.clusters.models import Cluster
    from kschedweb.clusters.prices.services import prices_save

    rows = "".join(f"- labels: {{topology.kubernetes.io/zone: zone-{place}}}\n  price: 0.5\n" for place in range(3))
    text = f"apiVersion: kschedweb/v1\nkind: PriceTable\ncurrency: EUR\nprices:\n{rows}"
    prices_save(user=None, cluster=Cluster.objects.get(name=name), text=text, expected=0)


def measured(name: str, nodes: list[str], hours: int, end: float | None = None) -> None:
    """Use of ``nodes`` of cluster ``name`` every 5 minutes for ``hours`` up to ``end`` (now without one).

    Node i of n swings by 10 points a day about a level that falls from 90 % of the first node to 10 % of the last.
    """
    import numpy as np
    from django.utils import timezone

    from kschedweb.clusters.models import Cluster
    from kschedweb.watermarks.figures import NODE, NODE_STATISTICS, RESOURCES, Figure
    from kschedweb.watermarks.models import Resolution
    from kschedweb.watermarks.storage import samples_store

    last = int(end or timezone.now().timestamp()) // 300 * 300
    level = np.linspace(90, 10, len(nodes))
    rows = []
    for at in range(last - hours * 3600 + 300, last + 1, 300):
        use = level + 10 * np.sin(2 * np.pi * at / 86_400)
        figures = {
            Figure(NODE, resource, statistic): use / (10 if statistic.endswith("_std") else 1)
            for resource in RESOURCES
            for statistic in NODE_STATISTICS
        }
        rows.append((at, figures))
    samples_store(
        cluster=Cluster.objects.get(name=name), kind=NODE, names=nodes, rows=rows, origin="prometheus",
        resolution=Resolution.FIVE_MINUTES,
    )  # fmt: skip


def experimented(user: User) -> str:
    """An experiment that is done, two hours of two policies on three nodes; its id."""
    import zlib

    import numpy as np

    from kschedweb.engine.releases import CURRENT
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.playground.experiments.models import Experiment, Run

    job = Job.objects.create(kind="seeded", title="Experiment", state=JobState.SUCCEEDED, created_by=user)
    policies = ["default", "water-level"]
    experiment = Experiment.objects.create(policies=policies, seeds=[1], setup={}, job=job, created_by=user)
    names = (
        "since", "skew", "worst_skew", "deviation", "variation", "mean", "hottest", "high", "short", "unserved", "pods",
        "placed", "triesInVain",
    )  # fmt: skip
    for factor, policy in enumerate(policies, start=1):
        levels = np.linspace(0.0, 60.0 / factor, 72).reshape(24, 3)
        Run.objects.create(
            experiment=experiment,
            policy=policy,
            seed=1,
            measures=dict.fromkeys(names, 40.0 / factor) | {"high": 0.1, "short": 0.01},
            interval=300.0,
            nodes=3,
            engine=CURRENT.engine,
            levels=zlib.compress(levels.astype("<f4").tobytes()),
        )
    return str(experiment.pk)


def everything(rows: int, admin: User, sandbox: str = "") -> Places:
    """About ``rows`` rows of everything that has a list: clusters, nodes, pods, policies, revisions, people, …"""
    from kschedweb.accounts import services as accounts
    from kschedweb.accounts.grants import grant_give
    from kschedweb.accounts.models import User
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.lists.models import SavedView
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.policies import services as policies
    from tests.support.scenarios import explained
    from tests.support.scenarios import seeded as seed_scenarios
    from tests.support.seed_autoscaling import question as seed_autoscaling
    from tests.support.seed_capacity import question as seed_capacity
    from tests.support.seed_descheduled import run as seed_descheduled
    from tests.support.seed_descheduling import question as seed_descheduling
    from tests.support.seed_events import list_events
    from tests.support.seed_fleet import trial as seed_fleet
    from tests.support.seed_flight import flown
    from tests.support.seed_gates import gates as seed_gates
    from tests.support.seed_moves import questions as seed_moves
    from tests.support.seed_plans import question as seed_plans
    from tests.support.seed_questions import questions as seed_questions
    from tests.support.seed_queues import WAITING, list_objects
    from tests.support.seed_repositories import repositories
    from tests.support.seed_trying import tried_changes as seed_trying

    owned = pod("owned-7f9c-1", bound_to="node-00000")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owned-7f9c", "uid": "owned", "controller": True}
    owned["metadata"]["ownerReferences"] = [owner]
    objects = [*cluster(rows, 2 * rows), owned, *list_objects(rows, pod="stuck")]
    snapshot = imported("seeded", [*objects, *list_events(objects)], admin)
    workload = sized("seeded", objects)
    measured("seeded", [f"node-{number:05d}" for number in range(rows)], hours=2)
    priced("seeded")
    for number in range(rows):
        if number < rows // 5:
            imported(f"other-{number}", cluster(1, 2), admin)
        author = User.objects.create(username=f"person-{number}", role="editor")
        policies.policy_create(name=f"policy-{number}", document=POLICY.format(number + 1), author=author)
        Job.objects.create(kind="seeded", title=f"Job {number}", state=JobState.SUCCEEDED, created_by=author)
        token, _ = accounts.token_create(user=admin, name=f"token {number}", scope="view", days=1)
        grant = grant_give(actor=admin, user=author.username, role="editor", cluster="seeded")
        view = SavedView.objects.create(user=admin, table="pods", name=f"view {number}", hidden=["age"])
    rushed = seed_runs.everything(rows, admin)
    swept = seed_sweeps.everything(rows, admin)
    compared = [experimented(admin) for _ in range(rows)]
    scenario_ids = [seed_scenarios(admin, snapshot, revisions=2, name=f"Scenario {number}") for number in range(rows)]
    judged = seed_gates(rows, admin, snapshot)
    moving = seed_moves(rows, admin, snapshot)
    changed = seed_trying(rows, admin, snapshot)
    decided, effect = seed_questions(admin, snapshot)
    live, live_decision = seed_live.everything(rows, admin)
    approval, webhook = seed_approvals.everything(rows, LiveScheduler.objects.get(pk=live), admin)
    policy = policies.policy_create(name="seeded", document=POLICY.format(1), author=admin)
    for number in range(1, rows):
        author = User.objects.get(username=f"person-{number}")
        policies.revision_save(policy=policy, document=POLICY.format(number + 1), author=author, expected=number)
    return Places(
        cluster="seeded",
        fitting="default/pending-00000",
        stuck="default/stuck",
        policy="seeded",
        revision=rows,
        classic=classic(admin, revisions=rows),
        crane=crane(admin, revisions=rows),
        karpenter=karpenter(admin, revisions=rows),
        job=str(Job.objects.latest("created_at").pk),
        experiment=compared[0],
        scenario=scenario_ids[0],
        ready=explained(),
        groups=seed_groups.everything(rows, admin),
        queued=f"seeded/{WAITING}",
        run=rushed[0],
        comparison=rushed[1],
        gate=judged,
        moves=moving,
        tried_change=changed,
        fleet=seed_fleet(admin, "seeded"),
        sized=workload,
        capacity=seed_capacity(admin, snapshot),
        evicting=seed_descheduling(admin, snapshot),
        descheduled=seed_descheduled(admin),
        planned=seed_plans(admin, snapshot),
        autoscaling=seed_autoscaling(admin, snapshot),
        decided=decided,
        effect=effect,
        sweep=swept,
        recording=seed_recordings.everything(rows, admin),
        flown=flown(rows),
        repository=repositories(rows, admin),
        snapshot=snapshot,
        token=str(token.pk),
        view=str(view.pk),
        live=live,
        live_decision=live_decision,
        approval=approval,
        webhook=webhook,
        grant=str(grant.pk),
        sandbox=sandbox,
        user=admin.username,
    )
