"""Decide about groups of stored snapshots. Answers are cached, since snapshots and revisions never change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_refs, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.groups.case import GroupCase, group_case
from kschedweb.decisions.groups.group_status import find_group_status, list_group_statuses
from kschedweb.decisions.groups.rules import group_rules
from kschedweb.decisions.responsibility import find_responsible_schedulers, find_waits
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.engine.objects.podgroup import GENERIC
from kschedweb.jobs.inquiries import deadline_step
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.groups.group_status import GroupStatus
    from kschedweb.decisions.groups.rules import GroupRules
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def list_groups(snapshot: Snapshot) -> list[GroupStatus]:
    """Return the state of all groups of a stored snapshot."""
    if not snapshot.counts.get("Pod"):
        return []
    with services.lock_snapshot(snapshot):
        return list_group_statuses(engine_snapshot(snapshot))


def read_rules(snapshot: Snapshot, revision: Revision) -> GroupRules:
    """Return the rules for groups under ``revision``. Raise ApplicationError for a classic policy."""
    return group_rules(revision, snapshot.cluster.server_version, (GENERIC,), switch=False)


def find_responsible(
    snapshot: Snapshot, key: str, revision: Revision
) -> tuple[ResponsibleScheduler | None, list[ApprovalWait]]:
    """Return the scheduler of the group's pending pods, and those of them that wait for approval.

    If the pods name several schedulers, the first unknown one counts. It is None if no pod is pending.
    """
    namespace, _, name = key.partition("/")
    if "\0" in key:  # PostgreSQL refuses it in any text.
        return None, []
    pods = pod_refs(pod_rows(snapshot).filter(namespace=namespace, pod_group=name, pending=True))
    scheduler_by_name = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name for pod in pods})
    schedulers = [scheduler_by_name[pod.scheduler_name] for pod in pods]
    unknown = next((scheduler for scheduler in schedulers if scheduler.revision is None), None)
    return unknown or next(iter(schedulers), None), list(find_waits(snapshot, pods).values())


def decide_group(
    snapshot: Snapshot, key: str, revision: Revision, *, switch: bool = False, step: Step | None = None
) -> GroupCase:
    """Decide about the group ``key`` ("namespace/name"); with ``switch`` the gates that it needs are on.

    ``step`` gets the progress; without it DeadlineExceeded is raised if the answer takes longer than a request may.
    Raises NotFound if there is no such group and no pod names it, and ApplicationError for a classic policy or if the
    scheduling cycle fails.
    """

    def compute() -> GroupCase:
        engine = engine_snapshot(snapshot, read_rules(snapshot, revision).configuration.release.counting)
        group_status = find_group_status(engine, key)
        if group_status is None:
            raise NotFound(f"The snapshot has no PodGroup {key}, and no pod that names it.")
        gates = (GENERIC,) if group_status.group is None else group_status.group.gates
        needs = group_rules(revision, snapshot.cluster.server_version, gates, switch=switch)
        return group_case(engine, group_status, needs, step or deadline_step(), partial(services.is_live, snapshot))

    return services.get_or_compute(snapshot, (revision.pk, "group", key, switch), compute)
