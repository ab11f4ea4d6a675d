"""A dry run of the descheduler that a job answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """Ask for the evictions of the starting policy under the default policy; return the question's id."""
    from kschedweb.advice.moves import services, tasks
    from kschedweb.advice.moves.requests import starting_request
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.selectors import policy_get, revision_get

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    revision = revision_get(policy_get("default"))
    row = services.question_ask(
        user=user, snapshot=snapshot_row, revision=revision, dry_run_request=starting_request(rounds=2)
    )
    tasks.answer(str(row.job_id))
    return str(row.pk)
