"""All that the supported releases of kube-scheduler do otherwise than the one before, each with a scenario."""

from __future__ import annotations

from kschedweb.engine.releases import RELEASES
from kschedweb.engine.releases.changes import v1_35, v1_36, v1_37
from kschedweb.engine.releases.changes.change import ReleaseChange

CHANGES: tuple[ReleaseChange, ...] = (*v1_35.CHANGES, *v1_36.CHANGES, *v1_37.CHANGES)
"""The oldest first."""


def release_before(change: ReleaseChange) -> str:
    """The last release that does not have ``change``."""
    names = list(RELEASES)
    return names[names.index(change.since) - 1]


def changes_between(first: str, second: str) -> tuple[ReleaseChange, ...]:
    """The changes from one release to the other ("1.35", "1.37"), the oldest first; the other way round the same."""
    names = list(RELEASES)
    low, high = sorted((names.index(first), names.index(second)))
    crossed = names[low + 1 : high + 1]
    return tuple(change for change in CHANGES if change.since in crossed)
