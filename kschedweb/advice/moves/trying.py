"""A descheduler in a scenario: the snapshot, through which it goes every so many minutes while time passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.engine.documents.marked import parse
from kschedweb.playground.runs.services import run_start
from kschedweb.playground.scenarios.onsnapshot import scenario_on
from kschedweb.playground.scenarios.selectors import revision_get

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.advice.moves.questions import Asked
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.runs.models import Run
    from kschedweb.policies.models import Revision

SETTLING = 60.0  # seconds after the last round, in which pods leave and others get their nodes


@transaction.atomic
def moves_try(*, user: User, snapshot: Snapshot, revision: Revision, asked: Asked) -> Run:
    """Make a scenario of the snapshot with this descheduler, and run it under ``revision``; raises ApplicationError."""
    parts = {
        "descheduler": {"name": asked.label, "every": asked.every, "policy": parse(asked.document).data},
        "run": {"place": "pending", "until": asked.rounds * asked.every + SETTLING},
    }
    made = scenario_on(
        snapshot,
        name=f"Descheduler on {snapshot.cluster.name}",
        description=f"What {asked.label} does to {snapshot.cluster.name} while time passes.",
        parts=parts,
        author=user,
    )
    audit.record(user, "descheduling.tried", made, made.name)
    return run_start(user=user, revision=revision_get(made), policy=f"{revision.policy.name}@{revision.number}")
