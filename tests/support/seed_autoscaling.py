"""A question about autoscaling that a job answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """Ask Karpenter about all nodes of the cluster, with the ready instance types; return the question's id."""
    from kschedweb.advice.autoscaling import services, tasks
    from kschedweb.advice.autoscaling.requests import KarpenterRequest
    from kschedweb.clusters.models import Snapshot

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    row = services.question_ask(user=user, autoscaling_request=KarpenterRequest(snapshot_row, None, "default"))
    tasks.answer(str(row.job_id))
    return str(row.pk)
