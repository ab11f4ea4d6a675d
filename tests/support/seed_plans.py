"""A plan of moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """A plan that frees a node of the snapshot under the default policy; its id."""
    from kschedweb.advice.plans import services
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.selectors import policy_get, revision_get

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    revision = revision_get(policy_get("default"))
    row = services.question_new(user, snapshot_row, revision, {"nodes": {"atLeast": 1}})
    row.save()
    services.KIND.answer(row, lambda *_: None)
    return str(row.pk)
