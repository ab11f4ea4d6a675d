"""Live schedulers with a leader, a standby and decisions, as the process that hosts them writes them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler
    from kschedweb.live.shadow.models import ShadowVerdict

DURATIONS = {"PreFilter": 0.0002, "Filter": 0.0011, "PreScore": 0.0001, "Score": 0.0006, "Reserve": 0.00005}
DEPTHS = {
    "active": 2, "backoff": 1, "unschedulable": 3, "gated": 1, "waiting": 1, "held": 1, "binding": 0, "nodes": 30,
    "pods": 40,
}  # fmt: skip


def scheduler(user: User, name: str = "kschedweb", *, cluster: str = "watched", mode: str = "scheduling") -> Any:
    """A live scheduler in a cluster whose address nobody answers at."""
    from kschedweb.clusters.models import Cluster, ClusterSource
    from kschedweb.live.schedulers import services
    from kschedweb.policies.models import Policy

    cluster_row, _ = Cluster.objects.get_or_create(
        name=cluster, defaults={"source": ClusterSource.TOKEN, "server": "https://192.0.2.1:6443"}
    )
    policy = Policy.objects.get(name="default")
    return services.live_create(user=user, cluster=cluster_row, scheduler_name=name, policy=policy, mode=mode)


def hosted(live: LiveScheduler, now: datetime | None = None) -> None:
    """A leader with a quarter of an hour of history, and a standby."""
    from kschedweb.live.schedulers.election.terms import election_of
    from kschedweb.live.schedulers.models import Candidate

    now = now or timezone.now()
    end = int(now.timestamp())
    history = [[end - 5 * back, 20 - back % 7, back % 3, 3, 1, 1, 12.5 + back % 5, 0.04] for back in range(180, -1, -1)]
    common = {
        "scheduler": live, "mode": live.mode, "election": election_of(live), "started_at": now - timedelta(hours=2),
        "heartbeat": now,
    }  # fmt: skip
    Candidate.objects.create(
        identity="host-1_4711", leading=True, synced=True, epoch=3, ticked_at=now, depths=DEPTHS, bound=1234, rate=12.5,
        latency={"p50": 0.041, "p99": 0.32}, history=history, revision=live.policy.revisions.first(), **common,
    )  # fmt: skip
    Candidate.objects.create(identity="host-2_4712", synced=True, **common)


def decision(live: LiveScheduler, name: str = "web-0", result: str = "bound", **more: Any) -> LiveDecision:
    from kschedweb.live.schedulers.models import LiveDecision

    at = more.pop("at", None) or timezone.now()
    placed = result not in ("unschedulable", "error")
    top = [
        {"node": "node-00001", "total": 463, "scores": {"NodeResourcesFit": 90, "TaintToleration": 300, "Other": 73}},
        {"node": "node-00002", "total": 449, "scores": {"NodeResourcesFit": 76, "TaintToleration": 300, "Other": 73}},
    ]
    values: dict[str, Any] = {
        "id": uuid.uuid4(),
        "at": at,
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
        "result": result,
        "node": "node-00001" if placed else "",
        "evaluated": 30,
        "feasible": 28 if placed else 0,
        "margin": 14 if placed else None,
        "top": top if placed else [],
        "durations": DURATIONS,
        "latency": 0.041 if result == "bound" else None,
        "ended_at": None if result in ("held", "waiting") else at,
        "message": "" if placed else "0/30 nodes are available: 30 Insufficient cpu.",
        "rejected_by": [] if placed else ["NodeResourcesFit"],
        "epoch": 3,
        "revision": live.policy.revisions.first(),
    }
    return LiveDecision.objects.create(scheduler=live, **{**values, **more})


def explained(live: LiveScheduler, name: str = "pending-00000") -> LiveDecision:
    """A decision whose every verdict and score is kept."""
    from kschedweb.decisions.kept.explanation_bytes import pack_explanation
    from kschedweb.engine import Scheduler, Snapshot
    from kschedweb.engine.live import JudgedPod
    from kschedweb.live.schedulers.decisions import insight
    from kschedweb.live.schedulers.models import LiveColumns
    from kschedweb.policies.selectors import load_configuration, revision_get
    from tests.support.seed import cluster, node

    snapshot = Snapshot.from_objects([*cluster(30, 60), node("small", cpu="50m")])
    pod = snapshot.get_pod(f"default/{name}")
    scheduler = Scheduler(snapshot, load_configuration(revision_get(live.policy)))
    explanation = scheduler.explain(pod)
    order = sorted(range(len(explanation.feasible)), key=lambda place: -int(explanation.total[place]))
    best = [explanation.nodes[int(explanation.feasible[place])] for place in order]
    totals = [int(explanation.total[place]) for place in order]
    top = [
        {
            "node": name,
            "total": int(explanation.total[place]),
            "scores": {column.plugin: int(column.weighted[place]) for column in explanation.scores},
        }
        for name, place in list(zip(best, order, strict=True))[:5]
    ]
    row = decision(
        live, name, "bound" if best else "unschedulable", node=best[0] if best else "", top=top, has_columns=True,
        margin=totals[0] - totals[1] if best else None, evaluated=len(explanation.nodes),
        feasible=len(explanation.feasible),
    )  # fmt: skip
    LiveColumns.objects.create(
        decision=row,
        content=pack_explanation(explanation, insight.insight_of(JudgedPod(snapshot, pod, scheduler, explanation))),
    )
    return row


def judged(live: LiveScheduler, name: str = "web-0", verdict: str = "agree", **more: Any) -> ShadowVerdict:
    """A verdict of a shadow."""
    from kschedweb.live.shadow.models import ShadowVerdict

    differs = verdict == "differ"
    values: dict[str, Any] = {
        "id": uuid.uuid4(),
        "at": timezone.now(),
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
        "verdict": verdict,
        "node": "node-00001",
        "best": ["node-00002"] if differs else ["node-00001", "node-00003"],
        "ties": 1 if differs else 2,
        "feasible": 28,
        "rank": 4 if differs else 1,
        "difference": 37 if differs else 0,
        "plugin": "NodeResourcesFit" if differs else "",
        "differences": {"NodeResourcesFit": 40, "NodeResourcesBalancedAllocation": -3} if differs else {},
        "revision": live.policy.revisions.first(),
    }
    if verdict == "infeasible":
        values |= {"rank": None, "difference": None, "plugin": "NodeResourcesFit", "message": "Insufficient cpu"}
    return ShadowVerdict.objects.create(scheduler=live, **{**values, **more})


def everything(rows: int, user: User) -> tuple[str, str]:
    """A live scheduler with ``rows`` decisions, and others beside it; its id and that of a decision kept in full."""
    live = scheduler(user)
    hosted(live)
    for number in range(rows // 5):
        hosted(scheduler(user, f"other-{number}", mode="shadow"))
    results = ("bound", "held", "unschedulable", "denied")
    for number in range(rows):
        judged(live, f"web-{number}", ("agree", "differ", "infeasible")[number % 3])
        decision(live, f"web-{number}", results[number % 4], at=timezone.now() - timedelta(seconds=number + 1))
    return str(live.pk), str(explained(live).pk)
