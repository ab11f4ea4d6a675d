"""Sweeps that are small, done as workers do them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support import seed_runs

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.sweeps.models import Sweep

FIT = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
BALANCED = "profiles[0].plugins.score.enabled[NodeResourcesBalancedAllocation].weight"
STRATEGY = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
SPACE = [{"path": FIT, "from": 0, "to": 3}, {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]
OBJECTIVES = [{"measure": "nodes_empty"}, {"measure": "skew_cpu"}]


def started(user: User, revision: ScenarioRevision | None = None, **changes: Any) -> Sweep:
    """A sweep that waits for workers."""
    from kschedweb.playground.sweeps import services

    fields: dict[str, Any] = {"policy": "default", "space": SPACE, "objectives": OBJECTIVES, "method": "grid"}
    return services.sweep_start(user=user, revision=revision or seed_runs.scenario(user, pods=10), **fields | changes)


def work_off(limit: int = 1000) -> int:
    """Do the jobs of sweeps that are queued and all that comes of them, at most ``most`` messages; how many."""
    from kschedweb.jobs.models import Job, JobState
    from kschedweb.playground.sweeps import tasks
    from kschedweb.playground.sweeps.models import Sweep

    messages = 0
    while messages < limit:
        job = Job.objects.filter(state=JobState.QUEUED, kind="sweeps.run").order_by("created_at").first()
        if job is not None:
            tasks.run(str(job.pk))
        else:
            sweep = Sweep.objects.filter(job__state=JobState.RUNNING).first()
            if sweep is None:
                return messages
            tasks.turn.run(str(sweep.pk), sweep.turn)
        messages += 1
    return messages


def sweep(user: User, revision: ScenarioRevision | None = None, **changes: Any) -> Sweep:
    """A sweep that is done."""
    from kschedweb.playground.sweeps.models import Sweep

    row = started(user, revision, **changes)
    work_off()
    return Sweep.objects.get(pk=row.pk)


def everything(rows: int, user: User) -> str:
    """About ``rows`` sweeps, of which one is done; its id."""
    revision = seed_runs.scenario(user, pods=10)
    finished = sweep(user, revision)
    for _ in range(rows - 1):
        started(user, revision)
    return str(finished.pk)
