"""All differences of the supported releases of kube-scheduler from the release before, each with a scenario."""

from __future__ import annotations

from kschedweb.engine.releases import RELEASES
from kschedweb.engine.releases.changes import v1_35, v1_36, v1_37, v1_38
from kschedweb.engine.releases.changes.change import ReleaseChange

# The oldest first.
CHANGES: tuple[ReleaseChange, ...] = (*v1_35.CHANGES, *v1_36.CHANGES, *v1_37.CHANGES, *v1_38.CHANGES)


def release_before(change: ReleaseChange) -> str:
    """Return the last release without ``change``."""
    names = list(RELEASES)
    return names[names.index(change.since) - 1]


def changes_between(first: str, second: str) -> tuple[ReleaseChange, ...]:
    """Return the changes between two releases ("1.35", "1.37") in either order, the oldest first."""
    names = list(RELEASES)
    low, high = sorted((names.index(first), names.index(second)))
    crossed = names[low + 1 : high + 1]
    return tuple(change for change in CHANGES if change.since in crossed)
