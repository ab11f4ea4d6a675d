"""Answers about groups of stored snapshots; cached, since snapshots and revisions never change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_refs, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.groups.case import GroupCase, group_case
from kschedweb.decisions.groups.rules import group_rules
from kschedweb.decisions.groups.standing import standing, standings
from kschedweb.decisions.responsibility import find_responsible_schedulers, find_waits
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.engine.objects.podgroup import GENERIC
from kschedweb.jobs.inquiries import deadline
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.groups.rules import GroupRules
    from kschedweb.decisions.groups.standing import Standing
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def listed(snapshot: Snapshot) -> list[Standing]:
    """How all groups of a stored snapshot stand."""
    if not snapshot.counts.get("Pod"):
        return []
    with services.alone(snapshot):
        return standings(engine_snapshot(snapshot))


def rules(snapshot: Snapshot, revision: Revision) -> GroupRules:
    """What schedules groups under ``revision``; raises ApplicationError for a classic policy."""
    return group_rules(revision, snapshot.cluster.server_version, (GENERIC,), switch=False)


def responsible(
    snapshot: Snapshot, key: str, revision: Revision
) -> tuple[ResponsibleScheduler | None, list[ApprovalWait]]:
    """The scheduler of the group's pending pods, and those of them that wait for approval.

    Of pods of several schedulers the first counts that nobody here knows; ``None``: no pod is pending.
    """
    namespace, _, name = key.partition("/")
    if "\0" in key:  # PostgreSQL refuses it in any text.
        return None, []
    pods = pod_refs(pod_rows(snapshot).filter(namespace=namespace, pod_group=name, pending=True))
    found = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name for pod in pods})
    schedulers = [found[pod.scheduler_name] for pod in pods]
    unknown = next((scheduler for scheduler in schedulers if scheduler.revision is None), None)
    return unknown or next(iter(schedulers), None), list(find_waits(snapshot, pods).values())


def answer(
    snapshot: Snapshot, key: str, revision: Revision, *, switch: bool = False, step: Step | None = None
) -> GroupCase:
    """What would become of the group ``key`` ("namespace/name"); with ``switch`` the gates that it needs are on.

    ``step`` gets the progress; without it NotNow is raised where the answer takes longer than a request may.
    Raises NotFound where there is no such group and no pod names it, and ApplicationError for a classic policy or where
    the scheduling cycle fails.
    """

    def make() -> GroupCase:
        engine = engine_snapshot(snapshot, rules(snapshot, revision).configuration.release.counting)
        found = standing(engine, key)
        if found is None:
            raise NotFound(f"The snapshot has no PodGroup {key}, and no pod that names it.")
        gates = (GENERIC,) if found.group is None else found.group.gates
        needs = group_rules(revision, snapshot.cluster.server_version, gates, switch=switch)
        return group_case(engine, found, needs, step or deadline(), partial(services.is_live, snapshot))

    return services.remembered(snapshot, (revision.pk, "group", key, switch), make)
