"""A dry run of the descheduler that a job answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def question(user: User, snapshot: str) -> str:
    """What the starting policy would evict, under the default policy; its id."""
    from kschedweb.advice.moves import services, tasks
    from kschedweb.advice.moves.requests import starting_request
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.selectors import policy_get, revision_get

    about = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    revision = revision_get(policy_get("default"))
    made = services.question_ask(
        user=user, snapshot=about, revision=revision, dry_run_request=starting_request(rounds=2)
    )
    tasks.answer(str(made.job_id))
    return str(made.pk)
