"""Preview what rolling a revision out to a live scheduler would change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions.editing.effect import compute_effect
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.selectors import ProfileError, live_configuration, revision_in_force
from kschedweb.live.schedulers.services import roll_out_problem
from kschedweb.policies.selectors import revision_changes
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.editing.effect import Effect
    from kschedweb.engine.config import Configuration
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.policies.diff import PolicyChange
    from kschedweb.policies.models import Revision
    from kschedweb.web.errors import ApplicationError

# Pods that a request asks; a job asks them all.
POD_LIMIT = 200


@dataclass(frozen=True)
class RollOutReview:
    """A roll-out from the revision in force to another one."""

    before: Revision
    after: Revision
    changes: list[PolicyChange]
    # Why ``after`` cannot be rolled out now, None if it can.
    problem: ApplicationError | None


def review_roll_out(live: LiveScheduler, after: Revision) -> RollOutReview:
    """Return the changes in meaning from the revision that ``live`` runs to ``after``."""
    before = revision_in_force(live)
    return RollOutReview(before, after, revision_changes(before, after), roll_out_problem(live, after))


@dataclass(frozen=True)
class RollOutMoves:
    """The pods of a snapshot that name the scheduler, decided under both revisions."""

    snapshot: Snapshot
    # Plain data if a job computed it.
    effect: Effect | Json


def both_configurations(
    live: LiveScheduler, before: Revision, after: Revision
) -> tuple[Configuration, Configuration] | None:
    """Return the configurations of ``live`` under both revisions, None if one of them has no profile for it."""
    if not after.policy.dialect.has_profiles:
        return None
    try:
        return live_configuration(live, before), live_configuration(live, after)
    except ProfileError:
        return None


def compare_pods(live: LiveScheduler, snapshot: Snapshot, before: Revision, after: Revision, **options: Any) -> Effect:
    """Return which pods would go elsewhere; at most POD_LIMIT pods are asked unless ``options`` have another limit.

    ``options`` are arguments of ``compute_effect``. Raises Unprocessable if a revision has no profile for ``live``.
    """
    both = both_configurations(live, before, after)
    if both is None:
        raise Unprocessable("The revision has no profile for this scheduler.")
    pods = pod_rows(snapshot).filter(scheduler_name=live.scheduler_name)
    return compute_effect(snapshot, *both, pods, **({"limit": POD_LIMIT} | options))
