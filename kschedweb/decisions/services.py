"""Asks the engine about pods of a stored snapshot and keeps what it answered, since neither ever changes."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.decisions.case import AnyCase, Case, ClassicCase
from kschedweb.decisions.decision import last_reasons
from kschedweb.engine import Explanation, Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.classic import (
    Algorithm,
    ClassicScheduler,
    ClassicSnapshot,
    in_zones_of_then,
)
from kschedweb.engine.classic.objects import as_of_then
from kschedweb.engine.framework.status import CycleError
from kschedweb.policies.models import Kind
from kschedweb.policies.selectors import algorithm, configuration
from kschedweb.web.errors import NotFound, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.load_aware.sides import Side
    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision


@dataclass(frozen=True)
class Outcome:
    """The short form for lists: ``node`` is "" where the pod fits nowhere, ``message`` then says why."""

    node: str
    feasible: int
    message: str
    reasons: tuple[str, ...] = ()


_locks: WeakValueDictionary[UUID, RLock] = WeakValueDictionary()
_lock = Lock()
_bases: LRU[EngineSnapshot] = LRU(4)
_snapshots: LRU[EngineSnapshot] = LRU(8)
_classics: LRU[ClassicSnapshot] = LRU(4)
_schedulers: LRU[Scheduler] = LRU(32)
_cases: LRU[Case] = LRU(128)
_classic_cases: LRU[ClassicCase] = LRU(64)
_rooms: LRU[Explanation] = LRU(64)
_outcomes: LRU[Outcome] = LRU(20_000)


def _alone(snapshot: Snapshot) -> RLock:
    """The lock of a snapshot: the engine's tables of it fill while they are read, so one thread at a time asks."""
    with _lock:
        return _locks.setdefault(snapshot.pk, RLock())


def engine_snapshot(snapshot: Snapshot) -> EngineSnapshot:
    """The engine's columns of a stored snapshot, with the watermarks in force when it was taken.

    Shared and not to be changed: ``copy`` it for that.
    """

    def make() -> EngineSnapshot:
        base = _bases.get(snapshot.pk, lambda: EngineSnapshot.from_objects(snapshot_objects(snapshot)))
        return utilisation.applied(base, snapshot)

    return _snapshots.get(_version(snapshot), make)


def classic_snapshot(snapshot: Snapshot) -> ClassicSnapshot:
    """The columns of a stored snapshot for classic policies; today's zones count as those of then.

    Shared and not to be changed: ``copy`` it for that.
    """
    return _classics.get(
        snapshot.pk, lambda: ClassicSnapshot.from_objects(map(in_zones_of_then, snapshot_objects(snapshot)))
    )


def _version(snapshot: Snapshot) -> tuple[Hashable, ...]:
    """What an answer about ``snapshot`` depends on beside pod and policy: figures of its time may still come in."""
    return (snapshot.pk, utilisation.version(snapshot))


def explain(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """Why ``pod_key`` ("namespace/name") goes where it goes under ``revision``.

    Raises NotFound where the snapshot has no such pod, Unprocessable where the scheduling cycle itself fails.
    """
    return case(snapshot, pod_key, revision).explanation


def case(snapshot: Snapshot, pod_key: str, revision: Revision) -> AnyCase:
    """As ``explain``, with the snapshot and the pod it was asked about."""
    if revision.policy.kind == Kind.CLASSIC:
        return classic_case(snapshot, pod_key, revision)

    def make() -> Case:
        return _case(engine_snapshot(snapshot), pod_key, scheduler_of(snapshot, revision))

    with _alone(snapshot):
        return _cases.get((*_version(snapshot), revision.pk, pod_key), make)


def classic_case(snapshot: Snapshot, pod_key: str, revision: Revision) -> ClassicCase:
    """As ``case`` for a revision of a classic policy."""

    def make() -> ClassicCase:
        return decided_then(classic_snapshot(snapshot), pod_key, algorithm(revision))

    with _alone(snapshot):
        return _classic_cases.get((snapshot.pk, revision.pk, pod_key), make)


def with_room(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """As ``explain``, with what PostFilter finds for a pod that fits nowhere: which pods could be evicted for it."""

    with _alone(snapshot):
        known = case(snapshot, pod_key, revision)
        if isinstance(known, ClassicCase) or known.explanation.feasible.size or not known.explanation.pre_enqueue.ok:
            return known.explanation  # evictions of then are not simulated
        ask = partial(known.scheduler.explain, known.pod, preemption=True, thorough=False)
        return _rooms.get((*_version(snapshot), revision.pk, pod_key), ask)


def explain_with(snapshot: Snapshot, pod_key: str, config: Configuration | Algorithm) -> Explanation:
    """As ``explain`` for what is not saved (yet)."""
    with _alone(snapshot):
        if isinstance(config, Algorithm):
            return decided_then(classic_snapshot(snapshot), pod_key, config).explanation
        engine = engine_snapshot(snapshot)
        return _case(engine, pod_key, Scheduler(engine, config)).explanation


def side_case(snapshot: Snapshot, pod_key: str, side: Side) -> Case:
    """As ``case`` with ``side`` as the only plugin that scores; Unprocessable where its arguments are wrong."""

    def make() -> Case:
        engine = engine_snapshot(snapshot)
        scheduler = _pod(engine, pod_key).scheduler_name
        return _case(engine, pod_key, Scheduler(engine, side.scoring(scheduler)))

    arguments = json.dumps(side.args, sort_keys=True)
    with _alone(snapshot):
        return _cases.get((*_version(snapshot), side.plugin, arguments, pod_key), make)


def scheduler_of(snapshot: Snapshot, revision: Revision) -> Scheduler:
    key = (*_version(snapshot), revision.pk)
    return _schedulers.get(key, lambda: Scheduler(engine_snapshot(snapshot), configuration(revision)))


def outcomes(
    snapshot: Snapshot, revision: Revision, pod_keys: Iterable[str], *, seconds: float = 10.0
) -> dict[str, Outcome]:
    """What becomes of each pod; those for which ``seconds`` did not suffice are left out, the first is always there."""
    found: dict[str, Outcome] = {}
    begun = 0.0
    for key in pod_keys:
        kept_under = (*_version(snapshot), revision.pk, key)
        known = _outcomes.peek(kept_under)
        if known is None:
            if begun and monotonic() - begun > seconds:
                continue
            known = _outcome(snapshot, revision, key)
            # Reading a snapshot for the first time does not count: it happens once.
            begun = begun or monotonic()
            _outcomes.put(kept_under, known)
        found[key] = known
    return found


def forget() -> None:
    """Drop everything kept; for tests that change what a primary key means."""
    for cache in (_bases, _snapshots, _classics, _schedulers, _cases, _classic_cases, _rooms, _outcomes):
        cache.clear()


def _outcome(snapshot: Snapshot, revision: Revision, pod_key: str) -> Outcome:
    try:
        explanation = explain(snapshot, pod_key, revision)
    except (NotFound, Unprocessable) as error:
        return Outcome("", 0, error.detail, (error.detail,))
    held = explanation.pre_enqueue
    if not held.ok:
        return Outcome("", 0, held.message, held.reasons)
    if explanation.node:
        return Outcome(explanation.node, len(explanation.feasible), "")
    return Outcome("", 0, explanation.message, last_reasons(explanation) or (explanation.message,))


def _case(engine: EngineSnapshot, pod_key: str, scheduler: Scheduler) -> Case:
    pod = _pod(engine, pod_key)
    bound_to = pod.node_name
    if bound_to:
        engine, pod = engine.without(pod_key)
        scheduler = Scheduler(engine, scheduler.configuration)
    try:
        explanation = scheduler.explain(pod)
    except CycleError as error:
        raise _fails(pod_key, str(error)) from None
    return Case(engine, pod, scheduler, explanation, bound_to)


def decided_then(known: ClassicSnapshot, pod_key: str, decides: Algorithm) -> ClassicCase:
    """What ``decides`` makes of a pod of ``known``. Raises NotFound and Unprocessable as ``explain``."""
    pod = _pod(known, pod_key)
    bound_to = pod.node_name
    if bound_to:
        known = known.copy()
        pod = known.remove_pod(pod_key).on("")
    pod = as_of_then(pod)
    scheduler = ClassicScheduler(known, decides)
    try:
        explanation = scheduler.explain(pod, as_run=True)
    except CycleError as error:
        raise _fails(pod_key, str(error)) from None
    return ClassicCase(known, pod, scheduler, explanation, bound_to)


def _fails(pod_key: str, why: str) -> Unprocessable:
    return Unprocessable(f"The scheduling cycle of {pod_key} fails: {why}")


def _pod(engine: EngineSnapshot, pod_key: str) -> Pod:
    try:
        return engine.pod(pod_key)
    except KeyError:
        raise NotFound(f"The snapshot has no pod {pod_key} that a scheduler would look at.") from None
