"""Decide about pending pods when a large snapshot arrives, so that its pages need not read the cluster."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pod_refs, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.models import PendingOutcomes
from kschedweb.decisions.pending.outcomes import figures_version, pack_summaries
from kschedweb.decisions.responsibility import find_responsible_schedulers
from kschedweb.jobs.services import job_start
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.pending.outcomes import DecisionSummary
    from kschedweb.jobs.models import Job

# Limits of one job: pods, and seconds.
MOST_PODS, SECONDS = 20_000, 60.0


def work_out_later(*, snapshot: Snapshot, **_: Any) -> Job | None:
    """Start a job for the default policy, unless a page can decide at once or there is nothing to decide."""
    if snapshot.size <= services.LISTED_AT_ONCE or not snapshot.counts.get("pending"):
        return None
    title = f"Pending pods of {snapshot.cluster.name}"
    return job_start("decisions.pending", title=title, params={"snapshot": str(snapshot.pk)}, user=None)


def default_revision() -> Revision | None:
    """Return the newest revision of the policy that pages show if none is chosen."""
    return Revision.objects.select_related("policy").filter(policy__name=DEFAULT_POLICY).order_by("-number").first()


def work_out(*, snapshot: Snapshot, revision: Revision, step: Callable[[str, int, int], None]) -> int:
    """Decide about all pending pods of ``snapshot``, and store the outcomes in place of earlier ones.

    Each pod is decided under ``revision``, or under the revision that its live scheduler pins; each revision has a row.
    At most MOST_PODS are decided, for SECONDS. Returns how many were.
    """
    step("Reading the cluster", 0, 0)
    pods = pod_refs(pod_rows(snapshot).filter(pending=True)[:MOST_PODS])
    schedulers = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name for pod in pods})
    keys: dict[Revision, list[str]] = {revision: []}
    for pod in pods:
        if (answering := schedulers[pod.scheduler_name].revision) is not None:
            keys.setdefault(answering, []).append(pod.key)
    asked_count, deadline = 0, monotonic() + SECONDS
    for answering, pod_keys in keys.items():
        summaries: dict[str, DecisionSummary] = {}
        seconds = max(deadline - monotonic(), 0.0)
        for key, summary in services.iterate_summaries(snapshot, answering, pod_keys, seconds) if pod_keys else ():
            step("Asking pods", asked_count, len(pods))
            summaries[key] = summary
            asked_count += 1
        fields = {
            "figures": figures_version(snapshot, answering),
            "asked": len(summaries),
            "content": pack_summaries(summaries),
        }
        PendingOutcomes.objects.update_or_create(snapshot=snapshot, revision=answering, defaults=fields)
    return asked_count
