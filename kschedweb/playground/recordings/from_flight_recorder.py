"""Scenarios and recordings from what flight recorders kept: a moment to start from, a range to replay."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.flight.rebuilding import snapshot_at
from kschedweb.clusters.flight.selectors import lines_between, stretch_at, to_micros
from kschedweb.clusters.flight.track import REMOVED, Replay
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.traces.ledger import Ledger
from kschedweb.playground.recordings.models import Chunk, Recording
from kschedweb.playground.recordings.services import MAX_SECONDS, MIN_SECONDS
from kschedweb.playground.recordings.storage import CHUNK
from kschedweb.playground.scenarios import services as scenarios
from kschedweb.web.errors import ApplicationError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kschedweb.accounts.models import User
    from kschedweb.clusters.flight.models import Stretch
    from kschedweb.clusters.models import Cluster
    from kschedweb.playground.scenarios.models import Scenario


def scenario_of_moment(*, user: User, cluster: Cluster, at: datetime, name: str = "") -> Scenario:
    """Create a scenario that starts from ``cluster`` as of ``at``. Raise NotFound if that is unknown."""
    snapshot, moment_text = snapshot_at(cluster, at), f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    document: Json = {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": name.strip() or scenarios.name_free(f"{cluster.name} as of {moment_text[:16]}", user),
        "description": f"The cluster {cluster.name} as of {moment_text} UTC, from its flight recorder.",
        "base": {"snapshot": str(snapshot.pk)},
    }
    return scenarios.scenario_create(text=as_yaml(document), author=user, comment=f"Made of a moment of {cluster.name}")


@transaction.atomic
def recording_of_range(*, user: User | None, cluster: Cluster, first: datetime, last: datetime) -> Recording:
    """Create a recording of ``cluster`` from ``first`` to ``last``, as if it had been recorded for scenarios.

    Raises NotFound if the flight recorder does not know all of it.
    """
    # Recordings begin with a whole second, like the times of objects.
    start = first.replace(microsecond=0)
    seconds = math.ceil((last - start).total_seconds())
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ApplicationError.at("until", f"A recording lasts from {MIN_SECONDS} s to {MAX_SECONDS // 3600} h.")
    stretch = stretch_at(cluster, start)
    # Two stretches have a gap between them, in which changes were missed.
    if stretch_at(cluster, last) != stretch:
        raise NotFound("There is a gap of the recording within this range: choose one that lies between two gaps.")
    ledger = Ledger(start.timestamp())
    recording = Recording.objects.create(
        cluster=cluster, seconds=seconds, began_at=start, kept_at=last, created_by=user
    )
    # Chunks are stored as they fill up, so that a day of a large cluster is never in memory at once.
    texts: list[str] = []
    number = size = 0
    for line in _record_lines(ledger, stretch, to_micros(start), to_micros(last)):
        texts.append(f"{line}\n")
        size += len(texts[-1].encode())
        recording.records += 1
        if size - recording.size >= CHUNK:
            _store_chunk(recording, number, texts)
            number, texts, recording.size = number + 1, [], size
    _store_chunk(recording, number, texts)
    # In the loop, size is that at the beginning of the chunk.
    recording.size, recording.nodes, recording.pods = size, ledger.nodes, ledger.pods
    recording.save(update_fields=["records", "size", "nodes", "pods"])
    audit.record(user, "recording.made", recording, cluster.name, since=str(start), until=str(last))
    return recording


def _store_chunk(recording: Recording, number: int, texts: list[str]) -> None:
    if texts:
        content = gzip.compress("".join(texts).encode(), 6, mtime=0)
        Chunk.objects.create(recording=recording, number=number, content=content)


def _record_lines(ledger: Ledger, stretch: Stretch, first: int, last: int) -> Iterator[str]:
    """Yield the lines of a recording: the cluster at ``first``, and each change up to ``last`` (microseconds)."""
    replay, started = Replay(), False
    for line in lines_between(stretch, first, last):
        at, how, kind, key = line[:4]
        if at > first and not started:
            started = True
            yield from _record_all(ledger, replay, first)
        # A removal is recorded with the object as it was, which the replay forgets.
        before = replay.known.get((kind, key))
        replay.apply_line(line)
        if not started:
            continue
        if how == REMOVED and before is not None:
            yield from ledger.record_removal(before, at / 1e6)
        elif how != REMOVED:
            yield from ledger.record_change(replay.known[kind, key], at / 1e6)
    # Nothing changed after ``first``, so the loop has not written the cluster yet.
    if not started:
        yield from _record_all(ledger, replay, first)


def _record_all(ledger: Ledger, replay: Replay, first: int) -> Iterator[str]:
    for raw in replay.objects:
        yield from ledger.record_change(raw, first / 1e6)
