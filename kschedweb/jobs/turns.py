"""The order of queued jobs: people are served one after the other, however many jobs each has queued.

Idle jobs come after all others, and begin when no other job runs.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.db.models import Count, Max, Q

from kschedweb.accounts.reach import unrestricted
from kschedweb.jobs.models import Job, JobState

if TYPE_CHECKING:
    from uuid import UUID

NEVER, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class Turn(NamedTuple):
    """A queued job. The site itself is the person None."""

    job: UUID
    person: int | None
    # How many of the person's jobs run when it is this job's turn; for an idle job, how many of all.
    running: int
    # True if it gives way to all other jobs.
    idle: bool = False

    @property
    def is_allowed(self) -> bool:
        return self.running < (1 if self.idle else settings.JOBS_RUNNING)


def in_turn(kinds: Collection[str] | None = None) -> Iterator[Turn]:
    """Yield the queued jobs in the order in which they are taken, each as if those before it were running.

    Next is the person with the fewest running jobs, and among these the one who was served longest ago. A person's own
    jobs come in the order in which they were queued. Last are the idle jobs. Jobs apart are left out; ``kinds`` limits
    the jobs to these kinds.
    """
    queued: dict[int | None, deque[UUID]] = defaultdict(deque)
    idle_jobs: list[tuple[UUID, int | None]] = []
    rows = Job.objects.filter(state=JobState.QUEUED, apart=False).order_by("created_at", "id")
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    for pk, person, idle in rows.values_list("pk", "created_by_id", "idle"):
        if idle:
            idle_jobs.append((pk, person))
        else:
            queued[person].append(pk)
    yield from _in_turn_of_people(queued)
    if idle_jobs:
        running = count_running()
        yield from (Turn(pk, person, running + place, idle=True) for place, (pk, person) in enumerate(idle_jobs))


def count_running() -> int:
    """Return how many jobs of all people run."""
    return Job.objects.filter(state=JobState.RUNNING, apart=False).count()


def _in_turn_of_people(queued: dict[int | None, deque[UUID]]) -> Iterator[Turn]:
    figures = _counts_by_person(set(queued))
    # Of two people who were never served, the one who queued first. ``place`` also keeps people from being compared.
    waiting = [(*figures.get(person, (0, NEVER)), place, person) for place, person in enumerate(queued)]
    heapq.heapify(waiting)
    later = itertools.count(len(waiting))
    while waiting:
        running, _, _, next_person = waiting[0]
        yield Turn(queued[next_person].popleft(), next_person, running)
        if queued[next_person]:
            heapq.heapreplace(waiting, (running + 1, LATEST, next(later), next_person))
        else:
            heapq.heappop(waiting)


def _counts_by_person(people: set[int | None]) -> dict[int | None, tuple[int, datetime]]:
    """Return how many jobs of each person run, and when one of theirs last began."""
    theirs = Q(created_by__in=[person for person in people if person is not None])
    if None in people:
        theirs |= Q(created_by__isnull=True)
    running = Count("pk", filter=Q(state=JobState.RUNNING))
    rows = Job.objects.filter(theirs, apart=False, idle=False).values("created_by_id").order_by()
    counts = rows.annotate(running=running, served=Max("started_at"))
    return {row["created_by_id"]: (row["running"], row["served"] or NEVER) for row in counts}


@unrestricted()
def compute_places() -> dict[UUID, int]:
    """Return each queued job's place: 1 is taken next."""
    return {turn.job: place for place, turn in enumerate(in_turn(), 1)}
