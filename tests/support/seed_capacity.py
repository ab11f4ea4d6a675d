"""A question about capacity that a job answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """Ask for the number of small pods that fit, under the default policy; return the question's id."""
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity import services, tasks
    from kschedweb.playground.capacity.queries import FitQuery, PodQuery
    from kschedweb.policies.selectors import policy_get, revision_get

    query = FitQuery(PodQuery(requests=(("cpu", "500m"), ("memory", "1Gi"))), limit=200)
    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    revision = revision_get(policy_get("default"))
    row = services.question_ask(user=user, snapshot=snapshot_row, revision=revision, query=query)
    tasks.answer(str(row.job_id))
    return str(row.pk)
