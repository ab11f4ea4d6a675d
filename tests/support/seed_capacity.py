"""A question about capacity that a job answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """How many small pods fit, under the default policy; its id."""
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity import services, tasks
    from kschedweb.playground.capacity.queries import FitQuery, PodQuery
    from kschedweb.policies.selectors import policy_get, revision_get

    asked = FitQuery(PodQuery(requests=(("cpu", "500m"), ("memory", "1Gi"))), limit=200)
    about = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    revision = revision_get(policy_get("default"))
    made = services.question_ask(user=user, snapshot=about, revision=revision, query=asked)
    tasks.answer(str(made.job_id))
    return str(made.pk)
