"""Explains pods of stored snapshots with the engine. Answers are cached, since snapshots and revisions never change."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from math import inf
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode
from weakref import WeakValueDictionary

from django.utils.translation import gettext

from kschedweb.clusters.seen import pod_sought
from kschedweb.decisions import snapshots
from kschedweb.decisions.decider import CycleFails, ProfileMissing
from kschedweb.decisions.kinds import PROFILES, decider
from kschedweb.decisions.pending.outcomes import DecisionSummary, kept
from kschedweb.decisions.pending.outcomes import forget as forget_kept
from kschedweb.decisions.presentation import last_reasons
from kschedweb.decisions.responsibility import (
    WAITS,
    find_live_profiles,
    find_responsible_schedulers,
    find_waits,
    handled_by,
)
from kschedweb.decisions.snapshots import shelf
from kschedweb.engine import Explanation, Scheduler
from kschedweb.engine.patience import NotNow, Patience, checkpoint, held, limited
from kschedweb.policies.selectors import runs
from kschedweb.web.errors import NotFound, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from uuid import UUID

    from kschedweb.clusters.models import Snapshot
    from kschedweb.clusters.selectors import PodRef
    from kschedweb.decisions.case import AnyCase, Case
    from kschedweb.decisions.decider import Decider
    from kschedweb.decisions.load_aware.sides import ScoringSide
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.releases.classic import Algorithm
    from kschedweb.policies.models import Revision

Answer = TypeVar("Answer")


# Bytes of objects that a page reads for its pending pods, once a process: some 0.3 s for a list, and less for the
# overview, which has a part of its own for them.
LISTED_AT_ONCE, OVERVIEW_AT_ONCE = 4_000_000, 700_000

AT_LEAST = 1.0  # seconds that one pod of several may take, beyond a quarter of all their time

_locks: WeakValueDictionary[UUID, RLock] = WeakValueDictionary()
_lock = Lock()
_outcomes: LRU[DecisionSummary] = LRU(20_000)


def alone(snapshot: Snapshot) -> AbstractContextManager[None]:
    """Read a snapshot alone: reading fills the engine's caches, so only one thread at a time may read it.

    Raises Stopped where another one reads it for longer than somebody waits.
    """
    with _lock:
        return held(_locks.setdefault(snapshot.pk, RLock()))


def explain(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """Explain the decision of ``revision`` about the pod ``pod_key`` ("namespace/name").

    Raises NotFound if the snapshot has no such pod, Unprocessable if the scheduling cycle fails.
    """
    return case(snapshot, pod_key, revision).explanation


def case(snapshot: Snapshot, pod_key: str, revision: Revision) -> AnyCase:
    """As ``explain``, with the snapshot and the pod."""
    decides = decider(revision)

    def make() -> AnyCase:
        found: AnyCase = decides.case(scheduler_of(snapshot, revision), pod_key, partial(is_live, snapshot))
        return found

    with pod_sought(snapshot, pod_key), alone(snapshot):
        found: AnyCase = shelf(snapshot).answers.get((*decides.version(snapshot), revision.pk, pod_key), make)
        return found


def is_live(snapshot: Snapshot, scheduler_name: str) -> bool:
    """Whether a live scheduler of the cluster has this name."""
    return bool(find_live_profiles(snapshot.cluster, {scheduler_name}))


def other_case(snapshot: Snapshot, pod_key: str, against: Revision) -> AnyCase | Unprocessable:
    """The pod under a policy that it is compared with, or why that does not decide about it."""
    try:
        return case(snapshot, pod_key, against)
    except ProfileMissing as error:
        said = gettext("No profile is named %(scheduler)s, so this policy does not decide about the pod.")
        return Unprocessable(said % {"scheduler": error.scheduler_name})
    except Unprocessable as error:
        return error


def at_hand(snapshot: Snapshot, revision: Revision, most: int | None = None) -> bool:
    """Whether a request may ask what ``revision`` decides: this process has read the cluster for it, or it is small.

    A small one has at most ``most`` bytes, and no more than a request may read.
    """
    if snapshot.size <= min(snapshots.READ_AT_ONCE, snapshots.READ_AT_ONCE if most is None else most):
        return True
    return decider(revision).has_read(snapshot, runs(revision, snapshot.cluster.server_version))


def about(snapshot: Snapshot, revision: Revision) -> dict[str, Any]:
    """What an answer is about, as ``asked.AboutSerializer``, in JSON."""
    return {"snapshot": str(snapshot.pk), "policy": revision.policy.name, "revision": revision.number}


def address(path: str, snapshot: Snapshot, revision: Revision, **query: object) -> str:
    """The page at ``path`` about this snapshot and revision, whatever is the newest; empty values are left out."""
    named = {"policy": revision.policy.name, "revision": revision.number, "snapshot": snapshot.pk, **query}
    return f"{path}?{urlencode({name: value for name, value in named.items() if value})}"


def scheduler_of(snapshot: Snapshot, revision: Revision) -> Any:
    """The scheduler of ``revision`` over a stored snapshot."""
    decides = decider(revision)
    key = (*decides.version(snapshot), revision.pk)

    def make() -> Any:
        return decides.scheduler(snapshot, runs(revision, snapshot.cluster.server_version))

    return shelf(snapshot).schedulers.get(key, make)


def with_room(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """As ``explain``, with the result of PostFilter for a pod that fits nowhere: the victims of preemption."""
    decides = decider(revision)
    with alone(snapshot):
        known = case(snapshot, pod_key, revision)
        if known.explanation.feasible.size or not known.explanation.pre_enqueue.ok:
            return known.explanation
        key = (*decides.version(snapshot), revision.pk, pod_key, "with victims")
        found: Explanation = shelf(snapshot).answers.get(key, partial(decides.with_victims, known))
        return found


def explain_with(
    snapshot: Snapshot,
    pod_key: str,
    document: Configuration | Algorithm,
    decides: Decider[Any, Any, Any] = PROFILES,
) -> Explanation:
    """As ``explain`` for an unsaved document, which was read for the decider ``decides``."""
    with pod_sought(snapshot, pod_key), alone(snapshot):
        found: AnyCase = decides.case(decides.scheduler(snapshot, document), pod_key)
        return found.explanation


def side_case(snapshot: Snapshot, pod_key: str, side: ScoringSide) -> Case:
    """As ``case`` with ``side`` as the only plugin that scores; raises Unprocessable if its arguments are invalid."""

    def make() -> Case:
        engine = snapshots.engine_snapshot(snapshot)
        scheduler = PROFILES.pod(engine, pod_key).scheduler_name
        return PROFILES.case(Scheduler(engine, side.scoring(scheduler)), pod_key)

    arguments = json.dumps(side.args, sort_keys=True)
    with pod_sought(snapshot, pod_key):
        return remembered(snapshot, (side.plugin, arguments, pod_key), make)


def outcomes(
    snapshot: Snapshot,
    revision: Revision,
    pods: Iterable[PodRef],
    *,
    seconds: float = 10.0,
    most: int | None = None,
) -> dict[str, DecisionSummary]:
    """What is said of each pod: that it waits for approval, what its scheduler decides, or which one handles it.

    A decision is one that a job kept, or that ``asked`` finds now in ``seconds``. Nothing is asked in a cluster that is
    not ``at_hand``.
    """
    listed = list(pods)
    schedulers = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name for pod in listed})
    waits = find_waits(snapshot, listed)
    found = {key: waiting(wait) for key, wait in waits.items()}
    keys: dict[Revision, list[str]] = {}
    for pod in listed:
        scheduler = schedulers[pod.scheduler_name]
        if pod.key in found:
            continue
        if scheduler.revision is None:
            found[pod.key] = handled_elsewhere(scheduler)
        else:
            keys.setdefault(scheduler.revision, []).append(pod.key)
    until = monotonic() + seconds
    for answering, theirs in keys.items():
        found |= _decided(snapshot, answering, theirs, max(until - monotonic(), 0.0), most)
    return {pod.key: _by(schedulers[pod.scheduler_name], found[pod.key]) for pod in listed if pod.key in found}


def _by(scheduler: ResponsibleScheduler, summary: DecisionSummary) -> DecisionSummary:
    return replace(summary, scheduler=scheduler) if scheduler.is_live else summary


def waiting(wait: ApprovalWait) -> DecisionSummary:
    """A pod that people have to approve."""
    return DecisionSummary("", 0, wait.sentence, (WAITS,), wait=wait)


def handled_elsewhere(scheduler: ResponsibleScheduler) -> DecisionSummary:
    """A pod of a scheduler that nobody here knows."""
    message = gettext("Handled by %(scheduler)s") % {"scheduler": scheduler.scheduler_name}
    return DecisionSummary("", 0, message, (handled_by(scheduler.scheduler_name),), scheduler=scheduler)


def _decided(
    snapshot: Snapshot, revision: Revision, keys: list[str], seconds: float, most: int | None
) -> dict[str, DecisionSummary]:
    """What ``revision`` decides about pods that are its own, as far as that is known or found in ``seconds``."""
    known_before = kept(snapshot, revision)
    found = {key: known_before[key] for key in keys if key in known_before}
    if len(found) == len(keys) or not at_hand(snapshot, revision, most):
        return found
    under = (*decider(revision).version(snapshot), revision.pk)
    found |= {key: told for key in keys if key not in found and (told := _outcomes.peek((*under, key)))}
    if missing := [key for key in keys if key not in found]:
        for key, told in asked(snapshot, revision, missing, seconds):
            _outcomes.put((*under, key), told)
            found[key] = told
    return found


def asked(
    snapshot: Snapshot, revision: Revision, pod_keys: Iterable[str], seconds: float
) -> Iterator[tuple[str, DecisionSummary]]:
    """Each pod with its ``outcome``; pods that no plugin can tell apart are asked about once.

    After ``seconds`` nothing is asked any more, but the first pod always is: reading the cluster takes no time of them.
    A pod whose answer alone takes too long is left out.
    """
    pending = scheduler_of(snapshot, revision).snapshot.pending
    kinds: dict[str, Hashable] = {pod.key: pod.key if pod.nominated_node else pod.signature for pod in pending}
    known: dict[Hashable, DecisionSummary] = {}
    until = inf
    for key in pod_keys:
        kind = kinds.get(key, key)
        if kind not in known:
            if monotonic() > until:
                continue
            try:
                with limited(Patience(max(seconds / 4, AT_LEAST))):
                    known[kind] = outcome(snapshot, revision, key)
            except NotNow:
                checkpoint()  # whoever asks about all of them may have no time left either
            until = min(until, monotonic() + seconds)
        if kind in known:
            yield key, known[kind]


def remembered(snapshot: Snapshot, key: tuple[Hashable, ...], make: Callable[[], Answer]) -> Answer:
    """What ``make`` finds of a snapshot's engine snapshot for profiles, kept under ``key``."""
    with alone(snapshot):
        found: Answer = shelf(snapshot).answers.get((*PROFILES.version(snapshot), *key), make)
        return found


def forget() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    snapshots.forget()
    forget_answers()


def forget_answers() -> None:
    """Clear what depends on policies, not the engine's snapshots; for tests that share a snapshot."""
    forget_kept()
    snapshots.forget_answers()
    _outcomes.clear()


def outcome(snapshot: Snapshot, revision: Revision, pod_key: str) -> DecisionSummary:
    """The decision about one pod, which nothing keeps."""
    try:
        explanation = explain(snapshot, pod_key, revision)
    except CycleFails as error:
        return DecisionSummary("", 0, f"The scheduling cycle of such a pod fails: {error.why}", (error.why,))
    except (NotFound, Unprocessable) as error:
        return DecisionSummary("", 0, error.detail, (error.detail,))
    held = explanation.pre_enqueue
    if not held.ok:
        return DecisionSummary("", 0, held.message, held.reasons)
    if explanation.node:
        return DecisionSummary(explanation.node, len(explanation.feasible), "")
    return DecisionSummary("", 0, explanation.message, last_reasons(explanation) or (explanation.message,))
