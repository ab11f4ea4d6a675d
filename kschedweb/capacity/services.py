"""Asks the engine about capacity: within a time, one question after the other, and each once.

The engine's snapshots keep tables that fill while they are read. Questions about capacity may take seconds, so they
have snapshots of their own, and the decision pages need not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from kschedweb.capacity.questions import MOST_COPIES
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.whatif import capacity, drain, sizing
from kschedweb.errors import ApplicationError, Unavailable, Unprocessable
from kschedweb.playground import utilisation
from kschedweb.playground.services import Shelf
from kschedweb.policies.selectors import configuration

if TYPE_CHECKING:
    from kschedweb.capacity.questions import DrainAsked, FitAsked, NodesAsked
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

SECONDS = 20.0  # for one question
Answer = TypeVar("Answer")

_lock = RLock()
_snapshots: Shelf[EngineSnapshot] = Shelf(2)
_answers: Shelf[object] = Shelf(64)


class TooLong(Unprocessable):
    """The question was given up."""


def fit(snapshot: Snapshot, revision: Revision, asked: FitAsked, *, seconds: float = SECONDS) -> capacity.Fit:
    """How many more pods fit; after ``seconds`` the answer is that so many do at least (``stopped``)."""

    def work(engine: EngineSnapshot, until: float) -> capacity.Fit:
        return capacity.fit(
            engine, configuration(revision), asked.pod.shape(engine), limit=asked.limit, check=_within(until)
        )

    found = _answered(("fit", revision.pk, asked), snapshot, work, seconds)
    if found.failed and not found.count:
        raise Unprocessable(f"The scheduling cycle of such a pod fails: {found.message}")
    return found


def nodes(snapshot: Snapshot, revision: Revision, asked: NodesAsked, *, seconds: float = SECONDS) -> sizing.Sizing:
    """How many nodes must be added. Raises TooLong where ``seconds`` do not suffice."""

    def work(engine: EngineSnapshot, until: float) -> sizing.Sizing:
        pods = asked.pods(engine)
        if len(pods) > MOST_COPIES:
            raise ApplicationError.at("copies", f"At most {MOST_COPIES} pods at a time; these are {len(pods)}.")
        pulse = _pulse(until, seconds, "Ask about fewer pods, or allow fewer nodes.")
        shape = asked.node.shape(engine)
        return sizing.size(engine, configuration(revision), pods, shape, most=asked.most, pulse=pulse)

    return _answered(("nodes", revision.pk, asked), snapshot, work, seconds)


def rehearse(snapshot: Snapshot, revision: Revision, asked: DrainAsked, *, seconds: float = SECONDS) -> drain.Rehearsal:
    """Whether nodes can be emptied, and how. Raises TooLong where ``seconds`` do not suffice."""

    def work(engine: EngineSnapshot, until: float) -> drain.Rehearsal:
        unknown = [name for name in asked.nodes if name not in engine.index]
        if unknown:
            raise ApplicationError.at("nodes", f"The snapshot has no node {', '.join(unknown[:5])}.")
        pulse = _pulse(until, seconds, "Ask about fewer nodes.")
        return drain.rehearse(
            engine, configuration(revision), asked.nodes, asked.options, keep_order=asked.keep_order, pulse=pulse
        )

    return _answered(("drain", revision.pk, asked), snapshot, work, seconds)


def engine_snapshot(snapshot: Snapshot) -> EngineSnapshot:
    """The engine's columns of a stored snapshot; not the ones that decisions are worked out on."""

    def make() -> EngineSnapshot:
        return utilisation.applied(EngineSnapshot.from_objects(snapshot_objects(snapshot)), snapshot)

    return _snapshots.get((snapshot.pk, utilisation.version(snapshot)), make)


def forget() -> None:
    """Drop everything kept; for tests that change what a primary key means."""
    _snapshots.clear()
    _answers.clear()


def _answered(
    question: tuple[Hashable, ...],
    snapshot: Snapshot,
    work: Callable[[EngineSnapshot, float], Answer],
    seconds: float,
) -> Answer:
    key = (*question, snapshot.pk, utilisation.version(snapshot))
    known: Answer | None = _answers.peek(key)  # type: ignore[assignment]
    if known is not None:
        return known
    with _turn(seconds):
        engine = engine_snapshot(snapshot)  # reading it for the first time does not count: it happens once
        try:
            found = work(engine, monotonic() + seconds)
        except ObjectError as error:
            raise Unprocessable(str(error)) from None
    if not getattr(found, "stopped", False):
        _answers.put(key, found)
    return found


@contextmanager
def _turn(seconds: float) -> Iterator[None]:
    if not _lock.acquire(timeout=seconds):
        raise Unavailable("Another question about capacity is being worked on: try again in a moment.")
    try:
        yield
    finally:
        _lock.release()


def _within(until: float) -> capacity.Check:
    """False once the time is over; the first pod is always tried."""
    return lambda done: not done or monotonic() < until


def _pulse(until: float, seconds: float, advice: str) -> Callable[[], None]:
    def pulse() -> None:
        if monotonic() > until:
            raise TooLong(f"This takes longer than {seconds:.0f} s, and was given up. {advice}")

    return pulse
