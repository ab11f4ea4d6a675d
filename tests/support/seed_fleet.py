"""A policy tried on many clusters, reached as REST reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def trial(user: User, cluster: str) -> str:
    """The default policy against one that packs, on ``cluster``; its id."""
    from kschedweb.fleet import services
    from kschedweb.policies.selectors import policy_get, revision_get
    from kschedweb.policies.services import policy_create
    from tests.support.seed_runs import PACKED

    base = revision_get(policy_get("default"))
    packed = policy_create(name="fleet-packing", document=PACKED, author=user)
    question = services.FleetQuestion(base, revision_get(packed), [cluster])
    row = services.trial_start(user=user, question=question)
    services.KIND.answer(row, lambda *_: None)
    return str(row.pk)
