"""What rolling a revision out to a live scheduler would change, before anybody does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions.editing.effect import compute_effect
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

POD_LIMIT = 200


@dataclass(frozen=True)
class RollOutReview:
    """From the revision at work to the one that is asked about; ``problem`` is why that cannot be rolled out."""

    before: Revision
    after: Revision
    changes: list[PolicyChange]
    problem: ApplicationError | None


def review_roll_out(live: LiveScheduler, after: Revision) -> RollOutReview:
    """What differs in meaning between what ``live`` runs and ``after``."""
    before = revision_in_force(live)
    return RollOutReview(before, after, revision_changes(before, after), roll_out_problem(live, after))


@dataclass(frozen=True)
class RollOutMoves:
    """The pods of a snapshot that name the scheduler, held against both revisions; what a job found is plain data."""

    snapshot: Snapshot
    effect: Effect | dict[str, Any]


def both_configurations(
    live: LiveScheduler, before: Revision, after: Revision
) -> tuple[Configuration, Configuration] | None:
    """What ``live`` runs under each; ``None`` where one of them has no profile for it."""
    if not after.policy.dialect.has_profiles:
        return None
    try:
        return live_configuration(live, before), live_configuration(live, after)
    except ProfileError:
        return None


def compare_pods(live: LiveScheduler, snapshot: Snapshot, before: Revision, after: Revision, **options: Any) -> Effect:
    """Which pods would go elsewhere; without a limit in ``options`` it asks POD_LIMIT pods.

    ``options`` are arguments of ``compute_effect``. Raises Unprocessable where a revision has no profile for ``live``.
    """
    both = both_configurations(live, before, after)
    if both is None:
        raise Unprocessable("The revision has no profile for this scheduler.")
    pods = pod_rows(snapshot).filter(scheduler_name=live.scheduler_name)
    return compute_effect(snapshot, *both, pods, **({"limit": POD_LIMIT} | options))
