"""Tried changes of a policy, reached as REST reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def tried_changes(rows: int, user: User, snapshot: str) -> str:
    """``rows`` times the default policy changed so that it packs, on ``snapshot``; the id of one."""
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.trying import services
    from kschedweb.playground.trying.changes import Content
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.selectors import policy_get, revision_get
    from tests.support.seed_runs import PACKED

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    base = revision_get(policy_get("default"))
    request = services.TryRequest(base, Content(PACKED, {}), snapshot=snapshot_row)
    change = services.change_try(user=user, request=request)
    if change.content is None:
        services.KIND.answer(change, lambda *_: None)
    first = change.pk
    for _ in range(rows - 1):
        copied = TriedChange.objects.get(pk=first)
        copied.pk = None
        copied._state.adding = True
        copied.id = TriedChange._meta.pk.get_default()
        copied.save()
    return str(first)
