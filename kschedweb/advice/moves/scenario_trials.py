"""A scenario of a snapshot in which a descheduler runs every so many minutes while time passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.playground.runs.services import run_start
from kschedweb.playground.scenarios.from_snapshot import scenario_on
from kschedweb.playground.scenarios.selectors import revision_get

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.advice.moves.requests import DryRunRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.runs.models import Run
    from kschedweb.policies.models import Revision

# Seconds after the last round, in which pods leave and others get their nodes.
SETTLING = 60.0


@transaction.atomic
def moves_try(*, user: User, snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest) -> Run:
    """Make a scenario of the snapshot with this descheduler, and run it under ``revision``. Raise ApplicationError."""
    parts = {
        "descheduler": {
            "name": dry_run_request.label,
            "every": dry_run_request.every,
            "policy": parse_document(dry_run_request.document).data,
        },
        "run": {"place": "pending", "until": dry_run_request.rounds * dry_run_request.every + SETTLING},
    }
    scenario = scenario_on(
        snapshot,
        name=f"Descheduler on {snapshot.cluster.name}",
        description=f"What {dry_run_request.label} does to {snapshot.cluster.name} while time passes.",
        parts=parts,
        author=user,
    )
    audit.record(user, "descheduling.tried", scenario, scenario.name)
    return run_start(user=user, revision=revision_get(scenario), policy=f"{revision.policy.name}@{revision.number}")
