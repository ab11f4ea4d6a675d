"""What rolling a revision out to a live scheduler would change, before anybody does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_rows, snapshot_current
from kschedweb.decisions.editing.effect import effect
from kschedweb.live.schedulers.selectors import ProfileError, live_configuration, revision_in_force
from kschedweb.live.schedulers.services import roll_out_problem
from kschedweb.policies.selectors import revision_changes

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.editing.effect import Effect
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.policies.diff import PolicyChange
    from kschedweb.policies.models import Revision
    from kschedweb.web.errors import ApplicationError

POD_LIMIT = 200


@dataclass(frozen=True)
class Review:
    """From the revision at work to the one that is asked about; ``problem`` is why that cannot be rolled out."""

    before: Revision
    after: Revision
    changes: list[PolicyChange]
    problem: ApplicationError | None


def review(live: LiveScheduler, after: Revision) -> Review:
    """What differs in meaning between what ``live`` runs and ``after``."""
    before = revision_in_force(live)
    return Review(before, after, revision_changes(before, after), roll_out_problem(live, after))


@dataclass(frozen=True)
class Moves:
    """The pods of the cluster's newest snapshot that name the scheduler, held against both revisions."""

    snapshot: Snapshot
    effect: Effect


def moves(live: LiveScheduler, after: Revision) -> Moves | None:
    """Which pods would go elsewhere; ``None`` without a snapshot, or where ``after`` has no profile for ``live``."""
    snapshot = snapshot_current(live.cluster)
    if snapshot is None or not after.policy.dialect.has_profiles:
        return None
    try:
        old, new = (live_configuration(live, side) for side in (revision_in_force(live), after))
    except ProfileError:
        return None
    named = pod_rows(snapshot).filter(scheduler_name=live.scheduler_name)
    return Moves(snapshot, effect(snapshot, old, new, named, POD_LIMIT))
