"""Works out what becomes of pending pods when a large snapshot arrives, so that its pages need not read the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pending_keys
from kschedweb.decisions import services
from kschedweb.decisions.models import PendingOutcomes
from kschedweb.decisions.pending.outcomes import figures, pack
from kschedweb.jobs.services import job_start
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.pending.outcomes import DecisionSummary
    from kschedweb.jobs.models import Job

MOST_PODS, SECONDS = 20_000, 60.0


def work_out_later(*, snapshot: Snapshot, **_: Any) -> Job | None:
    """Start a job for the default policy, unless a page does the same in no time or there is nothing to do."""
    if snapshot.size <= services.LISTED_AT_ONCE or not snapshot.counts.get("pending"):
        return None
    title = f"Pending pods of {snapshot.cluster.name}"
    return job_start("decisions.pending", title=title, params={"snapshot": str(snapshot.pk)}, user=None)


def default_revision() -> Revision | None:
    """The newest revision of the policy that pages show where none is chosen."""
    return Revision.objects.select_related("policy").filter(policy__name=DEFAULT_POLICY).order_by("-number").first()


def work_out(*, snapshot: Snapshot, revision: Revision, step: Callable[[str, int, int], None]) -> PendingOutcomes:
    """Ask all pending pods of ``snapshot`` and keep what becomes of them, in place of what was kept before.

    At most MOST_PODS, for SECONDS.
    """
    step("Reading the cluster", 0, 0)
    found: dict[str, DecisionSummary] = {}
    keys = pending_keys(snapshot, MOST_PODS)
    for done, (key, told) in enumerate(services.asked(snapshot, revision, keys, SECONDS)):
        step("Asking pods", done, len(keys))
        found[key] = told
    content, version = pack(found), figures(snapshot, revision)
    kept, _ = PendingOutcomes.objects.update_or_create(
        snapshot=snapshot, revision=revision, defaults={"figures": version, "asked": len(found), "content": content}
    )
    return kept
