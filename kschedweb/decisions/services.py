"""Explain pods of stored snapshots with the engine. Answers are cached, since snapshots and revisions never change."""

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

from kschedweb.clusters.redaction import pod_sought
from kschedweb.decisions import snapshots
from kschedweb.decisions.decider import CycleFails, ProfileMissing
from kschedweb.decisions.deciders import PROFILES, get_decider
from kschedweb.decisions.pending.outcomes import DecisionSummary, find_summaries
from kschedweb.decisions.pending.outcomes import clear_cache as forget_kept
from kschedweb.decisions.presentation import last_reasons
from kschedweb.decisions.responsibility import (
    WAITS,
    find_live_profiles,
    find_responsible_schedulers,
    find_waits,
    handled_by,
)
from kschedweb.decisions.snapshots import get_cache
from kschedweb.engine import Explanation, Pod, Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded, Patience, checkpoint, hold_lock, limit_by
from kschedweb.policies.selectors import load_revision
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


# Bytes of objects that a page may read for its pending pods, once per process: some 0.3 s for a list, and less for
# the overview, which loads that part separately.
LISTED_AT_ONCE, OVERVIEW_AT_ONCE = 4_000_000, 700_000

# Seconds that one of several pods may take at least; otherwise a quarter of all their time.
AT_LEAST = 1.0

_locks: WeakValueDictionary[UUID, RLock] = WeakValueDictionary()
_lock = Lock()
_outcomes: LRU[DecisionSummary] = LRU(20_000)


def lock_snapshot(snapshot: Snapshot) -> AbstractContextManager[None]:
    """Lock a snapshot for reading: reading fills the engine's caches, so only one thread at a time may do it.

    Raises Stopped if another thread reads it for longer than the request may wait.
    """
    with _lock:
        return hold_lock(_locks.setdefault(snapshot.pk, RLock()))


def explain_pod(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """Explain the decision of ``revision`` about the pod ``pod_key`` ("namespace/name").

    Raises NotFound if the snapshot has no such pod, Unprocessable if the scheduling cycle fails.
    """
    return decide_pod(snapshot, pod_key, revision).explanation


def decide_pod(snapshot: Snapshot, pod_key: str, revision: Revision) -> AnyCase:
    """Return ``explain_pod`` with the snapshot and the pod."""
    decider = get_decider(revision)

    def compute() -> AnyCase:
        pod_case: AnyCase = decider.decide_pod(scheduler_of(snapshot, revision), pod_key, partial(is_live, snapshot))
        return pod_case

    with pod_sought(snapshot, pod_key), lock_snapshot(snapshot):
        pod_case: AnyCase = get_cache(snapshot).answers.get(
            (*decider.state_version(snapshot), revision.pk, pod_key), compute
        )
        return pod_case


def is_live(snapshot: Snapshot, scheduler_name: str) -> bool:
    """Return whether a live scheduler of the cluster has this name."""
    return bool(find_live_profiles(snapshot.cluster, {scheduler_name}))


def other_case(snapshot: Snapshot, pod_key: str, against: Revision) -> AnyCase | Unprocessable:
    """Return the pod under a policy that it is compared with, or the reason why that does not decide about it."""
    try:
        return decide_pod(snapshot, pod_key, against)
    except ProfileMissing as error:
        text = gettext("No profile is named %(scheduler)s, so this policy does not decide about the pod.")
        return Unprocessable(text % {"scheduler": error.scheduler_name})
    except Unprocessable as error:
        return error


def at_hand(snapshot: Snapshot, revision: Revision, max_bytes: int | None = None) -> bool:
    """Return whether a request may decide under ``revision``: the cluster is small, or this process has read it.

    A small cluster has at most ``max_bytes`` bytes, and no more than a request may read.
    """
    if snapshot.size <= min(snapshots.READ_AT_ONCE, snapshots.READ_AT_ONCE if max_bytes is None else max_bytes):
        return True
    return get_decider(revision).has_read(snapshot, load_revision(revision, snapshot.cluster.server_version))


def answer_subject(snapshot: Snapshot, revision: Revision) -> Json:
    """Return the subject of an answer, as ``rest_requests.DecisionSubjectSerializer``, in JSON."""
    return {"snapshot": str(snapshot.pk), "policy": revision.policy.name, "revision": revision.number}


def page_address(path: str, snapshot: Snapshot, revision: Revision, **query: object) -> str:
    """Return the page at ``path`` for exactly this snapshot and revision; empty values are left out."""
    parameters = {"policy": revision.policy.name, "revision": revision.number, "snapshot": snapshot.pk, **query}
    return f"{path}?{urlencode({name: value for name, value in parameters.items() if value})}"


def scheduler_of(snapshot: Snapshot, revision: Revision) -> Any:
    """Return the scheduler of ``revision`` over a stored snapshot."""
    decider = get_decider(revision)
    key = (*decider.state_version(snapshot), revision.pk)

    def build() -> Any:
        return decider.build_scheduler(snapshot, load_revision(revision, snapshot.cluster.server_version))

    return get_cache(snapshot).schedulers.get(key, build)


def with_room(snapshot: Snapshot, pod_key: str, revision: Revision) -> Explanation:
    """Return ``explain_pod`` with PostFilter's result for a pod that fits nowhere: the victims of preemption."""
    decider = get_decider(revision)
    with lock_snapshot(snapshot):
        pod_case = decide_pod(snapshot, pod_key, revision)
        if pod_case.explanation.feasible.size or not pod_case.explanation.pre_enqueue.ok:
            return pod_case.explanation
        key = (*decider.state_version(snapshot), revision.pk, pod_key, "with victims")
        explanation: Explanation = get_cache(snapshot).answers.get(key, partial(decider.with_victims, pod_case))
        return explanation


def explain_with(
    snapshot: Snapshot,
    pod_key: str,
    document: Configuration | Algorithm,
    decider: Decider[Any, Any, Any] = PROFILES,
) -> Explanation:
    """Return ``explain_pod`` for an unsaved document, which was read for the decider ``decider``."""
    with pod_sought(snapshot, pod_key), lock_snapshot(snapshot):
        pod_case: AnyCase = decider.decide_pod(decider.build_scheduler(snapshot, document), pod_key)
        return pod_case.explanation


def side_case(snapshot: Snapshot, pod_key: str, side: ScoringSide) -> Case:
    """Return ``decide_pod`` with ``side`` as the only plugin that scores.

    Raises Unprocessable if its arguments are invalid.
    """

    def compute() -> Case:
        engine = snapshots.engine_snapshot(snapshot)
        scheduler = PROFILES.find_pod(engine, pod_key).scheduler_name
        side_scheduler = Scheduler(engine, side.scoring_configuration(scheduler))
        return PROFILES.decide_pod(side_scheduler, pod_key, remove=remove)

    def remove(scheduler: Scheduler, pod_key: str) -> tuple[Scheduler, Pod]:
        # All sides score one cluster without the pod: what a plugin reads of all the other pods is read once.
        engine, pod = get_or_compute(snapshot, ("without", pod_key), partial(scheduler.snapshot.without_pod, pod_key))
        return Scheduler(engine, scheduler.configuration), pod

    arguments = json.dumps(side.args, sort_keys=True)
    with pod_sought(snapshot, pod_key):
        return get_or_compute(snapshot, (side.plugin, arguments, pod_key), compute)


def summarize_pods(
    snapshot: Snapshot,
    revision: Revision,
    pods: Iterable[PodRef],
    *,
    seconds: float = 10.0,
    max_bytes: int | None = None,
) -> dict[str, DecisionSummary]:
    """Summarize each pod: it waits for approval, its scheduler decides about it, or an unknown one handles it.

    A decision is one that a job stored, or that ``iterate_summaries`` finds within ``seconds``. No pod is decided in a
    cluster that is not ``at_hand``.
    """
    listed = list(pods)
    schedulers = find_responsible_schedulers(snapshot.cluster, revision, {pod.scheduler_name for pod in listed})
    waits = find_waits(snapshot, listed)
    summaries = {key: summarize_waiting(wait) for key, wait in waits.items()}
    keys: dict[Revision, list[str]] = {}
    for pod in listed:
        scheduler = schedulers[pod.scheduler_name]
        if pod.key in summaries:
            continue
        if scheduler.revision is None:
            summaries[pod.key] = handled_elsewhere(scheduler)
        else:
            keys.setdefault(scheduler.revision, []).append(pod.key)
    deadline = monotonic() + seconds
    for answering, pod_keys in keys.items():
        summaries |= _find_decided(snapshot, answering, pod_keys, max(deadline - monotonic(), 0.0), max_bytes)
    return {
        pod.key: _with_live_scheduler(schedulers[pod.scheduler_name], summaries[pod.key])
        for pod in listed
        if pod.key in summaries
    }


def _with_live_scheduler(scheduler: ResponsibleScheduler, summary: DecisionSummary) -> DecisionSummary:
    return replace(summary, scheduler=scheduler) if scheduler.is_live else summary


def summarize_waiting(wait: ApprovalWait) -> DecisionSummary:
    """Return the summary of a pod that people have to approve."""
    return DecisionSummary("", 0, wait.sentence, (WAITS,), wait=wait)


def handled_elsewhere(scheduler: ResponsibleScheduler) -> DecisionSummary:
    """Return the summary of a pod whose scheduler is unknown."""
    message = gettext("Handled by %(scheduler)s") % {"scheduler": scheduler.scheduler_name}
    return DecisionSummary("", 0, message, (handled_by(scheduler.scheduler_name),), scheduler=scheduler)


def _find_decided(
    snapshot: Snapshot, revision: Revision, keys: list[str], seconds: float, max_bytes: int | None
) -> dict[str, DecisionSummary]:
    """Return the decisions of ``revision`` about its own pods that are known, or found within ``seconds``."""
    known_before = find_summaries(snapshot, revision)
    summaries = {key: known_before[key] for key in keys if key in known_before}
    if len(summaries) == len(keys) or not at_hand(snapshot, revision, max_bytes):
        return summaries
    under = (*get_decider(revision).state_version(snapshot), revision.pk)
    summaries |= {key: summary for key in keys if key not in summaries and (summary := _outcomes.peek((*under, key)))}
    if missing := [key for key in keys if key not in summaries]:
        for key, summary in iterate_summaries(snapshot, revision, missing, seconds):
            _outcomes.put((*under, key), summary)
            summaries[key] = summary
    return summaries


def iterate_summaries(
    snapshot: Snapshot, revision: Revision, pod_keys: Iterable[str], seconds: float
) -> Iterator[tuple[str, DecisionSummary]]:
    """Yield each pod with its ``summarize_pod``. Pods that no plugin can distinguish are decided once.

    After ``seconds`` no further pod is decided, but the first one always is, since reading the cluster does not count.
    A pod whose decision alone takes too long is left out.
    """
    pending = scheduler_of(snapshot, revision).snapshot.pending
    # A nominated pod holds room on its node, which only itself may use: it equals no other pod.
    kinds: dict[str, Hashable] = {pod.key: pod.key if pod.nominated_node else pod.signature for pod in pending}
    summary_by_kind: dict[Hashable, DecisionSummary] = {}
    deadline = inf
    for key in pod_keys:
        kind = kinds.get(key, key)
        if kind not in summary_by_kind:
            if monotonic() > deadline:
                continue
            try:
                with limit_by(Patience(max(seconds / 4, AT_LEAST))):
                    summary_by_kind[kind] = summarize_pod(snapshot, revision, key)
            except DeadlineExceeded:
                # The request itself may be out of time: then this raises again.
                checkpoint()
            deadline = min(deadline, monotonic() + seconds)
        if kind in summary_by_kind:
            yield key, summary_by_kind[kind]


def get_or_compute(snapshot: Snapshot, key: tuple[Hashable, ...], make: Callable[[], Answer]) -> Answer:
    """Return the cached answer ``key`` about a snapshot under profiles, computed by ``make`` if it is missing."""
    with lock_snapshot(snapshot):
        answer: Answer = get_cache(snapshot).answers.get((*PROFILES.state_version(snapshot), *key), make)
        return answer


def clear_caches() -> None:
    """Clear the caches, for tests, in which primary keys repeat."""
    snapshots.clear_caches()
    clear_answers()


def clear_answers() -> None:
    """Clear what depends on policies, but not the engine's snapshots; for tests that share a snapshot."""
    forget_kept()
    snapshots.clear_policy_caches()
    _outcomes.clear()


def summarize_pod(snapshot: Snapshot, revision: Revision, pod_key: str) -> DecisionSummary:
    """Return the decision about one pod in short. It is not cached here."""
    try:
        explanation = explain_pod(snapshot, pod_key, revision)
    except CycleFails as error:
        return DecisionSummary("", 0, f"The scheduling cycle of such a pod fails: {error.why}", (error.why,))
    except (NotFound, Unprocessable) as error:
        return DecisionSummary("", 0, error.detail, (error.detail,))
    status = explanation.pre_enqueue
    if not status.ok:
        return DecisionSummary("", 0, status.message, status.reasons)
    if explanation.node:
        return DecisionSummary(explanation.node, len(explanation.feasible), "")
    return DecisionSummary("", 0, explanation.message, last_reasons(explanation) or (explanation.message,))
